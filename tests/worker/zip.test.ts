/** Zips, as the page's worker writes them, opened by a program that others wrote. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Packer } from '../../web/src/core/tasks.worker.ts';
import { type ZipEntry, ZipPaths, zip } from '../../web/src/transfers/zip/zip.worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'szafa-zip-'));
after(() => rmSync(folder, { recursive: true }));

const SOME_TIME = Date.UTC(2019, 6, 3, 12, 34, 56);

function entry(path: string, content: Uint8Array, mtime = SOME_TIME, piece = 1000): ZipEntry {
  return {
    path,
    size: content.length,
    mtime,
    async *pieces() {
      // Each piece in the same memory, as downloads have it.
      const memory = new Uint8Array(piece);
      for (let at = 0; at < content.length; at += piece) {
        const part = content.subarray(at, at + piece);
        memory.set(part);
        yield memory.subarray(0, part.length);
        memory.fill(0xee);
      }
    },
  };
}

async function written(name: string, entries: Iterable<ZipEntry>): Promise<string> {
  const path = join(folder, name);
  const parts: Uint8Array[] = [];
  for await (const piece of zip(entries)) parts.push(piece.slice());
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

test('what is in a zip comes out as it was: bytes, names, times, empty folders', async () => {
  const large = randomBytes(3_000_001);
  const path = await written('all.zip', [
    entry('large.bin', large, SOME_TIME, 65_536),
    entry('żółw/日本 (2).txt', Buffer.from('a turtle')),
    entry('empty', Buffer.alloc(0), Date.UTC(1960, 1, 1)),
    entry('a folder/', Buffer.alloc(0)),
    entry('late', Buffer.from('x'), Date.UTC(2200, 1, 1)),
  ]);
  const out = join(folder, 'out');
  execFileSync('unzip', ['-q', path, '-d', out], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  const found = readdirSync(out, { recursive: true, encoding: 'utf8' }).sort();
  assert.deepEqual(found, ['a folder', 'empty', 'large.bin', 'late', 'żółw', 'żółw/日本 (2).txt']);
  assert.ok(large.equals(readFileSync(join(out, 'large.bin'))));
  assert.equal(readFileSync(join(out, 'żółw/日本 (2).txt'), 'utf8'), 'a turtle');
  assert.equal(statSync(join(out, 'empty')).size, 0);
  assert.equal(statSync(join(out, 'large.bin')).mtimeMs, SOME_TIME);
  assert.equal(statSync(join(out, 'large.bin')).mode & 0o777, 0o644);
  assert.match(execFileSync('unzip', ['-t', path], { encoding: 'utf8' }), /No errors detected/);
});

test('a file that fails, or is not as long as it was said, ends the zip before its directory', async () => {
  const failing: ZipEntry = {
    ...entry('bad', Buffer.alloc(5000)),
    async *pieces() {
      yield new Uint8Array(1000);
      throw new Error('volume 2 was changed');
    },
  };
  const short: ZipEntry = { ...entry('short', Buffer.alloc(10)), size: 11 };
  for (const [wrong, said] of [
    [failing, /volume 2 was changed/],
    [short, /10 bytes of a file of 11/],
  ] as const) {
    const parts: Uint8Array[] = [];
    const writing = async () => {
      for await (const piece of zip([entry('good', Buffer.from('good')), wrong])) parts.push(piece.slice());
    };
    await assert.rejects(writing, said);
    const path = join(folder, 'broken.zip');
    writeFileSync(path, Buffer.concat(parts));
    const { status, stdout, stderr } = spawnSync('unzip', ['-t', path], { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stdout + stderr, /End-of-central-directory signature not found/);
  }
});

test('paths stay below the top, can be written on every system, and none is there twice', () => {
  const paths = new ZipPaths();
  for (const [path, inside] of [
    ['a.txt', 'a.txt'],
    ['a.txt', 'a (2).txt'],
    ['A.TXT', 'A (3).TXT'],
    ['../../etc/passwd', 'etc/passwd'],
    ['/x\\y', 'x_y'],
    ['a.txt/inner', 'a.txt (2)/inner'],
    ['a.txt/other', 'a.txt (2)/other'],
    ['Etc/shadow', 'Etc (2)/shadow'],
    ['etc/', 'etc/'],
    ['etc', 'etc (3)'],
    ['what?<now>.', 'what__now__'],
    ['con.txt', '_con.txt'],
    ['.hidden', '.hidden'],
    ['..', 'unnamed'],
    ['e\u0301', 'e\u0301'],
    ['\u00e9', '\u00e9 (2)'],
    // Some disks take the long s for an s.
    ['s', 's'],
    ['\u017f/x', '\u017f (2)/x'],
    // Others a large sharp s for a small one, or do not see what nobody sees.
    ['\u00df', '\u00df'],
    ['\u1e9e', '\u1e9e (2)'],
    ['seen', 'seen'],
    ['se\ufe0fen', 'se\ufe0fen (2)'],
    ['NUL .txt', '_NUL .txt'],
    ['com\u00b9', '_com\u00b9'],
  ] as const) {
    assert.equal(paths.of(path), inside, path);
  }
});

test('a link names thousands of files alike, or gives them paths without end: each gets one of its own, soon, that fits', async () => {
  const paths = new ZipPaths();
  const began = process.cpuUsage();
  const alike = Array.from({ length: 10_000 }, (_, at) => paths.of(at % 2 ? 'Same.txt' : 'same.txt'));
  assert.equal(new Set(alike.map((path) => path.toLowerCase())).size, 10_000);
  assert.equal(alike.at(-1), 'Same (10000).txt');
  const deep = `${'a/'.repeat(20_000)}f`;
  const long = `${`${'x'.repeat(255)}/`.repeat(400)}f`;
  for (const path of [deep, deep, long, `${long}/`]) {
    const inside = paths.of(path);
    assert.ok(Buffer.byteLength(inside) < 5_000, `${Buffer.byteLength(inside)} bytes`);
    assert.equal(paths.of(path) === inside, path.endsWith('/'));
  }
  const { user, system } = process.cpuUsage(began);
  // A tenth of it; where each name is looked for from the first number on, it is five times as much.
  assert.ok(user + system < 10_000_000, `${(user + system) / 1e6} s`);
});

test('names as long as a disk has them are unpacked, however many are alike', async () => {
  const paths = new ZipPaths();
  const long = 'x'.repeat(251);
  const names = [
    `${long}.txt`,
    `${long}.TXT`,
    `X${long.slice(1)}.txt`,
    `con.${long}`,
    `${long}y/in`,
    `${long}Y/in`,
  ];
  const inside = names.map((name) => paths.of(name));
  const path = await written(
    'long.zip',
    inside.map((name, at) => entry(name, Buffer.from(names[at]!))),
  );
  const out = join(folder, 'long');
  execFileSync('unzip', ['-q', path, '-d', out]);
  assert.deepEqual(
    inside.map((name) => readFileSync(join(out, name), 'utf8')),
    names,
  );
  // Whoever makes them up is not the one who waits.
  const ends = Array.from({ length: 3_000 }, (_, at) => `${'y'.repeat(250)}${String(at).padStart(5, '0')}`);
  const all = [...ends, ...ends].map((name) => paths.of(name));
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.every((name) => Buffer.byteLength(name) <= 255));
  // Nor is a dot last that was in the middle.
  const dotted = `${'z'.repeat(244)}.and more`;
  assert.equal([dotted, dotted].map((name) => paths.of(name))[1], `${'z'.repeat(244)}_ (2)`);
});

test('small pieces are packed together, large ones are parted', async () => {
  async function* pieces() {
    for (const size of [1, 2, 30, 0, 5]) yield new Uint8Array(size).fill(size);
  }
  const packer = new Packer(pieces());
  const memory = new Uint8Array(16);
  const filled: number[] = [];
  const seen: number[] = [];
  for (let count = await packer.fill(memory); count > 0; count = await packer.fill(memory)) {
    filled.push(count);
    seen.push(...memory.subarray(0, count));
  }
  assert.deepEqual(filled, [16, 16, 6]);
  assert.deepEqual(seen, [1, 2, 2, ...new Array(30).fill(30), ...new Array(5).fill(5)]);
});
