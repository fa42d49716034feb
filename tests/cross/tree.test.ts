/** One tree on the server: folders, moves, links, what is left out, versions and the trash. */
import assert from 'node:assert/strict';
import { lutimes, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { suite, test } from 'node:test';
import { makeFile, User, upload, useService } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { assertError, type Device, type Outcome } from './device.ts';

const service = useService();

async function write(device: Device, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(device.path(path)), { recursive: true });
    await writeFile(device.path(path), content);
  }
}

const listed = async (device: Device, ...args: string[]) =>
  (await device.ok(['ls', '-R', ...args])).stdout.split('\n').filter((line) => line !== '');
const of = (outcome: Outcome, type: string, field: string) =>
  outcome.lines.filter((line) => line.type === type).map((line) => line[field]);

suite('szafa: one tree', { concurrency: 2 }, () => {
  const shared = useDevice(service);

  test('rm of a file that two arguments name removes it once', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await write(device, { 'a.txt': '1', 'b.txt': '2' });
    await device.ok(['put', 'a.txt', 'b.txt']);
    const removed = await device.ok(['rm', '*.txt', 'a.txt', '--json']);
    assert.deepEqual(of(removed, 'trashed', 'path').sort(), ['a.txt', 'b.txt']);
    for (const ids of of(removed, 'trashed', 'file_ids')) assert.equal((ids as string[]).length, 1);
    await device.ok(['put', 'a.txt', 'b.txt']);
    const gone = await device.ok(['rm', '--now', '--yes', '*.txt', 'a.txt', '--json']);
    assert.deepEqual(of(gone, 'removed', 'path').sort(), ['a.txt', 'b.txt']);
  });

  test('folders at any depth, with long names; files and folders move and get other names', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    const long = 'a folder whose name does not fit into what the server has for one';
    assertError(await device.run(['mkdir', 'box/in']), 1, /no folder "box"/, /mkdir -p box\/in/);
    await device.ok(['mkdir', '-p', 'box/in/deep', long]);
    assertError(await device.run(['mkdir', 'box/in']), 1, /"box\/in" already exists/);
    await write(device, { 'm/one': '1', 'm/two': 'zwei' });
    await device.ok(['put', 'm', '--dir', long]);
    await device.ok(['mv', `${long}/m/o*`, `${long}/m/two`, 'box/in']);
    await device.ok(['rename', 'box/in', 'out']);
    assert.deepEqual(await listed(device), [
      `${long}/`,
      `${long}/m/`,
      'box/',
      'box/out/',
      'box/out/deep/',
      'box/out/one',
      'box/out/two',
    ]);
    await device.ok(['cp', '-r', 'box/out', 'copy']);
    assertError(await device.run(['mv', 'copy/one', 'copy/two']), 1, /"copy\/two" already exists/, /--yes/);
    await device.ok(['mv', '--yes', 'copy/one', 'copy/two']);
    const [folder, moved] = (await device.ok(['ls', 'copy', '--json'])).lines;
    assert.equal(folder?.['path'], 'copy/deep', 'with what is empty');
    assert.deepEqual([moved?.['path'], moved?.['versions'], moved?.['size']], ['copy/two', 2, 1]);
    assert.equal((await device.ok(['cat', 'copy/two', 'box/out/two'])).stdout, '1zwei');
    assert.match(
      (await device.ok(['ls', '-l', 'copy'])).stdout,
      /^ +1 B {2}\S+ \S+ {2}[0-9a-f]{32} {2}two {2}\(2 versions\)$/m,
    );
    assert.match((await device.ok(['du'])).stdout, /^ +1 B {2}copy\/ {2}\(and 4 B of older versions\)$/m);
    assertError(await device.run(['mv', 'box', 'box/out']), 2, /cannot be moved into itself/);
  });

  test('symbolic links and empty folders come back as they were, and nothing goes through one', async () => {
    const { device } = shared;
    await write(device, { 'set/real/file': 'file' });
    await mkdir(device.path('set/empty/inner'), { recursive: true });
    await symlink('real/file', device.path('set/link'));
    await symlink('../..', device.path('set/real/up'));
    await symlink('/etc', device.path('set/etc'));
    await lutimes(device.path('set/link'), -100, -100);
    assert.deepEqual(of(await device.ok(['put', 'set', '--json']), 'uploaded', 'to').sort(), [
      'set/etc',
      'set/link',
      'set/real/file',
      'set/real/up',
    ]);
    const again = (await device.ok(['put', 'set', '--json'])).line('summary');
    assert.deepEqual([again['files'], again['skipped']], [0, 5]);
    await device.ok(['get', 'set', '--output', 'back']);
    // Not by a recursive readdir, which follows links.
    assert.deepEqual((await readdir(device.path('back/set'))).sort(), ['empty', 'etc', 'link', 'real']);
    assert.deepEqual(await readdir(device.path('back/set/empty')), ['inner']);
    assert.equal(await readlink(device.path('back/set/real/up')), '../..');
    assert.equal(await readlink(device.path('back/set/link')), 'real/file');
    assert.equal(await readlink(device.path('back/set/etc')), '/etc');
    assert.deepEqual(
      of(await device.ok(['get', 'set', '--output', 'back', '--json']), 'skipped', 'path').sort(),
      ['back/set/etc', 'back/set/link', 'back/set/real/file', 'back/set/real/up'],
    );
    assertError(await device.run(['cat', 'set/link']), 1, /is a symbolic link to real\/file/);
    await mkdir(device.path('trap'));
    await mkdir(device.path('elsewhere'));
    await symlink('../elsewhere', device.path('trap/real'));
    assertError(
      await device.run(['get', 'set/re*', '--output', 'trap']),
      1,
      /nothing is written through one/,
    );
    assert.deepEqual(await readdir(device.path('elsewhere')), []);
    // Of a plain name the list has only a part: the path is what the file says.
    await mkdir(device.path('shown/deep/own'), { recursive: true });
    await symlink('beside', device.path('shown/deep/own/link'));
    await device.ok(['put', 'shown', '--plain-names']);
    await device.ok(['get', 'shown', '--output', 'plain']);
    assert.deepEqual((await readdir(device.path('plain'), { recursive: true })).sort(), [
      'shown',
      'shown/deep',
      'shown/deep/own',
      'shown/deep/own/link',
    ]);
    await mkdir(device.path('trap/shown'));
    await symlink('../../elsewhere', device.path('trap/shown/deep'));
    await mkdir(device.path('elsewhere/own'));
    assertError(await device.run(['get', 'shown', '--output', 'trap']), 1, /nothing is written through one/);
    assert.deepEqual(await readdir(device.path('elsewhere'), { recursive: true }), ['own']);
  });

  test('what is left out stays here, and a dry run changes nothing on either side', async () => {
    const { device } = shared;
    await write(device, {
      'src/.szafaignore': '*.log\n',
      'src/a.c': 'a',
      'src/a.log': 'log',
      'src/node_modules/x.js': 'x',
    });
    const put = ['put', 'src', '--exclude', 'node_modules', '--json'];
    const dry = await device.ok([...put, '--dry-run']);
    assert.deepEqual(of(dry, 'planned', 'to'), ['src/.szafaignore', 'src/a.c']);
    assert.deepEqual(of(dry, 'note', 'path'), ['src/a.log', 'src/node_modules']);
    assertError(await device.run(['ls', 'src']), 1, /no file or folder "src"/);
    assert.equal((await device.ok(put)).line('note')['excluded'], 2);
    assert.deepEqual(await listed(device, 'src'), ['.szafaignore', 'a.c']);
    assert.match((await device.ok([...put.slice(0, -1), '--dry-run'])).stdout, /src\/a\.c is already there/);
    const planned = await device.ok(['get', 'src', '--output', 'none', '--dry-run', '--json']);
    // Several are looked at at once.
    assert.deepEqual(of(planned, 'planned', 'path').sort(), ['none/src/.szafaignore', 'none/src/a.c']);
    assert.ok(!(await readdir(device.home)).includes('none'));
    assert.deepEqual(of(await device.ok(['rm', '-r', 'src', '-n', '--json']), 'planned', 'path'), [
      'src/.szafaignore',
      'src/a.c',
    ]);
    assert.equal((await listed(device, 'src')).length, 2);
  });

  test('a changed file is a new version, is left alone, or goes beside the other', async () => {
    const { device } = shared;
    await write(device, { 'again/a.txt': 'one' });
    await device.ok(['put', 'again']);
    await write(device, { 'again/a.txt': 'other' });
    const skipped = (await device.ok(['put', 'again', '--skip-existing', '--json'])).line('skipped');
    assert.equal(skipped['by'], 'path');
    assert.deepEqual(of(await device.ok(['put', 'again', '--both', '--json']), 'uploaded', 'to'), [
      'again/a (2).txt',
    ]);
    assert.equal((await device.ok(['put', 'again', '--both', '--json'])).line('summary')['skipped'], 1);
    await device.ok(['put', 'again']);
    assert.deepEqual(of(await device.ok(['ls', 'again', '--json']), 'file', 'versions'), [1, 2]);
    assert.equal((await device.ok(['cat', 'again/a.txt'])).stdout, 'other');
  });

  test('versions are listed, restored and pruned', async () => {
    const { device } = shared;
    for (const [at, content] of ['first', 'second', 'third'].entries()) {
      await write(device, { thesis: content });
      await utimes(device.path('thesis'), 1e9 + at, 1e9 + at);
      await device.ok(['put', 'thesis']);
    }
    const versions = async () => (await device.ok(['versions', 'thesis', '--json'])).lines;
    const sizes = (await versions()).map(({ size }) => size);
    assert.deepEqual(sizes, [5, 6, 5]);
    const oldest = String((await versions())[2]!['file_id']);
    assert.equal((await device.ok(['cat', oldest])).stdout, 'first');
    await device.ok(['versions', 'restore', 'thesis', oldest.slice(0, 12)]);
    assert.equal((await device.ok(['cat', 'thesis'])).stdout, 'first');
    assertError(
      await device.run(['versions', 'restore', 'thesis', 'ffff']),
      1,
      /no version/,
      /szafa versions thesis/,
    );
    const prune = ['prune', 'thesis', '--keep', '2', '--json'];
    assert.equal((await device.ok([...prune, '--older', '1d'])).line('pruned')['versions'], 0);
    assert.equal(of(await device.ok([...prune, '--dry-run']), 'planned', 'action').length, 2);
    assert.equal((await device.ok(prune)).line('pruned')['versions'], 2);
    assert.deepEqual(
      (await versions()).map(({ size }) => size),
      [5, 5],
    );
  });

  test('the trash: nothing is lost before it is emptied, and what is final needs a yes', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await write(device, { 'p/a': 'a', 'p/b': 'b', 'p/in/c': 'c', d: 'd' });
    await device.ok(['put', 'p', 'd']);
    assertError(await device.run(['rm', 'p']), 1, /"p" is a folder/, /rm -r/);
    await device.ok(['rm', 'd', 'p/?']);
    assert.deepEqual(await listed(device), ['p/', 'p/in/', 'p/in/c']);
    await device.ok(['rm', '-r', 'p']);
    assert.deepEqual(await listed(device), []);
    assert.deepEqual(of(await device.ok(['trash', '--json']), 'trashed', 'path').sort(), [
      'd',
      'p/a',
      'p/b',
      'p/in/c',
    ]);
    await device.ok(['restore', 'p']);
    assert.deepEqual(await listed(device), ['p/', 'p/in/', 'p/in/c', 'p/a', 'p/b']);
    assert.equal((await device.ok(['cat', 'p/in/c'])).stdout, 'c');
    // The directory went with the folder, so these lie in the root; the next upload makes another directory, and still finds them.
    await write(device, { 'p/new': 'new' });
    await device.ok(['put', 'p']);
    assert.equal((await device.ok(['put', 'p', '--json'])).line('summary')['files'], 0);
    assertError(await device.run(['restore', 'none']), 1, /no file or folder "none"/);
    assertError(await device.run(['trash', 'empty']), 1, /nothing was deleted/, /--yes/);
    assert.equal((await device.ok(['trash', 'empty', '--yes', '--json'])).line('emptied')['files'], 1);
    assertError(await device.run(['rm', '--now', 'p/a']), 1, /nothing was deleted/, /--yes/);
    await device.ok(['rm', '-r', '--now', '--yes', 'p']);
    assert.deepEqual(await listed(device), []);
    // A folder of the first level with nothing in it is no file on the server, and is told all the same.
    await device.ok(['mkdir', 'hollow', 'too']);
    assert.match((await device.ok(['rm', '-r', '--now', '--yes', 'hollow'])).stdout, /^deleted hollow\/$/m);
    const gone = await device.ok(['rm', '-r', '--now', '--yes', 'too', '--json']);
    assert.deepEqual(gone.line('removed')['path'], 'too/');
    assert.deepEqual(await listed(device), []);
    assert.match((await device.ok(['trash'])).stderr, /the trash is empty/);
  });

  test('what does not prove what it is stays where it is, is told with its ID, and goes by that', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await write(device, { 'p/a': 'a', 'p/in/b': 'b', 'q/c': 'c' });
    await device.ok(['put', 'p', 'q']);
    const session = JSON.parse(await readFile(device.path('config/session.json'), 'utf8'));
    const user = new User(service, session.username, '', session.token);
    const { file_id: known } = (await device.ok(['ls', 'p/a', '--json'])).line('file');
    const records = (await user.get('/api/files')).json['files'] as { file_id: string; dir_id: number }[];
    const { dir_id } = records.find(({ file_id }) => file_id === known)!;
    // Headers that nobody can read: one alone, one beside a file that proves the same path.
    const broken = { szafa: 1, header: 'AAAA', mac: 'A'.repeat(43) };
    const put = (file_name: string) =>
      upload(user, makeFile([10], { file_name, enc_params: broken, dir_id }));
    const alone = (await put('alone')).fileId;
    const beside = (await put('a')).fileId;
    const now = ['rm', '-r', '--now', '--yes', 'p', 'q'];
    const dry = await device.run([...now, '--dry-run', '--json']);
    assert.deepEqual([dry.code, of(dry, 'planned', 'path').sort()], [3, ['p/a', 'p/in/b', 'q/c']]);
    const removed = await device.run(now);
    for (const id of [alone, beside]) {
      const hint = new RegExp(`szafa rm ${id} moves it to the trash`);
      assertError(removed, 3, new RegExp(`was kept: .* \\(${id}\\)`), hint);
    }
    // Where they were: their folder stays for them.
    assert.deepEqual((await device.ok(['ls', '-R', '--json'])).lines.map(({ path }) => path).sort(), [
      'p',
      'p/a',
      'p/alone',
    ]);
    assertError(await device.run(['rm', '--now', '--yes', alone]), 1, /was kept/);
    assertError(await device.run(['rm', 'p/alone']), 1, /was kept/);
    // Without --now it is the same: what is sound goes.
    await device.ok(['put', 'p']);
    assertError(await device.run(['rm', '-r', 'p']), 3, /2 of 4 items failed/);
    assert.match(
      (await device.ok(['rm', alone, beside])).stderr,
      new RegExp(`${alone} does not prove what it is`),
    );
    assert.deepEqual(of(await device.ok(['ls', '-R', '--json']), 'file', 'path'), []);
    assert.equal((await device.ok(['trash', '--json'])).lines.length, 4);
  });

  test('an empty folder counts as one that went, beside what is not there', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    for (const more of [[], ['--now', '--yes']]) {
      await device.ok(['mkdir', '-p', 'top', 'box/deep']);
      const rm = ['rm', '-r', 'top', 'box/deep', 'none', ...more];
      const dry = await device.run([...rm, '-n', '--json']);
      assert.deepEqual([dry.code, of(dry, 'planned', 'path').sort()], [3, ['box/deep/', 'top/']]);
      assertError(await device.run(rm), 3, /1 of 3 items failed/);
      assert.deepEqual(await listed(device), ['box/']);
    }
  });

  test('a shell completes paths on the server, and gets nothing where something is wrong', async () => {
    const { device } = shared;
    await write(device, { 'tab/with space/x': 'x', 'tab/without': 'y' });
    await device.ok(['put', 'tab']);
    const complete = async (kind: string, text: string, env = {}) =>
      (await device.ok(['complete', kind, text], { env })).stdout.split('\n').filter((line) => line !== '');
    assert.deepEqual(await complete('path', 'tab/wi'), ['tab/with space/', 'tab/without']);
    assert.deepEqual(await complete('path-folder', '/tab/'), ['/tab/with space/']);
    assert.deepEqual(await complete('path', 'no/such'), []);
    assert.deepEqual(await complete('path', '', { SZ_SERVER: 'http://127.0.0.1:1', SZ_TOKEN: 'x' }), []);
    assert.deepEqual(await complete('path', '', { SZ_CONFIG: device.path('no-session') }), []);
    assert.equal(await readFile(device.path('tab/without'), 'utf8'), 'y');
  });
});
