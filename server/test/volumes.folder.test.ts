import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderStore } from '../src/platform/volumes/folder.ts';
import { newName } from '../src/platform/volumes/names.ts';
import type { Manifest } from '../src/platform/volumes/store.ts';
import { volumesContract } from './volumes.contract.ts';
import { bodyOf, Collector, newId, type VolumeEngine, volumeOf } from './volumes.fixture.ts';

const groupFolder = (root: string, id: string) => join(root, 'volumes', id.slice(0, 2), id);

async function folderIn(place: string): Promise<VolumeEngine> {
  const root = await mkdtemp(join(place, 'szafa-volumes-'));
  await FolderStore.prepare(root);
  return {
    open: async (process) => new FolderStore(root, process),
    leftovers: async () => {
      const entries = await readdir(join(root, 'tmp'), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    },
    destroy: () => rm(root, { recursive: true, force: true }),
  };
}

volumesContract('a folder', () => folderIn(tmpdir()));
// Memory differs from a disk: older kernels have no O_DIRECT there.
if (process.platform === 'linux') volumesContract('a folder in memory (tmpfs)', () => folderIn('/dev/shm'));

let root = '';
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'szafa-volumes-'));
  await FolderStore.prepare(root);
});
after(() => rm(root, { recursive: true, force: true }));

/** Descriptors of this process that point below the folder. */
function openFiles(): string[] {
  const found: string[] = [];
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      if (target.startsWith(root)) found.push(target);
    } catch (error) {
      // The descriptor by which the list was read is gone by now.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return found;
}

test('no descriptor stays open, whatever goes wrong', async () => {
  const store = new FolderStore(root, 'fd');
  const bytes = randomBytes(2_000_000);
  const volume = volumeOf(bytes);
  const id = newId();
  await store.create();
  await store.put(id, volume, bodyOf(bytes));
  await assert.rejects(store.put(id, volume, bodyOf(bytes.subarray(5))));
  await assert.rejects(store.put(id, volume, bodyOf(Buffer.concat([bytes, bytes]))));
  const copied = newId();
  await store.copy(id, copied, [volume]);
  await assert.rejects(store.copy(id, copied, [volume]));
  const open = (await store.open(id, volume))!;
  assert.equal(openFiles().length, 1);
  const sink = new Collector();
  sink.destroy();
  await assert.rejects(open.send(sink, 0, open.size));
  await open.close();
  assert.deepEqual(openFiles(), []);
});

test('a volume that was cut behind the back of the service is an error, not a short answer', async () => {
  const store = new FolderStore(root, 'cut');
  const bytes = randomBytes(500_000);
  const volume = volumeOf(bytes);
  const id = newId();
  await store.create();
  await store.put(id, volume, bodyOf(bytes));
  const open = (await store.open(id, volume))!;
  await truncate(join(groupFolder(root, id), newName(volume)), 100_000);
  await assert.rejects(open.send(new Collector(), 0, open.size), { name: 'ShortVolume' });
  await open.close();
});

test('unfinished bodies are discarded for one process or for all', async () => {
  const [a, b] = ['a'.repeat(12), 'b'.repeat(12)];
  for (const process of [a, b, 'of-others']) {
    const store = new FolderStore(root, process);
    await store.put(newId(), volumeOf(randomBytes(1)), bodyOf(randomBytes(1))).catch(() => undefined);
    await writeFile(join(root, 'tmp', process, 'unfinished'), 'x');
  }
  await FolderStore.discardUnfinished(root, a);
  assert.equal(existsSync(join(root, 'tmp', a)), false);
  assert.equal(existsSync(join(root, 'tmp', b, 'unfinished')), true);
  await FolderStore.discardUnfinished(root);
  assert.equal(existsSync(join(root, 'tmp', b)), false);
  assert.equal(existsSync(join(root, 'tmp', 'of-others', 'unfinished')), true, 'no process of ours made it');
  await FolderStore.prepare(root);
});

test('a search for groups that goes on leaves none out, also where two lie side by side', async () => {
  const place = join(root, 'search');
  await FolderStore.prepare(place);
  const store = new FolderStore(place, 'search');
  const ids = ['aa1', 'aa2', 'ab1'].map((start) => start.padEnd(32, '0'));
  for (const id of ids) await store.put(id, volumeOf(Buffer.alloc(1)), bodyOf(Buffer.alloc(1)));
  for (const [at, after] of ['', ...ids].entries()) {
    assert.deepEqual(await Array.fromAsync(store.groups(after), ({ id }) => id), ids.slice(at));
  }
});

test('a folder for unfinished bodies that could not be made is made the next time', async () => {
  const store = new FolderStore(root, 'late');
  const bytes = randomBytes(10);
  const put = () => store.put(newId(), volumeOf(bytes), bodyOf(bytes));
  await rm(join(root, 'tmp'), { recursive: true });
  await writeFile(join(root, 'tmp'), 'in the way');
  await assert.rejects(put());
  await rm(join(root, 'tmp'));
  await put();
});

test('nobody else on the machine can read volumes or documents', async () => {
  const store = new FolderStore(root, 'mode');
  const bytes = randomBytes(10);
  const id = newId();
  const volume = volumeOf(bytes);
  await store.put(id, volume, bodyOf(bytes));
  await store.writeManifest({ file_id: id, volumes: [volume] } as Manifest);
  for (const path of ['.', newName(volume), 'manifest.json']) {
    assert.equal((await stat(join(groupFolder(root, id), path))).mode & 0o077, 0, path);
  }
  for (const path of ['tmp', 'trash', 'volumes', 'volumes/00']) {
    assert.equal((await stat(join(root, path))).mode & 0o077, 0, path);
  }
});

test('a copy that fails has ended when it says so', async () => {
  const store = new FolderStore(root, 'copy');
  const bytes = randomBytes(10);
  const [from, to] = [newId(), newId()];
  const volumes = Array.from({ length: 200 }, (_, at) => volumeOf(bytes, at + 1));
  for (const volume of volumes) await store.put(from, volume, bodyOf(bytes));
  const names = volumes.map(newName);
  // No file can be copied to its place; the others would go on for a while.
  await rm(join(groupFolder(root, from), names[100]!));
  await mkdir(join(groupFolder(root, from), names[100]!));
  await assert.rejects(store.copy(from, to, volumes));
  const copied = await readdir(groupFolder(root, to));
  assert.ok(copied.length < 190, 'it went on');
  await sleep(300);
  assert.deepEqual(await readdir(groupFolder(root, to)), copied);
});
