/** What other processes and earlier files do to the folder that `get` writes to: nothing outside of it changes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { useDevice } from './account.ts';
import { assertSame, touch } from './exact-tree.ts';

const service = useService();
const TIME = '2020-01-01T00:00:00Z';

suite('szafa get: attacks on the folder that it writes to', () => {
  const shared = useDevice(service);

  test('a name is never linked to a file that was there before', async () => {
    const { device } = shared;
    const FILES = 10;
    for (const folder of ['names/a', 'names/b', 'names/c', 'found/names/a', 'found/names/c']) {
      mkdirSync(device.path(folder), { recursive: true });
    }
    // Whichever folder is restored first.
    const foundIn = (i: number) => (i % 2 === 0 ? 'a' : 'c');
    const write = (path: string, text: string, mode: number) => {
      writeFileSync(device.path(path), text);
      chmodSync(device.path(path), mode);
      touch(TIME, device.path(path));
    };
    for (let i = 0; i < FILES; i++) {
      write(`names/a/${i}`, 'good', 0o600);
      for (const folder of ['b', 'c'])
        linkSync(device.path(`names/a/${i}`), device.path(`names/${folder}/${i}`));
      // The same size and time, and other bytes, which anyone may read and write.
      write(`found/names/${foundIn(i)}/${i}`, 'evil', 0o666);
    }
    await device.ok(['put', 'names']);
    await device.ok(['get', 'names', '--output', 'found']);
    for (let i = 0; i < FILES; i++) {
      const stats = (folder: string) => statSync(device.path(`found/names/${folder}/${i}`));
      assert.equal(stats(foundIn(i)).nlink, 1);
      assert.equal(readFileSync(device.path(`found/names/b/${i}`), 'utf8'), 'good');
      assert.equal(stats('b').mode & 0o777, 0o600);
      assert.equal(stats('b').ino, stats(foundIn(i + 1)).ino, 'those that get wrote are one file');
    }
  });

  test('a folder that is replaced by a link during get: nothing behind the link changes', async () => {
    const { device } = shared;
    mkdirSync(device.path('tree/inner'), { recursive: true });
    writeFileSync(device.path('tree/big'), randomBytes(4_000_000));
    writeFileSync(device.path('tree/inner/small'), 'x');
    symlinkSync('small', device.path('tree/inner/link'));
    chmodSync(device.path('tree/inner'), 0o777);
    await device.ok(['put', 'tree', '--volume-size', '256K']);
    mkdirSync(device.path('victim/inner'), { recursive: true });
    chmodSync(device.path('victim/inner'), 0o700);
    touch(TIME, device.path('victim/inner'));
    const before = statSync(device.path('victim/inner'), { bigint: true });
    const get = device.start(['get', 'tree', '--output', 'to', '--bwlimit', '768K', '--json']);
    await get.until('inner/small', (text) => /"downloaded".*inner\/small/.test(text));
    renameSync(device.path('to/tree'), device.path('to/away'));
    symlinkSync(device.path('victim'), device.path('to/tree'));
    const got = await get.ended;
    assert.equal(got.code, 3, got.stdout);
    assert.ok(
      got.lines.some(({ type, code }) => type === 'error' && code === 'through-link'),
      got.stdout,
    );
    assert.deepEqual(readdirSync(device.path('victim'), { recursive: true }), ['inner']);
    const after = statSync(device.path('victim/inner'), { bigint: true });
    assert.deepEqual(
      [after.mode, after.mtimeNs, after.ctimeNs],
      [before.mode, before.mtimeNs, before.ctimeNs],
    );
    assert.equal(statSync(device.path('to/away/inner')).mode & 0o7777, 0o1700, 'it stays closed');
    await device.ok(['get', 'tree', '--output', 'again']);
    assertSame(device.path('again/tree'), device.path('tree'));
  });
});
