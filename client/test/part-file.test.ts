import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, link, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PartFile } from '../src/node/part-file.ts';

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

test('a link is not followed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-part-'));
  try {
    await symlink(join(folder, 'elsewhere'), join(folder, 'part'));
    assert.throws(() => new PartFile(join(folder, 'part'), 1), { code: 'ELOOP' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a file that waits there is taken only where it can be nobody else’s', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-part-'));
  const part = join(folder, 'part');
  try {
    await writeFile(part, 'from before');
    const file = new PartFile(part, 1);
    file.close();
    assert.equal(await readFile(part, 'utf8'), 'from before');
    await link(part, join(folder, 'a second name'));
    assert.throws(() => new PartFile(part, 1), { code: 'not-own' });
    await rm(join(folder, 'a second name'));
    if (process.geteuid?.() !== 0) return; // only root can make a file of somebody else
    await chown(part, 12_345, 12_345);
    assert.throws(() => new PartFile(part, 1), { code: 'not-own' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
