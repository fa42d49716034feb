import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ZipEntry, zip } from '../../web/src/transfers/zip/zip.worker.ts';

const MIB = 1024 * 1024;
const ZEROS = new Uint8Array(MIB);

async function written(path: string, entries: Iterable<ZipEntry>): Promise<void> {
  const file = await open(path, 'w');
  let position = 0;
  for await (const piece of zip(entries)) {
    // A hole reads as zeros, and takes no disk.
    if (piece !== ZEROS) await file.write(piece, 0, piece.length, position);
    position += piece.length;
  }
  await file.close();
}

test('a file beyond 4 GiB in a zip, and one behind it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-zip-'));
  t.after(() => rm(folder, { recursive: true }));
  const size = 4097 * MIB;
  const large: ZipEntry = {
    path: 'large',
    size,
    mtime: 0,
    async *pieces() {
      for (let at = 0; at < size; at += MIB) yield ZEROS;
    },
  };
  const behind: ZipEntry = {
    path: 'behind',
    size: 5,
    mtime: 0,
    async *pieces() {
      yield Buffer.from('after');
    },
  };
  const path = join(folder, 'large.zip');
  await written(path, [large, behind]);
  assert.match(
    execFileSync('unzip', ['-l', path], { encoding: 'utf8' }),
    new RegExp(`\\b${size}\\b.* large`),
  );
  assert.equal(execFileSync('unzip', ['-p', path, 'behind'], { encoding: 'utf8' }), 'after');
  assert.match(execFileSync('unzip', ['-t', path], { encoding: 'utf8' }), /No errors detected/);
});

test('more files than two bytes can count', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-zip-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'many.zip');
  async function* pieces() {}
  const entries = Array.from({ length: 66_000 }, (_, at) => ({ path: `${at}`, size: 0, mtime: 0, pieces }));
  await written(path, entries);
  assert.match(execFileSync('zipinfo', ['-t', path], { encoding: 'utf8' }), /^66000 files, 0 bytes/);
});
