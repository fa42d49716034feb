import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { Between } from './between.ts';
import { assertError } from './device.ts';

const service = useService();

suite('szafa: files and directories', { concurrency: 3 }, () => {
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
      name: 'a b.bin',
      dir_id: null,
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
      name: 'a b.bin',
      path: 'a b.bin',
      size: 300_000,
      volumes: 5,
      resumed: 0,
    });
    assert.deepEqual(await readFile(join(cwd, 'a b.bin')), bytes);
    assert.equal((await stat(join(cwd, 'a b.bin'))).mtimeMs, 1e12);
    await device.ok(['get', String(id), '--output', 'by-id'], { cwd });
    assert.deepEqual(await readFile(join(cwd, 'by-id')), bytes);
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
    const got = await device.ok(['get', 'v', '-o', '-']);
    assert.equal(got.stdout, 'two');
    assert.match(got.stderr, /2 files are called "v"/);
    assertError(await device.run(['rm', '--yes', 'v']), 1, /2 files are called "v"/, /ID/);
    assert.equal((await device.ok(['ls', '--json'])).lines.filter(({ name }) => name === 'v').length, 2);
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
      const got = await device.ok(['get', 'piped', '--output', '-', ...more]);
      assert.ok(got.bytes.equals(input));
    }
    assertError(await device.run(['put', '-'], { input: 'x' }), 2, /needs a name/, /--name/);
    assertError(await device.run(['get', 'piped', 'v', '-o', '-']), 2, /one file/);
    await device.ok(['put', '-', '--name', 'nothing'], { input: '' });
    assert.equal((await device.ok(['get', 'nothing', '-o', '-'])).bytes.length, 0);
  });

  test('a folder is a directory, with the paths below it in the sealed names', async () => {
    const { device } = shared;
    const folder = device.path('tree');
    await mkdir(join(folder, 'sub/deep'), { recursive: true });
    await writeFile(join(folder, 'top.txt'), 'top');
    await writeFile(join(folder, 'sub/deep/leaf.txt'), 'leaf');
    await symlink('/etc/passwd', join(folder, 'link'));
    const put = await device.ok(['put', 'tree/']);
    assert.match(put.stderr, /skipping \S*link: it is a symbolic link/);
    const listed = (await device.ok(['ls', 'tree', '--json'])).lines.map(({ name }) => name);
    assert.deepEqual(listed, ['sub/deep/leaf.txt', 'top.txt']);
    const token = (await device.ok(['token'])).stdout.trim();
    const raw = await service.call({ path: '/api/files', token });
    assert.doesNotMatch(raw.text, /leaf|top\.txt|tree/);

    await device.ok(['get', '--dir', 'tree', '--output', 'back']);
    assert.equal(await readFile(device.path('back/sub/deep/leaf.txt'), 'utf8'), 'leaf');
    await device.ok(['get', 'tree/sub/deep/leaf.txt', '--output', 'one/']);
    assert.equal(await readFile(device.path('one/sub/deep/leaf.txt'), 'utf8'), 'leaf');

    await device.ok(['put', 'tree', '--dir', 'backup']);
    const inBackup = (await device.ok(['ls', 'backup', '--json'])).lines.map(({ name }) => name);
    assert.deepEqual(inBackup, ['tree/sub/deep/leaf.txt', 'tree/top.txt']);
  });

  test('mkdir, mv, cp, rmdir, rm and check', async () => {
    const { device } = shared;
    await writeFile(device.path('m'), 'moves');
    await device.ok(['put', 'm']);
    const made = (await device.ok(['mkdir', 'box', '--json'])).line('directory');
    assertError(await device.run(['mkdir', 'box']), 1, /already exists/);
    assertError(await device.run(['mkdir', 'a/b']), 2, /must not contain/);
    const moved = (await device.ok(['mv', 'm', '--dir', 'box', '--json'])).line('moved');
    assert.deepEqual([moved['name'], moved['dir_id']], ['m', made['dir_id']]);
    const copied = (await device.ok(['cp', 'box/m', '--json'])).line('copied');
    assert.equal(copied['source_id'], moved['file_id']);
    assert.notEqual(copied['file_id'], moved['file_id']);
    assert.equal((await device.ok(['get', String(copied['file_id']), '-o', '-'])).stdout, 'moves');

    assertError(await device.run(['rmdir', 'box']), 1, /not empty/, /--yes/);
    assertError(
      await device.run(['get', 'm']),
      1,
      /2 files are called "m"/,
      /write (\/m or box\/m|box\/m or \/m)/,
    );
    await device.ok(['rm', '--yes', 'm', '--dir', '/']);
    assertError(await device.run(['rm', 'm']), 1, /nothing was deleted/, /--yes/);
    const removed = await device.ok(['rmdir', 'box', '--yes', '--json']);
    assert.equal(removed.line('removed')['files_moved'], 1);
    const checked = (await device.ok(['check', 'm', '--json'])).line('checked');
    assert.equal(checked['file_id'], moved['file_id']);
    await device.ok(['rm', '--yes', 'm']);
    assertError(await device.run(['check', 'm']), 1, /there is no file "m"/, /szafa ls/);
    assertError(await device.run(['mv', 'v', '--dir', 'nowhere']), 1, /no directory "nowhere"/, /mkdir/);
    assertError(await device.run(['mv', 'v']), 2, /needs --dir/);
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
    const check = await device.run(['check', '--dir', 'checked']);
    assertError(check, 3, /^szafa: bad: volume 1 was changed/, /do not use/);
    assert.match(check.stdout, /good fine/);
    assertError(await device.run(['get', 'bad']), 1, /volume 1 was changed/);
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
    for (const { type } of lines) assert.ok(['file', 'directory'].includes(type), type);
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
