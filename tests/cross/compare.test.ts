import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { suite, test } from 'node:test';
import { bytesSource, Szafa } from '@szafa/client';
import { useService } from '../harness/index.ts';
import { loggedIn, PASSWORD, registered } from './account.ts';
import { Between } from './between.ts';
import { assertError, type Device, type Outcome } from './device.ts';

const WHEN = 1_700_000_000.123;
const service = useService();

async function write(device: Device, path: string, content: string | Buffer, when = WHEN): Promise<void> {
  await mkdir(dirname(device.path(path)), { recursive: true });
  await writeFile(device.path(path), content);
  await utimes(device.path(path), when, when);
}

const names = (outcome: Outcome, type: string) =>
  outcome.lines.filter((line) => line.type === type).map(({ to }) => to);
const notes = (outcome: Outcome, code: string) =>
  outcome.lines.filter((line) => line.type === 'note' && line['code'] === code);

/** Bytes of volumes that were fetched, request by request. */
const downloaded = (between: Between) =>
  between.requests
    .filter(({ method, path }) => method === 'GET' && /chunk/.test(path))
    .map(({ answered }) => answered);

suite('szafa put: what is there already', { concurrency: 3 }, () => {
  async function device(
    stack: AsyncDisposableStack,
    make = loggedIn,
  ): Promise<{ device: Device; between: Between }> {
    const between = stack.use(await Between.start(service.url));
    const made = await make(between);
    stack.defer(() => made.remove());
    return { device: made, between };
  }

  test('two folders of one name, each with another file of the same name, size and time: both are kept, and it is said', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack);
    await write(d, 'q1/src/m.c', 'int a=1;\n');
    await write(d, 'q2/src/m.c', 'int a=2;\n');
    await d.ok(['put', 'q1/src']);
    const second = await d.ok(['put', 'q2/src', '--json']);
    assert.deepEqual(names(second, 'uploaded'), ['src/m.c']);
    const [note] = notes(second, 'other-source');
    assert.deepEqual([note!['source'], note!['other_source']], [d.path('q2/src'), d.path('q1/src')]);
    const versions = async () => (await d.ok(['ls', 'src', '--json'])).line('file')['versions'];
    assert.equal(await versions(), 2);
    assert.equal((await d.ok(['get', 'src/m.c', '--output', '-'])).stdout, 'int a=2;\n');
    for (const path of ['q1/src', 'q2/src']) {
      assert.deepEqual(names(await d.ok(['put', path, '--json']), 'skipped'), ['src/m.c'], path);
    }
    assert.equal(await versions(), 2);
  });

  test('with nothing to do nothing is asked for a file: by the device that sent it, and from its second look by any other', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d, between } = await device(stack);
    for (let i = 0; i < 30; i++) await write(d, `many/${i}`, `${i}`);
    await d.ok(['put', 'many']);
    const asked = async () => {
      const from = between.requests.length;
      assert.equal(names(await d.ok(['put', 'many', '--json']), 'skipped').length, 30);
      return between.requests.slice(from).filter(({ path }) => /chunk/.test(path)).length;
    };
    assert.equal(await asked(), 0);
    for (const name of await readdir(d.path('config'))) {
      if (name.startsWith('headers-')) await rm(d.path(`config/${name}`));
    }
    assert.equal(await asked(), 31, 'and for what is kept of the folder');
    assert.equal(await asked(), 0);
    await write(d, 'many/7', 'other');
    assert.deepEqual(names(await d.ok(['put', 'many', '--json']), 'uploaded'), ['many/7']);
    assert.equal(await asked(), 0);
  });

  test('a folder that was moved is there already, by its content; one that shares no name is told as well', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d, between } = await device(stack);
    await write(d, 'old/src/a', 'same');
    await d.ok(['put', 'old/src']);
    await rename(d.path('old'), d.path('new'));
    between.requests.length = 0;
    const moved = await d.ok(['put', 'new/src', '--json']);
    assert.equal(moved.line('skipped')['by'], 'content');
    assert.equal(notes(moved, 'other-source').length, 1);
    assert.deepEqual(downloaded(between), [56], 'only its salt is downloaded to compare');
    await write(d, 'third/src/b', 'other');
    const third = await d.ok(['put', 'third/src']);
    assert.match(
      third.stderr,
      new RegExp(`files from ${d.path('old/src')}; files from ${d.path('third/src')}`),
    );
    // In a folder of another name, too.
    await d.ok(['put', 'new/src', '--dir', 'box']);
    assert.match((await d.ok(['put', 'third/src', '--dir', 'box'])).stderr, /files from .*new\/src;/);
    // One by one they are no folder, unless they have one name.
    await write(d, 'x/one', '1');
    await write(d, 'y/two', '2');
    await write(d, 'y/one', '3');
    await d.ok(['put', 'x/one']);
    assert.equal((await d.ok(['put', 'y/two'])).stderr, '');
    assert.match(
      (await d.ok(['put', 'y/one'])).stderr,
      /one is already there from .*\/x\/one; files from .*\/y\/one/,
    );
  });

  test('--checksum compares content without a download, --force uploads, time decides otherwise', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d, between } = await device(stack);
    const bytes = randomBytes(300_000);
    const put = ['put', 'film', '--volume-size', '64K', '--json'];
    await write(d, 'film', bytes);
    await d.ok(put);
    between.requests.length = 0;
    await write(d, 'film', bytes, WHEN + 100);
    assert.equal((await d.ok([...put, '--checksum'])).line('skipped')['by'], 'content');
    assert.deepEqual(downloaded(between), [56, 56, 56, 56, 56]);
    // Its time is known from then on. Changed within its size, and its time set back.
    bytes[200_000]! ^= 1;
    await write(d, 'film', bytes, WHEN + 100);
    assert.equal((await d.ok(put)).line('skipped')['by'], 'time');
    assert.deepEqual(names(await d.ok([...put, '--checksum']), 'uploaded'), ['film']);
    assert.ok((await d.ok(['get', 'film', '--output', '-'])).bytes.equals(bytes));
    assert.equal((await d.ok([...put, '--checksum'])).line('skipped')['by'], 'content');
    assert.deepEqual(names(await d.ok([...put, '--force']), 'uploaded'), ['film']);
    assert.equal((await d.ok(['ls', '--json'])).line('file')['versions'], 3);
    assertError(
      await d.run(['put', 'film', '--force', '--checksum']),
      2,
      /--checksum and --force cannot be combined/,
      /omit one/,
    );
  });

  test('what came back to an older state is a new version: what was put last is what get brings', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack);
    const newest = async () => (await d.ok(['get', 'f', '--output', '-'])).stdout;
    for (const [content, when] of [
      ['A', WHEN],
      ['B', WHEN + 100],
      ['A', WHEN],
    ] as const) {
      await write(d, 'f', content, when);
      assert.deepEqual(names(await d.ok(['put', 'f', '--json']), 'uploaded'), ['f'], content);
      assert.equal(await newest(), content);
    }
    assert.equal((await d.ok(['put', 'f', '--json'])).line('skipped')['by'], 'time');
    await write(d, 'f', 'B', WHEN + 100);
    assert.deepEqual(names(await d.ok(['put', 'f', '--checksum', '--json']), 'uploaded'), ['f']);
    // What names no source is of any: standard input, the page.
    await d.ok(['put', '-', '--name', 'f'], { input: 'C' });
    assert.deepEqual(names(await d.ok(['put', 'f', '--json']), 'uploaded'), ['f']);
    assert.equal(await newest(), 'B');
  });

  test('a version of a clock that was ahead does not stay the newest for ever', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack, registered);
    const secrets = { username: d.env['SZ_USER']!, password: PASSWORD };
    const ahead = await Szafa.login({ server: service.url }, secrets);
    const tomorrow = { path: 'f', added: Date.now() + 3_600_000 };
    await ahead.upload(bytesSource(Buffer.from('ahead')), tomorrow);
    for (const more of [[], ['--force'], ['-']]) {
      const content = `now ${more.join()}`;
      await write(d, 'f', content);
      const args = more[0] === '-' ? ['put', '-', '--name', 'f'] : ['put', 'f', ...more];
      await d.ok(args, { input: content });
      assert.equal((await d.ok(['get', 'f', '--output', '-'])).stdout, content);
    }
    // A symbolic link is no exception.
    await ahead.upload(bytesSource(Buffer.alloc(0)), { ...tomorrow, path: 'links/l', link: 'ahead' });
    await mkdir(d.path('links'));
    await symlink('now', d.path('links/l'));
    await d.ok(['put', 'links']);
    await rm(d.path('links'), { recursive: true });
    await d.ok(['get', 'links']);
    assert.equal(await readlink(d.path('links/l')), 'now');
  });

  test('get --checksum finds a copy of the same size and time that is another file, and leaves an equal one', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack);
    await write(d, 'f', 'right');
    await d.ok(['put', 'f']);
    await write(d, 'f', 'wrong');
    const get = ['get', 'f', '--checksum', '--json'];
    assert.equal((await d.ok(['get', 'f', '--json'])).line('skipped')['reason'], 'already there');
    assertError(await d.run(['get', 'f', '--checksum']), 1, /already there/, /--yes/);
    await d.ok([...get, '--yes']);
    assert.equal(await readFile(d.path('f'), 'utf8'), 'right');
    await utimes(d.path('f'), WHEN + 5, WHEN + 5);
    assert.equal((await d.ok(get)).line('skipped')['reason'], 'already there');
  });

  test('a time is compared to the millisecond, and what was downloaded is there already', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack);
    for (let i = 0; i < 20; i++) await write(d, `t/f${i}`, String(i), 1_700_000_000 + i * 1.0007);
    await write(d, 't/before-1970', 'old', -1234.567);
    await d.ok(['put', 't']);
    await d.ok(['get', 't', '--output', 'copy']);
    assert.equal((await d.ok(['get', 't', '--output', 'copy', '--json'])).line('summary')['skipped'], 21);
    const again = await d.ok(['put', 'copy/t', '--json']);
    assert.equal(again.line('summary')['skipped'], 21);
    assert.equal(names(again, 'uploaded').length, 0);
    await utimes(d.path('t/f0'), 1_700_000_000.001, 1_700_000_000.001);
    assert.deepEqual(names(await d.ok(['put', 't', '--json']), 'uploaded'), ['t/f0']);
  });

  test('a path and a name that leave no room for each other still go up, and are known again', async () => {
    await using stack = new AsyncDisposableStack();
    const { device: d } = await device(stack);
    const deep = Array.from({ length: 14 }, (_, i) => `${i}`.padStart(230, 'n')).join('/');
    await write(d, `far/${deep}`, 'deep');
    await d.ok(['put', 'far']);
    assert.equal((await d.ok(['put', 'far', '--json'])).line('skipped')['by'], 'time');
    await d.ok(['get', 'far', '--output', 'b']);
    assert.equal(await readFile(d.path(`b/far/${deep}`), 'utf8'), 'deep');
  });
});
