/** Files that change while they are uploaded. */
import assert from 'node:assert/strict';
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { usually } from '../harness/long.ts';
import { registered } from './account.ts';
import { assertError, type Device } from './device.ts';

const SIZE = 3_000_000;
const VOLUMES = ['--volume-size', '256K'];
const SLOW = ['--bwlimit', '512K', '--json'];
const service = useService();

async function withFolder(stack: AsyncDisposableStack): Promise<Device> {
  const device = await registered(service);
  stack.defer(() => device.remove());
  await mkdir(device.path('var'));
  await writeFile(device.path('var/a'), 'beside it');
  await writeFile(device.path('var/z'), 'beside it, too');
  return device;
}

/** Changes a file again and again until it is told to stop. */
function keepChanging(change: () => unknown): () => Promise<void> {
  let ended = false;
  const running = (async () => {
    while (!ended) {
      await change();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  return () => {
    ended = true;
    return running;
  };
}

const stored = async (device: Device, path: string) =>
  (await device.ok(['get', path, '--output', '-'])).bytes;

suite('szafa put: files that change', { concurrency: 2 }, () => {
  test('a log that grows all the time is stored as it was, with exit code 3; the next put stores the rest', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    const log = device.path('var/log');
    await writeFile(log, Buffer.alloc(SIZE, 'x'));
    let line = 0;
    const stop = keepChanging(() => appendFile(log, `line ${line++}\n`));
    const put = await device.run(['put', 'var', ...VOLUMES, '--json']);
    await stop();
    assert.equal(put.code, 3, put.stdout);
    const note = put.lines.find(({ code }) => code === 'grown')!;
    const now = await readFile(log);
    const size = Number(note['size']);
    assert.ok(size >= SIZE && size < now.length, `${size} of ${now.length}`);
    assert.ok((await stored(device, 'var/log')).equals(now.subarray(0, size)));
    assert.ok((await stored(device, 'var/z')).equals(Buffer.from('beside it, too')));
    const quiet = await device.run(['put', 'var', ...VOLUMES, '--quiet']);
    assert.deepEqual([quiet.code, quiet.stderr], [0, '']);
    assert.ok((await stored(device, 'var/log')).equals(now));
  });

  test('a file that is rewritten all the time is reported, and the others are stored', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    const file = device.path('var/busy');
    await writeFile(file, Buffer.alloc(SIZE));
    const fd = openSync(file, 'r+');
    let round = 0;
    const stop = keepChanging(() => writeSync(fd, Buffer.alloc(SIZE, ++round), 0, SIZE, 0));
    const put = await device.run(['put', 'var', ...VOLUMES]);
    await stop();
    closeSync(fd);
    assertError(put, 3, /busy: the file changed while it was being uploaded/, /nothing writes to it/);
    assert.ok((await stored(device, 'var/z')).equals(Buffer.from('beside it, too')));
    assert.deepEqual(
      (await device.ok(['ls', 'var', '--json'])).lines.map(({ name }) => name),
      ['a', 'z'],
    );
    await device.ok(['put', 'var']);
    assert.ok((await stored(device, 'var/busy')).equals(await readFile(file)));
  });

  test('a file that is rewritten once during its upload is uploaded as it is then', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    await writeFile(device.path('film'), Buffer.alloc(SIZE, 1));
    const running = device.start(['put', 'film', ...VOLUMES, ...SLOW]);
    await running.moved(SIZE / 4);
    await writeFile(device.path('film'), Buffer.alloc(SIZE / 2, 2));
    const put = await running.ended;
    assert.equal(put.code, 0, put.stdout);
    assert.ok((await stored(device, 'film')).equals(Buffer.alloc(SIZE / 2, 2)));
    assert.equal((await device.ok(['transfers', '--json'])).line('note')['code'], 'empty');
  });

  test('a file that is removed during its upload: the error says so, and nothing of it is stored', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    await writeFile(device.path('var/film'), Buffer.alloc(SIZE, 1));
    const running = device.start(['put', 'var', ...VOLUMES, ...SLOW]);
    await running.moved(SIZE / 4);
    await rm(device.path('var/film'));
    const put = await running.ended;
    assert.equal(put.code, 3, put.stdout);
    const [error] = put.lines.filter(({ type }) => type === 'error');
    assert.deepEqual([error!['code'], error!['about']], ['file-removed', 'var/film']);
    assert.match(String(error!['message']), /was removed/);
    assert.deepEqual(
      (await device.ok(['ls', 'var', '--json'])).lines.map(({ name }) => name),
      ['a', 'z'],
    );
  });

  test('the upload of a log that was killed goes on after the log has grown', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    const log = device.path('log');
    await writeFile(log, Buffer.alloc(SIZE, 'x'));
    const running = device.start(['put', 'log', ...VOLUMES, ...SLOW]);
    await running.moved(SIZE / 2);
    running.child.kill('SIGKILL');
    await running.ended;
    await appendFile(log, 'and more');
    const put = await device.run(['put', 'log', ...VOLUMES, '--json']);
    assert.equal(put.code, 3, put.stdout);
    assert.ok(Number(put.line('uploaded')['resumed']) > 0, put.stdout);
    assert.ok((await stored(device, 'log')).equals(Buffer.alloc(SIZE, 'x')));
    assert.equal((await device.ok(['put', 'log', '--json'])).line('uploaded')['size'], SIZE + 8);
  });

  test('whatever a writer does, what is stored is a state that the file had, or begins like one', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFolder(stack);
    for (let run = 0; run < usually(2, 12); run++) {
      const name = `state-${run}`;
      const file = device.path(name);
      await writeFile(file, Buffer.alloc(SIZE, 255));
      const fd = openSync(file, 'r+');
      let round = 0;
      // One write is one state: each fills the whole file, which becomes longer or shorter now and then.
      const stop = keepChanging(async () => {
        round = (round + 1) % 250;
        if (run % 2 === 1 && round % 20 === 0) truncateSync(file, SIZE / 2);
        writeSync(fd, Buffer.alloc(SIZE + (run % 2) * round * 100, round), 0, undefined, 0);
        await new Promise((resolve) => setTimeout(resolve, run * 5));
      });
      const put = await device.run(['put', name, ...VOLUMES]);
      await stop();
      closeSync(fd);
      if (put.code === 1) continue;
      const bytes = await stored(device, name);
      assert.ok(
        bytes.every((byte) => byte === bytes[0]),
        `run ${run}: two states in one file`,
      );
    }
  });
});
