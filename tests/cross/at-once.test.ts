import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { registered } from './account.ts';
import type { Device, Running } from './device.ts';

const SIZE = 6_000_000;
const VOLUMES = ['--volume-size', '512K'];
/** How far it is, is told now and then: the rest takes longer than a busy machine lets anybody wait for that. */
const SLOW = ['--bwlimit', '512K', '--json'];
const service = useService();

async function film(stack: AsyncDisposableStack): Promise<{ device: Device; bytes: Buffer }> {
  const device = await registered(service);
  stack.defer(() => device.remove());
  const bytes = randomBytes(SIZE);
  await writeFile(device.path('film'), bytes);
  return { device, bytes };
}

/** Stopped in the middle, so that the other meets it there, however long that takes to start. */
async function held(device: Device, args: string[], bytes: number): Promise<Running> {
  const running = device.start(args);
  await running.moved(bytes);
  running.child.kill('SIGSTOP');
  return running;
}

const waits = (running: Running) =>
  running.until('a word about the other', (text) => /"code":"waiting"/.test(text));
const files = async (device: Device) => (await device.ok(['ls', '--json'])).lines.map(({ name }) => name);

suite('szafa: two at once', { concurrency: 3 }, () => {
  test('two get of one file into one folder: the second waits, and the file is there once and whole', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, bytes } = await film(stack);
    await device.ok(['put', 'film', ...VOLUMES]);
    const get = ['get', 'film', '--output', 'copy', ...SLOW];
    const first = await held(device, get, SIZE / 4);
    const second = device.start(get);
    await waits(second);
    first.child.kill('SIGCONT');
    const [one, other] = await Promise.all([first.ended, second.ended]);
    assert.deepEqual([one.code, other.code], [0, 0], `${one.stdout}\n${other.stdout}`);
    assert.equal(one.line('downloaded')['resumed'], 0);
    assert.equal(other.line('skipped')['reason'], 'already there');
    assert.ok((await readFile(device.path('copy'))).equals(bytes));
    assert.deepEqual((await readdir(device.home)).sort(), ['config', 'copy', 'film']);
  });

  test('two get, and the first is killed: the second goes on from what it has left', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, bytes } = await film(stack);
    await device.ok(['put', 'film', ...VOLUMES]);
    const get = ['get', 'film', '--output', 'copy', ...SLOW];
    const first = await held(device, get, (SIZE * 2) / 3);
    const second = device.start(get);
    await waits(second);
    first.child.kill('SIGKILL');
    const outcome = await second.ended;
    assert.equal(outcome.code, 0, outcome.stdout);
    assert.ok(Number(outcome.line('downloaded')['resumed']) > 0, outcome.stdout);
    assert.ok((await readFile(device.path('copy'))).equals(bytes));
    assert.deepEqual((await readdir(device.home)).sort(), ['config', 'copy', 'film']);
  });

  test('two get that know nothing of each other write apart, with --yes too', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, bytes } = await film(stack);
    await device.ok(['put', 'film', ...VOLUMES]);
    const kept = JSON.parse(await readFile(device.path('config/session.json'), 'utf8')) as object;
    await mkdir(device.path('other'));
    await writeFile(device.path('other/session.json'), JSON.stringify(kept), { mode: 0o600 });
    for (const more of [[], ['--yes']]) {
      const get = ['get', 'film', '--output', 'copy', ...SLOW, ...more];
      const first = await held(device, get, SIZE / 4);
      const second = device.start(get, { env: { SZ_CONFIG: device.path('other') } });
      await second.moved(SIZE / 4);
      first.child.kill('SIGCONT');
      const [one, other] = await Promise.all([first.ended, second.ended]);
      assert.deepEqual([one.code, other.code], [0, 0], `${one.stdout}\n${other.stdout}`);
      assert.ok((await readFile(device.path('copy'))).equals(bytes));
      assert.deepEqual((await readdir(device.home)).sort(), ['config', 'copy', 'film', 'other']);
      await writeFile(device.path('copy'), 'in the way');
    }
  });

  test('two put of one file: one copy; and when the first is killed, the second goes on', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, bytes } = await film(stack);
    const put = ['put', 'film', ...VOLUMES, ...SLOW];
    const first = await held(device, put, SIZE / 4);
    const second = device.start(put);
    await waits(second);
    first.child.kill('SIGCONT');
    const [one, other] = await Promise.all([first.ended, second.ended]);
    assert.deepEqual([one.code, other.code], [0, 0], `${one.stdout}\n${other.stdout}`);
    assert.equal(other.line('skipped')['file_id'], one.line('uploaded')['file_id']);
    assert.deepEqual(await files(device), ['film']);
    await device.ok(['rm', '--yes', 'film']);

    const killed = await held(device, put, (SIZE * 2) / 3);
    const third = device.start(put);
    await waits(third);
    killed.child.kill('SIGKILL');
    const outcome = await third.ended;
    assert.equal(outcome.code, 0, outcome.stdout);
    assert.ok(Number(outcome.line('uploaded')['resumed']) > 0, outcome.stdout);
    assert.deepEqual(await files(device), ['film']);
    assert.ok((await device.ok(['get', 'film', '--output', '-'])).bytes.equals(bytes));
  });

  test('two put of one folder, three times: every file is there once', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    await mkdir(device.path('many'));
    const names = Array.from({ length: 60 }, (_, i) => `f${String(i).padStart(2, '0')}`);
    for (const name of names) await writeFile(device.path(`many/${name}`), name);
    for (let round = 1; round <= 3; round++) {
      const dir = `many${round}`;
      const all = await Promise.all([1, 2].map(() => device.run(['put', 'many', '--dir', dir, '--json'])));
      for (const { code, stdout } of all) assert.equal(code, 0, stdout);
      const { lines } = await device.ok(['ls', `${dir}/many`, '--json']);
      const listed = lines.map(({ name, versions }) => [name, versions]);
      assert.deepEqual(
        listed,
        names.map((name) => [name, 1]),
      );
    }
  });
});
