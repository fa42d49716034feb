import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { assertBytes } from '../harness/bytes.ts';
import { useService } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { Between } from './between.ts';
import { assertError } from './device.ts';

const service = useService();

suite('szafa: files and folders', { concurrency: 3 }, () => {
  const shared = useDevice(service);

  test('a file goes up and comes back with its bytes, name and time', async () => {
    const { device } = shared;
    const bytes = randomBytes(300_000);
    await writeFile(device.path('a b.bin'), bytes);
    await utimes(device.path('a b.bin'), 1e9, 1e9);
    const put = await device.ok(['put', 'a b.bin', '--json', '--volume-size', '64K']);
    const uploaded = put.line('uploaded');
    const { file_id: id, ...rest } = uploaded;
    assert.deepEqual(rest, {
      type: 'uploaded',
      path: 'a b.bin',
      to: 'a b.bin',
      size: 300_000,
      stored_size: 300_000 + 5 * 72,
      volumes: 5,
      resumed: 0,
    });
    assert.equal(put.line('summary')['files'], 1);
    await mkdir(device.path('down'));
    const cwd = device.path('down');
    const get = (await device.ok(['get', 'a b.bin', '--json'], { cwd })).line('downloaded');
    assert.deepEqual(get, {
      type: 'downloaded',
      file_id: id,
      from: 'a b.bin',
      path: 'a b.bin',
      size: 300_000,
      volumes: 5,
      resumed: 0,
    });
    assertBytes(await readFile(join(cwd, 'a b.bin')), bytes);
    assert.equal((await stat(join(cwd, 'a b.bin'))).mtimeMs, 1e12);
    await device.ok(['get', String(id), '--output', 'by-id'], { cwd });
    assertBytes(await readFile(join(cwd, 'by-id')), bytes);
  });

  test('putting a file again changes nothing; a changed one is a new version, and get takes the newest', async () => {
    const { device } = shared;
    await writeFile(device.path('v'), 'one');
    await device.ok(['put', 'v']);
    const again = await device.ok(['put', 'v', '--json']);
    assert.equal(again.line('skipped')['reason'], 'already there');
    await writeFile(device.path('v'), 'two');
    await utimes(device.path('v'), 2e9, 2e9);
    await device.ok(['put', 'v']);
    assert.equal((await device.ok(['get', 'v', '-o', '-'])).stdout, 'two');
    assert.equal((await device.ok(['ls', 'v', '--json'])).line('file')['versions'], 2);
  });

  test('get leaves what is there alone: the same is skipped, another is refused, --yes overwrites', async () => {
    const { device } = shared;
    await writeFile(device.path('w'), 'original');
    await device.ok(['put', 'w']);
    const cwd = device.path('keep');
    await mkdir(cwd);
    await device.ok(['get', 'w'], { cwd });
    assert.match((await device.ok(['get', 'w'], { cwd })).stdout, /already there/);
    await writeFile(join(cwd, 'w'), 'my own work');
    assertError(await device.run(['get', 'w'], { cwd }), 1, /w is already there/, /--yes/);
    assert.equal(await readFile(join(cwd, 'w'), 'utf8'), 'my own work');
    await device.ok(['get', 'w', '--yes'], { cwd });
    assert.equal(await readFile(join(cwd, 'w'), 'utf8'), 'original');
  });

  test('standard input and standard output, with nothing else in the stream', async () => {
    const { device } = shared;
    const input = randomBytes(2_500_000);
    await device.ok(['put', '-', '--name', 'piped', '--volume-size', '1M', '--dir', 'pipes'], { input });
    for (const more of [[], ['--json']]) {
      const got = await device.ok(['get', 'pipes/piped', '--output', '-', ...more]);
      assert.ok(got.bytes.equals(input));
    }
    assertError(await device.run(['put', '-'], { input: 'x' }), 2, /needs a name/, /--name/);
    assertError(await device.run(['get', 'pipes/piped', 'v', '-o', '-']), 2, /one file/);
    assertError(await device.run(['get', 'pipes', 'v', '-o', '-']), 2, /one file/);
    await device.ok(['put', '-', '--name', 'nothing'], { input: '' });
    assert.equal((await device.ok(['get', 'nothing', '-o', '-'])).bytes.length, 0);
  });

  test('a folder goes up with all that is in it, and comes back under its name', async () => {
    const { device } = shared;
    const folder = device.path('tree');
    await mkdir(join(folder, 'sub/deep'), { recursive: true });
    await writeFile(join(folder, 'top.txt'), 'top');
    await writeFile(join(folder, 'sub/deep/leaf.txt'), 'leaf');
    await device.ok(['put', 'tree/']);
    const listed = (await device.ok(['ls', '-R', 'tree'])).stdout.trim().split('\n');
    assert.deepEqual(listed, ['sub/', 'sub/deep/', 'sub/deep/leaf.txt', 'top.txt']);
    const token = (await device.ok(['token'])).stdout.trim();
    const raw = await service.call({ path: '/api/files', token });
    assert.doesNotMatch(raw.text, /leaf|top\.txt|tree/);

    await device.ok(['get', 'tree', '--output', 'back']);
    assert.equal(await readFile(device.path('back/tree/sub/deep/leaf.txt'), 'utf8'), 'leaf');
    await device.ok(['get', 'tree/sub', '--output', 'back']);
    assert.equal(await readFile(device.path('back/sub/deep/leaf.txt'), 'utf8'), 'leaf');
    await device.ok(['get', 'tree/**/*.txt', '--output', 'fits']);
    assert.deepEqual((await readdir(device.path('fits'))).sort(), ['sub', 'top.txt']);
    await device.ok(['get', 'tree/sub/deep/leaf.txt', '--output', 'one/']);
    assert.equal(await readFile(device.path('one/leaf.txt'), 'utf8'), 'leaf');

    await device.ok(['put', 'tree', '--dir', '/backup/2026']);
    const found = (await device.ok(['find', 'LEAF'])).stdout.trim().split('\n');
    assert.deepEqual(found, ['backup/2026/tree/sub/deep/leaf.txt', 'tree/sub/deep/leaf.txt']);
    assert.equal((await device.ok(['du', 'backup', '--json'])).lines.at(-1)?.['size'], 7);
  });

  test('check finds a volume that was changed, and says which file; the others are good', async () => {
    await using between = await Between.start(service.url);
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    await device.ok(['put', '-', '--name', 'fine', '--dir', 'checked'], { input: 'fine' });
    const put = await device.ok(['put', '-', '--name', 'bad', '--dir', 'checked', '--json'], {
      input: 'bad',
    });
    const bad = String(put.line('uploaded')['file_id']);
    between.inward = (path, body) => {
      if (path.includes(`${bad}/chunk/1`) && body.length > 0) body[0] = body[0]! ^ 1;
      return body;
    };
    const check = await device.run(['check', 'checked']);
    assertError(check, 3, /^szafa: checked\/bad: volume 1 was changed/, /do not use/);
    assert.match(check.stdout, /good checked\/fine/);
    assertError(await device.run(['get', 'checked/bad']), 1, /volume 1 was changed/);
    await assert.rejects(stat(device.path('bad')), { code: 'ENOENT' });
  });

  test('plain names are shown to the service, and marked as not verified', async () => {
    const { device } = shared;
    await writeFile(device.path('open.txt'), 'plain');
    await device.ok(['put', 'open.txt', '--plain-names', '--dir', 'seen']);
    const token = (await device.ok(['token'])).stdout.trim();
    assert.match((await service.call({ path: '/api/files', token })).text, /open\.txt/);
    assert.match((await device.ok(['ls', 'seen'])).stdout, /open\.txt {2}\(plain name, not verified\)/);
    assert.match(
      (await device.ok(['put', 'open.txt', '--plain-names', '--dir', 'seen'])).stdout,
      /already there/,
    );
    assert.equal((await device.ok(['get', 'seen/open.txt', '-o', '-'])).stdout, 'plain');
  });

  test('--quiet says nothing, and every line of --json has a type', async () => {
    const { device } = shared;
    await writeFile(device.path('q'), 'q');
    const quiet = await device.ok(['put', 'q', '--quiet']);
    assert.equal(quiet.stdout + quiet.stderr, '');
    const { lines } = await device.ok(['ls', '--json']);
    assert.ok(lines.length > 0);
    for (const { type } of lines) assert.ok(['file', 'folder'].includes(type), type);
    const failed = await device.run(['put', 'q', 'not-there', '--json']);
    assert.equal(failed.code, 3);
    const errors = failed.lines.filter(({ type }) => type === 'error');
    assert.deepEqual(
      errors.map(({ code, about }) => [code, about]),
      [
        ['ENOENT', 'not-there'],
        ['some-failed', undefined],
      ],
    );
  });
});
