/** passwd, rekey and recover, killed at every step. */
import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD } from './account.ts';
import { Between } from './between.ts';
import { Device } from './device.ts';
import { opens, withFile } from './kept-file.ts';
import { everyStep, isDone, killedAt } from './kills.ts';
import { quickCommand } from './packed.ts';

const service = useService();
const NEXT = 'another horse, another battery';
const OLD = { SZ_PASSWORD: PASSWORD };

/** Nothing that lies there is torn, or anybody else's to read. */
async function assertWhole(device: Device): Promise<void> {
  const config = device.path('config');
  for (const name of await readdir(config)) {
    assert.equal((await stat(join(config, name))).mode & 0o077, 0, name);
    if (/^(session|keys-.*)\.json$/.test(name)) JSON.parse(await readFile(join(config, name), 'utf8'));
  }
}

suite('szafa: an account, killed at every step', { concurrency: 3 }, () => {
  test('passwd, killed at any step: one of the two passwords counts, and the same command again finishes it', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    let [from, to] = [PASSWORD, NEXT];
    await everyStep(async (step) => {
      const env = { SZ_PASSWORD: from, SZ_NEW_PASSWORD: to };
      const over = await killedAt(between, step, ['passwd'], device, env);
      await assertWhole(device);
      assert.equal(
        [await opens(service, device, from), await opens(service, device, to)].filter(Boolean).length,
        1,
        `step ${step}`,
      );
      if (!over) isDone(await device.run(['passwd'], { env }));
      assert.ok(await opens(service, device, to), `step ${step}`);
      isDone(await device.run(['get', 'papers/kept', '-o', '-']));
      [from, to] = [to, from];
      return over === undefined;
    });
  });

  test('rekey, killed at any step: everything opens, and the same command again finishes it', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    await everyStep(async (step) => {
      const rekey = (key: string) => ['rekey', '--json', '--recovery-file', key];
      const over = await killedAt(between, step, rekey(`key ${step}`), device, OLD);
      await assertWhole(device);
      assert.ok(await opens(service, device, PASSWORD), `step ${step}`);
      isDone(await device.run(['get', 'papers/kept', '-o', '-']));
      if (!over) isDone(await device.run(rekey(`key ${step} again`), { env: OLD }));
      const [dir] = (await device.ok(['ls', '--json'])).lines;
      assert.deepEqual([dir!['name'], dir!['verified']], ['papers', true]);
      // One of the recovery keys that were written down counts.
      const keys = (await readdir(device.home)).filter((name) => name.startsWith('key '));
      assert.ok(keys.length > 0);
      return over === undefined;
    });
  });

  test('recover, killed at any step: the recovery key or the new password counts, and a login or the same again finishes it', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await Device.make(between.url, { SZ_USER: freshName() }, quickCommand());
    stack.defer(() => device.remove());
    await device.ok(['register', '--recovery-file', 'key'], { env: OLD });
    await device.ok(['put', '-', '--name', 'papers/kept'], { input: 'kept' });
    let [key, from] = ['key', PASSWORD];
    await everyStep(async (step) => {
      const to = `${NEXT} ${step}`;
      const recover = (next: string) => ['recover', '--key-file', key, '--recovery-file', next];
      const env = { SZ_NEW_PASSWORD: to };
      const over = await killedAt(between, step, recover(`next ${step}`), device, env);
      await assertWhole(device);
      const counts = await opens(service, device, to);
      assert.notEqual(counts, await opens(service, device, from), `step ${step}`);
      if (counts) {
        key = `next ${step}`;
        isDone(await device.run(['login'], { env: { SZ_PASSWORD: to } }));
      } else {
        isDone(await device.run(recover(`again ${step}`), { env }));
        key = `again ${step}`;
      }
      isDone(await device.run(['get', 'papers/kept', '-o', '-']));
      from = to;
      return over === undefined;
    });
  });
});
