import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Service, useService, usually } from '../harness/index.ts';
import { loggedIn } from './account.ts';
import { Between } from './between.ts';
import { assertError, type Device, type Running } from './device.ts';

const VOLUME = 512 * 1024;
const VOLUMES = 12;
/** Slow enough to be met in the middle, in volumes small enough to count. */
const SLOW = ['--bwlimit', '1536K', '--json'];
/** How far it is, is told now and then: the rest takes longer than a busy machine lets anybody wait for that. */
const SLOWER = ['--bwlimit', '768K', '--json'];
const PUT = ['put', 'film', '--volume-size', '512K'];

async function film(device: Device): Promise<Buffer> {
  const bytes = randomBytes(VOLUMES * VOLUME - 1);
  await writeFile(device.path('film'), bytes);
  return bytes;
}

async function stored(device: Device): Promise<Buffer> {
  return (await device.ok(['get', 'film', '--output', '-'])).bytes;
}

const service = useService();

suite('szafa: resume', { concurrency: 3 }, () => {
  async function onLine(stack: AsyncDisposableStack): Promise<{ device: Device; between: Between }> {
    const between = stack.use(await Between.start(service.url));
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    return { device, between };
  }

  /** In the middle of an upload: a progress in bytes would not say that a single volume has arrived. */
  const inTheMiddle = (running: Running, between: Between) =>
    running.until('three volumes', () => between.stored >= 3);

  const CTRL_C = ['Ctrl-C', 'SIGINT', 130] as const;
  const KILL_9 = ['kill -9', 'SIGKILL', null] as const;
  for (const [how, signal, code] of usually([KILL_9], [CTRL_C, KILL_9])) {
    test(`put goes on after ${how} with the volumes that are missing`, async () => {
      await using stack = new AsyncDisposableStack();
      const { device, between } = await onLine(stack);
      const bytes = await film(device);
      const running = device.start([...PUT, ...SLOW]);
      await inTheMiddle(running, between);
      running.child.kill(signal);
      const first = await running.ended;
      assert.equal(first.code, code, first.stderr);
      if (code) assert.equal(first.line('error')['code'], 'interrupted');
      const sent = between.puts().size;
      const {
        kind,
        from,
        to,
        size,
        stored: there,
      } = (await device.ok(['transfers', '--json'])).line('transfer');
      assert.deepEqual([kind, from, to, size], ['upload', device.path('film'), 'film', bytes.length]);
      assert.ok(Number(there) >= 2 * VOLUME, `${there} bytes are there`);
      between.requests.length = 0;

      const second = (await device.ok([...PUT, '--json'])).line('uploaded');
      const resumed = Number(second['resumed']);
      assert.ok(resumed >= 2 && resumed < VOLUMES, `${resumed} of ${sent} sent volumes were kept`);
      assert.equal(between.puts().size, VOLUMES - resumed);
      assert.ok((await stored(device)).equals(bytes));
      const left = await readdir(join(device.env['SZ_CONFIG']!, 'journal'));
      assert.deepEqual(
        left.filter((name) => !name.startsWith('claims.db')),
        [],
      );
    });
  }

  for (const [how, signal, code] of usually([CTRL_C], [CTRL_C, KILL_9])) {
    test(`get goes on after ${how} from the volumes it has verified`, async () => {
      await using stack = new AsyncDisposableStack();
      const { device, between } = await onLine(stack);
      const bytes = await film(device);
      await device.ok(PUT);
      const running = device.start(['get', 'film', '--output', 'copy', ...SLOWER]);
      await running.moved(7 * VOLUME);
      running.child.kill(signal);
      assert.equal((await running.ended).code, code);
      await assert.rejects(stat(device.path('copy')), { code: 'ENOENT' });
      const { kind, from, to, stored: there } = (await device.ok(['transfers', '--json'])).line('transfer');
      assert.deepEqual([kind, from, to], ['download', 'film', device.path('copy')]);
      assert.ok(Number(there) >= VOLUME, `${there} bytes are there`);
      between.requests.length = 0;

      const second = (await device.ok(['get', 'film', '--output', 'copy', '--json'])).line('downloaded');
      const resumed = Number(second['resumed']);
      assert.ok(resumed >= 1 && resumed < VOLUMES, `${resumed} volumes were kept`);
      const fetched = between.requests.filter(({ method, path }) => method === 'GET' && /chunk/.test(path));
      assert.equal(fetched.length, VOLUMES - resumed);
      assert.ok((await readFile(device.path('copy'))).equals(bytes));
      assert.deepEqual(
        (await readdir(device.home)).filter((name) => name.includes('.part')),
        [],
      );
    });
  }

  test('a file that changed since is uploaded anew, under a new key', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between } = await onLine(stack);
    await film(device);
    const running = device.start([...PUT, ...SLOW]);
    await inTheMiddle(running, between);
    running.child.kill('SIGKILL');
    await running.ended;
    const changed = await readFile(device.path('film'));
    changed[0]! ^= 1;
    await writeFile(device.path('film'), Buffer.concat([changed, Buffer.from('the end')]));
    between.requests.length = 0;
    const second = (await device.ok([...PUT, '--json'])).line('uploaded');
    assert.equal(second['resumed'], 0);
    assert.equal(between.puts().size, VOLUMES + 1);
    assert.ok(
      between.requests.some(({ method }) => method === 'DELETE'),
      'the old transfer is cancelled',
    );
    assert.ok((await stored(device)).equals(await readFile(device.path('film'))));
  });

  test('what was cut off can be given up: the server and the disk are free of it', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between } = await onLine(stack);
    await film(device);
    const put = device.start([...PUT, ...SLOW]);
    await inTheMiddle(put, between);
    // It holds its claim and does not end meanwhile.
    put.child.kill('SIGSTOP');
    const busy = await device.run(['transfers', 'cancel', 'film']);
    assertError(busy, 1, /another szafa is working on it/, /end that one/);
    put.child.kill('SIGKILL');
    await put.ended;
    await device.ok(PUT);
    const get = device.start(['get', 'film', '--output', 'copy', ...SLOWER]);
    await get.moved(7 * VOLUME);
    get.child.kill('SIGKILL');
    await get.ended;
    await writeFile(device.path('film'), randomBytes(VOLUMES * VOLUME));
    const again = device.start([...PUT, ...SLOW]);
    const before = between.stored;
    await again.until('three volumes more', () => between.stored >= before + 3);
    again.child.kill('SIGKILL');
    await again.ended;
    assertError(
      await device.run(['transfers', 'cancel', 'none']),
      1,
      /there is no unfinished transfer of "none"/,
    );
    const gone = await device.ok(['transfers', 'cancel', '--all', '--json']);
    assert.deepEqual(gone.lines.map(({ kind }) => kind).sort(), ['download', 'upload']);
    assert.ok(between.requests.some(({ method, path }) => method === 'DELETE' && /transfer/.test(path)));
    assert.deepEqual(
      (await readdir(device.home)).filter((name) => name.includes('.part')),
      [],
    );
    assert.match((await device.ok(['transfers'])).stderr, /no transfer is unfinished/);
  });

  test('a network that goes away for some seconds is waited for, and said', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between } = await onLine(stack);
    const bytes = await film(device);
    const running = device.start([...PUT, '--bwlimit', '1536K', '--json']);
    await inTheMiddle(running, between);
    await between.down();
    await running.until('a word about it', (text) => /"type":"note","code":"retry"/.test(text));
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await between.up();
    const outcome = await running.ended;
    assert.equal(outcome.code, 0, outcome.stdout);
    assert.ok((await stored(device)).equals(bytes));
  });

  test('a network that stays away ends the command, which goes on later', {
    skip: usually('for test:long', false),
  }, async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between } = await onLine(stack);
    const bytes = await film(device);
    const running = device.start([...PUT, ...SLOW, '--retry', '1s']);
    await inTheMiddle(running, between);
    await between.down();
    const outcome = await running.ended;
    assert.equal(outcome.code, 1);
    const { code, hint } = outcome.line('error');
    assert.equal(code, 'network');
    assert.match(String(hint), /same command again/);
    await between.up();
    assert.ok(Number((await device.ok([...PUT, '--json'])).line('uploaded')['resumed']) > 0);
    assert.ok((await stored(device)).equals(bytes));
  });

  test('a service that is killed and started again in the middle of an upload', async () => {
    await using stack = new AsyncDisposableStack();
    const own = await new Service({ env: { SZ_WORKERS: '1' } }).start();
    stack.defer(() => own.stop());
    const between = stack.use(await Between.start(own.url));
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    const bytes = await film(device);
    const running = device.start([...PUT, ...SLOW]);
    await inTheMiddle(running, between);
    await own.kill9();
    await own.start();
    between.target = own.url;
    const outcome = await running.ended;
    assert.equal(outcome.code, 0, outcome.stdout);
    assert.ok((await stored(device)).equals(bytes));
  });

  test('an interrupted folder goes on with the files that are missing, and none is there twice', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await mkdir(device.path('many'));
    const names = Array.from({ length: 40 }, (_, i) => `file ${String(i).padStart(2, '0')}`);
    for (const name of names) await writeFile(device.path(`many/${name}`), randomBytes(64 * 1024));
    const running = device.start(['put', 'many', '--bwlimit', '512K', '--json']);
    await running.until('some files', (text) => text.split('"type":"uploaded"').length > 6);
    running.child.kill('SIGKILL');
    await running.ended;

    const second = await device.ok(['put', 'many', '--json']);
    const { files, skipped } = second.line('summary');
    assert.ok(Number(skipped) >= 5, `${skipped} skipped`);
    assert.equal(Number(files) + Number(skipped), names.length);
    const listed = (await device.ok(['ls', 'many', '--json'])).lines.map(({ name }) => name);
    assert.deepEqual(listed, names);
    await device.ok(['get', 'many', '--output', 'back', '--quiet']);
    for (const name of names) {
      const [one, other] = await Promise.all([
        readFile(device.path(`many/${name}`)),
        readFile(device.path(`back/many/${name}`)),
      ]);
      assert.ok(one.equals(other), name);
    }
  });
});
