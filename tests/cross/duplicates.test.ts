/** Two machines that put the same files to the same paths at the same time. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesSource, Szafa } from '@szafa/client';
import { useService } from '../harness/index.ts';
import { usually } from '../harness/long.ts';
import { loggedIn } from './account.ts';
import type { Device } from './device.ts';

const service = useService();
const FILES = 80;
const SIZE = 2000;

/** A device and a copy of its configuration, as on a second machine. */
async function twoMachines(stack: AsyncDisposableStack): Promise<{ device: Device; env: object[] }> {
  const device = await loggedIn(service);
  stack.defer(() => device.remove());
  await cp(device.path('config'), device.path('other'), { recursive: true });
  await mkdir(device.path('many'));
  for (let i = 0; i < FILES; i++) await writeFile(device.path(`many/f${i}`), randomBytes(i === 0 ? 0 : SIZE));
  await symlink('f1', device.path('many/link'));
  return { device, env: [{}, { SZ_CONFIG: device.path('other') }] };
}

/** How many versions each file has. */
async function versions(device: Device, folder = ''): Promise<Map<string, number>> {
  const { lines } = await device.run(['ls', `${folder}/many`.replace(/^\//, ''), '--json']);
  return new Map(
    lines.filter(({ type }) => type === 'file').map(({ name, versions }) => [String(name), Number(versions)]),
  );
}

const used = async (device: Device) => Number((await device.ok(['quota', '--json'])).lines[0]!['used_bytes']);

suite('szafa put: two machines at once', { concurrency: 2 }, () => {
  test('the same files become one version each, and the quota counts them once', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, env } = await twoMachines(stack);
    const both = await Promise.all(
      env.map((more) => device.run(['put', 'many', '--json'], { env: { ...more } })),
    );
    for (const { code, stdout, stderr } of both) assert.equal(code, 0, stdout + stderr);
    const doubled =
      both.flatMap(({ lines }) => lines.filter(({ type }) => type === 'uploaded')).length - FILES - 1;
    assert.ok(doubled > 0, 'they did not meet');
    // Whoever looked first may have left what the other one removes.
    assert.deepEqual(new Set((await versions(device)).values()), new Set([1]));
    assert.ok((await used(device)) < 1.5 * FILES * SIZE);
    for (const name of ['f0', 'f1', 'f79']) await device.ok(['check', `many/${name}`]);
  });

  test('with kills in between: never less than one, and one in the end', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, env } = await twoMachines(stack);
    for (let round = 0; round < usually(1, 8); round++) {
      const put = ['put', 'many', '--dir', `round ${round}`, '--quiet'];
      let before = new Map<string, number>();
      for (let time = 0; time < 2; time++) {
        const running = env.map((more) => device.start(put, { env: { ...more } }));
        await sleep(200 + Math.random() * 1500);
        for (const one of running) if (Math.random() < 0.7) one.child.kill('SIGKILL');
        await Promise.all(running.map(({ ended }) => ended));
        const now = await versions(device, `round ${round}`);
        for (const name of before.keys()) assert.ok(now.has(name), `${name} is gone in round ${round}`);
        before = now;
      }
      for (const more of env) await device.ok(put, { env: { ...more } });
      const found = await versions(device, `round ${round}`);
      assert.equal(found.size, FILES + 1);
      assert.deepEqual(new Set(found.values()), new Set([1]));
    }
    await device.ok(['check', 'round 0']);
  });

  test('what only looks the same stays: other content of the same size and time', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, env } = await twoMachines(stack);
    await mkdir(device.path('elsewhere/many'), { recursive: true });
    for (let i = 0; i < FILES; i++) {
      await writeFile(device.path(`elsewhere/many/f${i}`), randomBytes(SIZE));
      for (const folder of ['many', 'elsewhere/many']) await utimes(device.path(`${folder}/f${i}`), 1e9, 1e9);
    }
    const both = await Promise.all([
      device.run(['put', 'many'], { env: { ...env[0] } }),
      device.run(['put', 'many'], { env: { ...env[1] }, cwd: device.path('elsewhere') }),
    ]);
    for (const { code, stderr } of both) assert.equal(code, 0, stderr);
    const found = await versions(device);
    for (let i = 0; i < FILES; i++) assert.equal(found.get(`f${i}`), 2, `f${i}`);
  });

  test('a version that is shared stays, though another device uploaded and shared the same', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await writeFile(device.path('doc'), 'hello');
    await utimes(device.path('doc'), 1e9, 1e9);
    const session = JSON.parse(await readFile(device.path('config/session.json'), 'utf8'));
    const kek = new Uint8Array(Buffer.from(session.kek, 'base64url'));
    const szafa = await Szafa.open({ server: service.url }, { ...session, kek });
    const share = async () => String((await device.ok(['share', 'doc', '--json'])).line('link')['link']);
    await device.ok(['put', 'doc']);
    const links = [await share()];
    const [first] = await szafa.versions(await szafa.list());
    const { mtime, mode, source } = first!.metadata!;
    await szafa.upload(bytesSource(Buffer.from('hello')), { path: 'doc', mtime, mode, source });
    links.push(await share());
    await device.ok(['put', 'doc']);
    for (const link of links) await device.ok(['get', link, '--output', '-']);
  });
});
