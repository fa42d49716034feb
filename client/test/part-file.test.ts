import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, link, lstat, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { localState } from '../src/node/files/local-state.ts';
import { PartFile } from '../src/node/transfers/part-file.ts';

const MIB = 1024 * 1024;

/** Of memory that begins at a page, and of memory that does not. */
function volumes(): Uint8Array[] {
  const page = (size: number) => new Uint8Array(new SharedArrayBuffer(size, { maxByteLength: size }));
  const made = [page(2 * MIB), page(MIB), new Uint8Array(MIB), page(3 * MIB).subarray(1), page(MIB + 4097)];
  for (const bytes of made) bytes.set(randomFillSync(Buffer.alloc(bytes.length)));
  return made;
}

for (const place of [tmpdir(), '/dev/shm'].filter((path) => existsSync(path))) {
  test(`${place}: volumes of all kinds stand where they belong, in whatever order they came`, async () => {
    const folder = await mkdtemp(join(place, 'szafa-part-'));
    try {
      const parts = volumes();
      const offsets = parts.map((_, at) => parts.slice(0, at).reduce((sum, { length }) => sum + length, 0));
      const path = join(folder, 'part');
      const file = new PartFile(path, 2 ** 24);
      await Promise.all(parts.map((bytes, at) => file.write(bytes, offsets[at]!)).reverse());
      file.close();
      assert.ok(Buffer.concat(parts).equals(await readFile(path)));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test('a new one is for its owner alone; a link or a file of ours that is in the way goes, unfollowed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-part-'));
  const [part, elsewhere] = [join(folder, 'part'), join(folder, 'elsewhere')];
  try {
    await writeFile(elsewhere, 'not yours');
    for (const resume of [true, false]) {
      await symlink(elsewhere, part);
      const file = new PartFile(part, 1, { resume });
      await file.write(Buffer.from('plain'), 0);
      file.close();
      assert.ok((await lstat(part)).isFile());
      assert.equal((await lstat(part)).mode & 0o777, 0o600);
      assert.equal(await readFile(elsewhere, 'utf8'), 'not yours');
      await rm(part);
    }
    await link(elsewhere, part);
    new PartFile(part, 1, { resume: true }).close();
    assert.equal(await readFile(part, 'utf8'), '', 'a second name of another file');
    assert.equal(await readFile(elsewhere, 'utf8'), 'not yours');
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    assert.throws(() => new PartFile(join(folder, 'pipe'), 1, { resume: true }), { code: 'not-own' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('what an earlier download left is gone on with only where it can be nobody else’s, and is closed to others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-part-'));
  const part = join(folder, 'part');
  try {
    await writeFile(part, 'from before', { mode: 0o666 });
    new PartFile(part, 1, { resume: true }).close();
    assert.equal(await readFile(part, 'utf8'), 'from before');
    assert.equal((await lstat(part)).mode & 0o777, 0o600);
    new PartFile(part, 1).close();
    assert.equal(await readFile(part, 'utf8'), '');
    if (process.geteuid?.() !== 0) return; // only root can make a file of somebody else
    await chown(part, 12_345, 12_345);
    for (const resume of [true, false]) {
      assert.throws(() => new PartFile(part, 1, { resume }), { code: 'not-own' });
    }
    assert.ok((await lstat(part)).isFile(), 'nothing of somebody else is removed');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a file counts as there already by its size and its time to the millisecond; a folder never does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-part-'));
  const path = join(folder, 'file');
  try {
    const sealed = { name: 'file', size: 4, rev: 1, gen: 1, added: 1 };
    const metadata = { ...sealed, mtime: 1_700_000_000_123 };
    assert.equal(localState(path, metadata), 'absent');
    await writeFile(path, 'four');
    await utimes(path, 1_700_000_000.123, 1_700_000_000.123);
    assert.equal(localState(path, metadata), 'same');
    assert.equal(localState(path, { ...metadata, size: 5 }), 'other');
    assert.equal(localState(path, { ...metadata, mtime: 1_700_000_000_124 }), 'other');
    assert.equal(localState(path, sealed), 'other');
    const { size, mtimeMs } = await lstat(folder);
    assert.equal(localState(folder, { ...sealed, size, mtime: Math.round(mtimeMs) }), 'other');
  } finally {
    await rm(folder, { recursive: true });
  }
});
