/** `get` gives back what `put` took: every test compares two trees as `find` shows them, and their bytes. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Szafa } from '@szafa/client';
import { filePages } from '../../client/src/files/calls.ts';
import { useService, usually } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { assertError, Device } from './device.ts';
import { assertSame, kinds, make, touch } from './exact-tree.ts';

const service = useService();

/** Everything that the server has of the account, as it lists it: a header that was sealed again has another name there. */
async function records(device: Device): Promise<string[]> {
  const session = JSON.parse(readFileSync(join(device.env['SZ_CONFIG']!, 'session.json'), 'utf8'));
  const szafa = await Szafa.open(
    { server: session.server },
    { username: session.username, token: session.token },
  );
  const all = (await Array.fromAsync(filePages(szafa.api, 'listFiles'))).flat();
  return all.map(({ file_id, file_name }) => `${file_id} ${file_name}`).sort();
}

suite('szafa: exact restores', () => {
  const shared = useDevice(service);

  /** Another device of the same account. */
  async function otherDevice(stack: AsyncDisposableStack): Promise<Device> {
    const { device } = shared;
    const other = await Device.make(service.url, { SZ_USER: device.env['SZ_USER']! });
    stack.defer(() => other.remove());
    mkdirSync(other.env['SZ_CONFIG']!, { mode: 0o700 });
    const session = (of: Device) => join(of.env['SZ_CONFIG']!, 'session.json');
    copyFileSync(session(device), session(other));
    return other;
  }

  for (const kind of Object.keys(kinds)) {
    test(`${kind} come back as they were`, async () => {
      const { device } = shared;
      const source = make(device.path(`kinds/${kind}`), kind);
      await device.ok(['put', source]);
      await device.ok(['get', kind, '--output', 'back']);
      assertSame(device.path(`back/${kind}`), source);
    });
  }

  test('a whole tree on another device, again with nothing to do, moved and copied on the server', {
    skip: usually('for test:long', false),
  }, async () => {
    await using stack = new AsyncDisposableStack();
    const { device } = shared;
    const other = await otherDevice(stack);
    const source = device.path('whole');
    mkdirSync(source);
    for (const kind of Object.keys(kinds)) make(join(source, kind), kind);
    const first = await device.ok(['put', 'whole', '--json']);
    const folders = first.lines.filter(({ type }) => type === 'folder').map(({ to }) => to);
    assert.deepEqual(folders, ['whole/folders/empty/'], 'one that is not empty is no item');
    await other.ok(['get', 'whole']);
    assertSame(other.path('whole'), source);
    const before = await records(device);
    const again = await device.ok(['put', 'whole', '--json']);
    assert.equal(again.line('summary')['files'], 0);
    assert.deepEqual(await records(device), before, 'nothing was uploaded, and no header sealed again');
    assert.equal((await other.ok(['get', 'whole', '--json'])).line('summary')['files'], 0);
    assertSame(other.path('whole'), source);
    await device.ok(['mv', 'whole', 'moved/deep']);
    await other.ok(['get', 'moved/deep', '--output', 'far']);
    assertSame(other.path('far/deep'), source);
    await device.ok(['cp', '-r', 'moved/deep', 'copied']);
    // Together as well: a copy is no other name of what it is a copy of.
    await other.ok(['get', 'copied', 'moved', '--output', 'both']);
    assertSame(other.path('both/copied'), source);
    assertSame(other.path('both/moved/deep'), source);
  });

  test('only a mode, a time or a name that was added: nothing is uploaded again', async () => {
    const { device } = shared;
    const at = (name: string) => device.path(`small/${name}`);
    mkdirSync(at('in'), { recursive: true });
    for (const name of ['in/file', 'plain']) writeFileSync(at(name), name);
    symlinkSync('file', at('in/link'));
    await device.ok(['put', 'small']);
    const before = await records(device);
    chmodSync(at('in'), 0o700);
    chmodSync(at('plain'), 0o600);
    touch('2001-01-01T00:00:00.000000007Z', at('in/link'), '-h');
    linkSync(at('in/file'), at('in/same'));
    touch('2000-01-01T00:00:00.000000009Z', at('in'));
    const again = await device.ok(['put', 'small', '--json']);
    assert.deepEqual(
      again.lines.flatMap(({ type, to }) => (type === 'uploaded' ? [to] : [])),
      ['small/in/same'],
    );
    const after = await records(device);
    assert.equal(after.length, before.length + 1, 'the new name');
    const ids = (all: string[]) => all.map((line) => line.slice(0, 32));
    assert.ok(
      ids(before).every((id) => ids(after).includes(id)),
      'no new version',
    );
    await device.ok(['get', 'small', '--output', 'resealed']);
    assertSame(device.path('resealed/small'), device.path('small'));
    // And names that are two files by now.
    rmSync(at('in/same'));
    writeFileSync(at('in/same'), 'in/file');
    execFileSync('touch', ['-r', at('in/file'), at('in/same')]);
    touch('2000-01-01T00:00:00.000000009Z', at('in'));
    await device.ok(['put', 'small']);
    await device.ok(['get', 'small', '--output', 'parted']);
    assertSame(device.path('parted/small'), device.path('small'));
  });

  test('what is kept of a folder is no entry of its own, goes with the folder and comes back with it', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    mkdirSync(device.path('d/e'), { recursive: true });
    for (const name of ['d/a', 'd/e/b']) writeFileSync(device.path(name), 'x');
    chmodSync(device.path('d'), 0o700);
    await device.ok(['put', 'd']);
    const shown = async (...args: string[]) =>
      (await device.ok([...args, '--json'])).lines.map(({ path }) => path).sort();
    assert.deepEqual(await shown('ls', '-R'), ['d', 'd/a', 'd/e', 'd/e/b']);
    assert.deepEqual(await shown('find', '*'), ['d', 'd/a', 'd/e', 'd/e/b']);
    assert.equal((await device.ok(['du', '--json', 'd/e'])).line('usage')['files'], 1);
    const { link, files } = (await device.ok(['share', 'd', '--json'])).line('link');
    assert.equal(files, 2);
    await device.ok(['get', String(link), '--output', 'shared']);
    assert.deepEqual((await readdir(device.path('shared'), { recursive: true })).sort(), [
      'd',
      'd/a',
      'd/e',
      'd/e/b',
    ]);
    assert.equal(
      statSync(device.path('shared/d')).mode & 0o777,
      0o777 & ~process.umask(),
      'its mode is not given away',
    );
    await device.ok(['rm', '-r', 'd']);
    assert.deepEqual(await records(device), []);
    assert.deepEqual(await shown('trash'), ['d/a', 'd/e/b']);
    assert.deepEqual(await shown('restore', 'd/a'), ['d/a']);
    await device.ok(['get', 'd', '--output', 'one']);
    assert.equal(statSync(device.path('one/d')).mode & 0o777, 0o700);
    assert.deepEqual(await shown('trash'), ['d/e/b']);
    assert.equal((await device.ok(['trash', 'empty', '--yes', '--json'])).line('emptied')['files'], 1);
    assert.match((await device.ok(['trash'])).stderr, /the trash is empty/);
    // The last file of a folder goes alone, as on a disk.
    await device.ok(['rm', 'd/a']);
    assert.deepEqual(await shown('ls', '-R'), ['d']);
    assert.deepEqual(await shown('rm', '-r', '--now', '--yes', 'd'), ['d/']);
    assert.deepEqual(await records(device), []);
  });

  test('a private folder is closed until it is whole, also where get was killed, and one that was there stays as it is', {
    skip: usually('for test:long', false),
  }, async () => {
    const { device } = shared;
    mkdirSync(device.path('safe/inner'), { recursive: true });
    writeFileSync(device.path('safe/inner/file'), randomBytes(4_000_000));
    chmodSync(device.path('safe/inner/file'), 0o644);
    chmodSync(device.path('safe'), 0o755);
    await device.ok(['put', 'safe', '--volume-size', '256K']);
    const modeOf = (path: string) => (statSync(device.path(path)).mode & 0o7777).toString(8);
    const get = device.start(['get', 'safe', '--output', 'slow', '--bwlimit', '768K', '--json']);
    await get.moved(1_000_000);
    assert.deepEqual([modeOf('slow/safe'), modeOf('slow/safe/inner')], ['1700', '1700']);
    get.child.kill('SIGKILL');
    await get.ended;
    await device.ok(['get', 'safe', '--output', 'slow']);
    assertSame(device.path('slow/safe'), device.path('safe'));
    mkdirSync(device.path('there/safe'), { recursive: true });
    chmodSync(device.path('there/safe'), 0o700);
    await device.ok(['get', 'safe', '--output', 'there']);
    assert.deepEqual([modeOf('there/safe'), modeOf('there/safe/inner')], ['700', '755']);
  });

  test('nothing is written through a link of one’s own, in the same run or in a later one', async () => {
    const { device } = shared;
    mkdirSync(device.path('a/way'), { recursive: true });
    mkdirSync(device.path('b/way/out'), { recursive: true });
    mkdirSync(device.path('outside'));
    symlinkSync(device.path('outside'), device.path('a/way/out'));
    writeFileSync(device.path('b/way/out/file'), 'x');
    await device.ok(['put', 'a/way']);
    await device.ok(['get', 'way']);
    assert.equal(readlinkSync(device.path('way/out')), device.path('outside'));
    await device.ok(['put', 'b/way']);
    // Both are there now: the link, and a folder of its name.
    const again = await device.run(['get', 'way']);
    assertError(again, 3, /nothing is written through one/);
    const together = await device.run(['get', 'way', '--output', 'together', '--yes']);
    assertError(together, 3, /together\/way\/out is a folder/, /move the folder away/);
    assert.deepEqual(await readdir(device.path('outside')), []);
    assert.deepEqual(await readdir(device.path('together/way/out')), ['file']);
  });

  test('of somebody else names are cleaned and links lead nowhere else, and many problems are few lines', async () => {
    const { device } = shared;
    mkdirSync(device.path('gift'));
    for (let number = 0; number < 30; number++) symlinkSync('/etc/passwd', device.path(`gift/to${number}`));
    for (const name of ['...', 'a\nb', 'c\\d', 'e\u202ef']) writeFileSync(device.path(`gift/${name}`), name);
    await device.ok(['put', 'gift']);
    const { link } = (await device.ok(['share', 'gift', '--json'])).line('link');
    const got = await device.run(['get', String(link), '--output', 'theirs']);
    assertError(
      got,
      3,
      /27 more items have the same problem as .* \(link-outside\): 30 in all/,
      /ask its owner/,
    );
    assert.ok(got.stderr.trimEnd().split('\n').length < 20, got.stderr);
    const names = (await readdir(device.path('theirs'), { recursive: true })).sort();
    assert.deepEqual(names, ['gift', 'gift/a\ufffdb', 'gift/c_d', 'gift/e\ufffdf']);
  });

  test('a terminal sees nothing of what is in names', async () => {
    const { device } = shared;
    const { stdout, stderr } = await device.ok(['get', 'names', '--output', 'quiet']);
    assert.doesNotMatch(stdout + stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b\uef80-\uefff]/);
  });
});
