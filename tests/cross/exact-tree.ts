/** Trees with everything that `get` has to give back, and how two of them are compared: as `find` shows them, and by their bytes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const find = (folder: string, ...what: string[]) =>
  execFileSync('find', ['.', ...what], { cwd: folder, encoding: 'latin1', maxBuffer: 2 ** 26 })
    .split('\0')
    .sort();

/** Which names are one file. */
function namesOfOne(folder: string): string[][] {
  const all = find(folder, '-type', 'f', '-links', '+1', '-printf', '%i/%P\\0').filter((line) => line !== '');
  const groups = Map.groupBy(all, (line) => line.split('/', 1)[0]);
  return [...groups.values()].map((some) => some.map((line) => line.replace(/^\d+/, ''))).sort();
}

function bytesOf(folder: string): string {
  const script = 'find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum -z';
  return execFileSync('sh', ['-c', script], { cwd: folder, encoding: 'latin1', maxBuffer: 2 ** 26 });
}

/** Type, mode, time, number of names, size, blocks and target of all but folders; their bytes; then the folders, whose sizes depend on their past. */
export function assertSame(actual: string, expected: string): void {
  const others = ['!', '-type', 'd', '-printf', '%P\t%y %m %T@ %n %s %b %l\\0'];
  assert.deepEqual(find(actual, ...others), find(expected, ...others));
  assert.equal(bytesOf(actual), bytesOf(expected));
  assert.deepEqual(namesOfOne(actual), namesOfOne(expected));
  const folders = ['-type', 'd', '-printf', '%P\t%y %m %T@\\0'];
  assert.deepEqual(find(actual, ...folders), find(expected, ...folders));
}

/** Bytes as the name of a file; `touch` takes what Node cannot say exactly. */
const named = (folder: string, name: string | Uint8Array) =>
  Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name as string)]);
export const touch = (time: string, path: string, ...more: string[]) =>
  execFileSync('touch', [...more, '-d', time, path]);

/** What makes a folder of each kind, which is there and empty. */
export const kinds: Record<string, (folder: string) => void> = {
  folders(at) {
    for (const [name, mode] of [
      ['private', 0o700],
      ['read-only', 0o555],
      ['empty', 0o711],
      ['private/deep/deeper', 0o770],
      ['shared', 0o2775],
      ['everybodys', 0o1777],
    ] as const) {
      mkdirSync(join(at, name), { recursive: true });
      if (name !== 'empty') writeFileSync(join(at, name, 'file'), name);
      chmodSync(join(at, name), mode);
      touch('2024-03-05T06:07:08.123456789Z', join(at, name));
    }
    touch('1969-12-31T23:59:58.000000001Z', join(at, 'private'));
  },
  times(at) {
    for (const [name, time] of Object.entries({
      exact: '2026-11-18T04:50:11.987654321Z',
      half: '2026-11-18T04:50:11.000500000Z',
      early: '1901-12-31T01:02:03.999999999Z',
      late: '2200-01-01T00:00:00.000000001Z',
      whole: '2020-01-01T00:00:00Z',
    })) {
      writeFileSync(join(at, name), name);
      touch(time, join(at, name));
    }
    writeFileSync(join(at, 'large'), Buffer.alloc(1_500_000, 'x'));
    touch('2026-11-18T04:50:11.123456789Z', join(at, 'large'));
  },
  links(at) {
    mkdirSync(join(at, 'folder'));
    writeFileSync(join(at, 'folder/file'), 'x');
    for (const [name, target] of Object.entries({
      outside: '/etc/passwd',
      up: '../../../lib',
      dangling: 'nowhere',
      inside: 'folder/file',
      back: 'folder/../../x',
      itself: 'itself',
      odd: 'a\nb\x1b[31m',
      'folder/top': '/',
    })) {
      symlinkSync(target, join(at, name));
      touch('2023-01-02T03:04:05.678901234Z', join(at, name), '-h');
    }
    symlinkSync(Buffer.of(0x2f, 0xff, 0xfe), join(at, 'bytes'));
  },
  names(at) {
    for (const name of [
      ...['...', '....', '..a', ' ', '\n', 'a\nb', 'tab\t', '\x1b[31mred', 'del\x7f', 'back\\slash'],
      ...['\u202etxt.exe', 'zero\u200bwidth', '\ufffd', '\uef80\uefff', 'q?*:"<>|', 'n'.repeat(255)],
    ]) {
      writeFileSync(join(at, name), name);
      mkdirSync(join(at, `dir${name.slice(0, 200)}`));
      writeFileSync(join(at, `dir${name.slice(0, 200)}`, name), name);
    }
    mkdirSync(join(at, '.....'));
    writeFileSync(join(at, '.....', 'f'), 'x');
  },
  bytes(at) {
    for (const bytes of [
      [0xff],
      [0xfe],
      [0x61, 0xe9, 0x62],
      [0xc3, 0x28],
      [0xed, 0xa0, 0x80],
      [0xef, 0xbf],
    ]) {
      writeFileSync(named(at, Buffer.from(bytes)), Buffer.from(bytes));
      const inner = Buffer.concat([named(at, 'd'), Buffer.from(bytes)]);
      mkdirSync(inner);
      writeFileSync(Buffer.concat([inner, Buffer.of(0x2f, ...bytes)]), 'in');
      writeFileSync(Buffer.concat([inner, Buffer.from('/large')]), Buffer.alloc(1_200_000, 'y'));
    }
  },
  holes(at) {
    const sparse = (name: string, size: string, ...blocks: number[]) => {
      execFileSync('truncate', ['-s', size, join(at, name)]);
      for (const block of blocks) {
        execFileSync(
          'dd',
          [`of=${join(at, name)}`, 'if=/dev/urandom', 'bs=4096', 'count=1', `seek=${block}`, 'conv=notrunc'],
          { stdio: 'ignore' },
        );
      }
    };
    sparse('middle', '40M', 5_000);
    sparse('ends', '20000001', 0, 4_882);
    sparse('nothing', '9M');
    sparse('small', '100K', 3);
    writeFileSync(join(at, 'zeros'), Buffer.alloc(300_000));
  },
  hardlinks(at) {
    mkdirSync(join(at, 'sub'));
    writeFileSync(join(at, 'one'), 'one');
    writeFileSync(join(at, 'sub/big'), Buffer.alloc(2_000_000, 'b'));
    for (const name of ['two', 'sub/three']) linkSync(join(at, 'one'), join(at, name));
    linkSync(join(at, 'sub/big'), join(at, 'big too'));
    writeFileSync(join(at, 'alone'), 'one');
  },
};

export function make(folder: string, kind: string): string {
  mkdirSync(folder, { recursive: true });
  kinds[kind]!(folder);
  chmodSync(folder, 0o750);
  touch('2022-02-02T02:02:02.222222222Z', folder);
  return folder;
}
