import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, constants, fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Volume } from '@szafa/protocol';
import { GroupGone } from '../errors.ts';
import { inParallel } from '../parallel.ts';
import type { Body } from './body.ts';
import { accountIdIn, DocumentStore, formatManifest } from './documents.ts';
import { ifMissing, syncFolder, writeDurably } from './durable.ts';
import { nameOf, newName } from './names.ts';
import { receive } from './receiver.ts';
import { SegmentPool } from './segments.ts';
import { Sender } from './sender.ts';
import type { Manifest, NoteName, OpenVolume, VolumeName, VolumePlace, VolumeStore } from './store.ts';

const ID = /^[0-9a-f]{32}$/;
/** Names made by `newProcessName`. */
const PROCESS = /^[0-9a-f]{12}$/;
const PREFIX = /^[0-9a-f]{2}$/;
/** Names made by `remove`. */
const REMOVED = /^[0-9a-f]{32}-[0-9a-f]{12}$/;
const RECLAIMED_AT_ONCE = 1000;
/** Enough for 32 uploads and 32 downloads at full speed. */
const POOL_SEGMENTS = 64;
/** Large, because that suits the disk. SEND_BYTES is smaller, so that bytes are still in the CPU cache when they are sent. */
const RECEIVE_BYTES = 1024 * 1024;
const SEND_BYTES = 512 * 1024;
const COPIES_AT_ONCE = 8;
const MANIFEST = 'manifest.json';
/** With `groupReads`, the group may read volumes whose names it knows. It may not list them, and documents stay private. */
const GROUP_FOLDER = 0o710;
const GROUP_VOLUME = 0o640;

export interface FolderOptions {
  /** Lets the group of this process read the volumes, and nothing else. */
  groupReads?: boolean;
}

/**
 * Volumes in a folder:
 *
 *     volumes/ab/<id>/<n>-<sha256>    the volumes of one group, from its first volume to deletion; 0 is the thumbnail
 *     volumes/ab/<id>/manifest.json   the file's record, written at complete
 *     accounts/<id>.json              the document of an account
 *     volumes/store-id, store-mark    the store's id, and which database used it last
 *     volumes/service-id              the server's id
 *     tmp/<process>/                  bodies that are arriving
 *     trash/                          groups that were removed
 *
 * Everything is on one filesystem, so that every change is a rename. Only this file knows the layout.
 *
 * Calls that only touch names (open, rename, mkdir) are synchronous: they take microseconds, less than a thread's round trip.
 * Calls that move bytes or wait for the disk are asynchronous.
 */
export class FolderStore extends DocumentStore implements VolumeStore {
  readonly removesAtOnce = true;
  readonly #root: string;
  readonly #groupReads: boolean;
  readonly #tmp: string;
  #tmpReady = false;
  readonly #receiving = new SegmentPool(POOL_SEGMENTS, RECEIVE_BYTES);
  readonly #sender = new Sender(new SegmentPool(POOL_SEGMENTS, SEND_BYTES));

  /** `process` must be unique among the processes that share the folder. */
  constructor(root: string, process: string, { groupReads = false }: FolderOptions = {}) {
    super({
      manifestPath: (id) => join(root, 'volumes', groupPath(id), MANIFEST),
      accountPath: (fileName) => join(root, 'accounts', fileName),
      notePath: (name) => join(root, 'volumes', name),
      read: (path) => readFile(path, 'utf8').catch(ifMissing(undefined)),
      write: (path, text) => replaceText(this.#newTemp(), path, text),
      remove: async (path) => {
        await rm(path, { force: true });
        await syncFolder(dirname(path)).catch(ifMissing(undefined));
      },
    });
    this.#root = root;
    this.#groupReads = groupReads;
    this.#tmp = join(root, 'tmp', process);
  }

  /** Creates the folders. Must run once before any process opens the store. */
  static async prepare(root: string, { groupReads = false }: FolderOptions = {}): Promise<void> {
    await mkdir(join(root, 'tmp'), { recursive: true, mode: 0o700 });
    await mkdir(join(root, 'trash'), { recursive: true, mode: 0o700 });
    await mkdir(join(root, 'accounts'), { recursive: true, mode: 0o700 });
    await Promise.all(
      Array.from({ length: 256 }, (_, byte) =>
        mkdir(join(root, 'volumes', byte.toString(16).padStart(2, '0')), { recursive: true, mode: 0o700 }),
      ),
    );
    if (groupReads) {
      const prefixes = (await readdir(join(root, 'volumes'))).filter((name) => PREFIX.test(name));
      for (const name of ['', ...prefixes]) await chmod(join(root, 'volumes', name), GROUP_FOLDER);
    }
    for (const folder of [join(root, 'volumes'), root, dirname(root)]) await syncFolder(folder);
  }

  /** Deletes the unfinished bodies of a process that has ended, or of all processes. Keeps files that are not the server's. */
  static async discardUnfinished(root: string, process?: string): Promise<void> {
    const tmp = join(root, 'tmp');
    const names =
      process === undefined ? (await readdir(tmp)).filter((name) => PROCESS.test(name)) : [process];
    for (const name of names) await rm(join(tmp, name), { recursive: true, force: true });
  }

  async create(): Promise<void> {
    // Nothing to do: the first volume creates the folder.
  }

  async put(id: string, volume: Volume, body: Body): Promise<void> {
    const folder = this.#groupFolder(id);
    const unfinished = this.#newTemp();
    // Created before the body arrives: a group removed in the meantime must not come back.
    this.#makeGroup(folder);
    try {
      await receive(unfinished, volume, body, this.#receiving);
      this.#place(unfinished, join(folder, newName(volume)));
      await Promise.all([syncFolder(folder), syncFolder(dirname(folder))]);
    } catch (error) {
      await rm(unfinished, { force: true });
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new GroupGone(id);
      throw error;
    }
  }

  /** Moves the volume aside before checking it, so that a volume arriving in the meantime is not affected. */
  async withdraw(
    id: string,
    named: VolumeName,
    isRight: (volume: OpenVolume) => Promise<boolean>,
  ): Promise<boolean> {
    const folder = this.#groupFolder(id);
    const place = join(folder, newName(named));
    const aside = this.#newTemp();
    if (!(await rename(place, aside).then(() => true, ifMissing(false)))) return true;
    let stays = true;
    try {
      const volume = this.#openFile(aside);
      stays = await isRight(volume).finally(() => volume.close());
      return !stays;
    } finally {
      if (stays) await link(aside, place).catch(unlessReplaced);
      await rm(aside, { force: true });
      await syncFolder(folder).catch(ifMissing(undefined));
    }
  }

  async putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void> {
    const folder = this.#groupFolder(manifest.file_id);
    const unfinished = this.#newTemp();
    try {
      await receive(unfinished, volume, body, this.#receiving);
      mkdirSync(folder, { mode: 0o700 });
      this.#openToGroup(folder, GROUP_FOLDER);
      this.#place(unfinished, join(folder, newName(volume)));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    await writeDurably(this.texts.manifestPath(manifest.file_id), formatManifest(manifest));
    await Promise.all([syncFolder(folder), syncFolder(dirname(folder))]);
  }

  async *accounts(): AsyncIterable<string> {
    for (const name of await readdir(join(this.#root, 'accounts')).catch(ifMissing([]))) {
      const id = accountIdIn(name);
      if (id !== undefined) yield id;
    }
  }

  async open(id: string, volume: VolumeName): Promise<OpenVolume | undefined> {
    const folder = this.#groupFolder(id);
    const name = nameOf(volume);
    if (name === undefined) return undefined;
    try {
      return this.#openFile(join(folder, name));
    } catch (error) {
      return ifMissing(undefined)(error as NodeJS.ErrnoException);
    }
  }

  locate(id: string, volume: Volume): VolumePlace {
    return { kind: 'folder', path: `${groupPath(id)}/${newName(volume)}`, size: volume.size };
  }

  #openFile(path: string): OpenVolume {
    const fd = openSync(path, constants.O_RDONLY);
    try {
      return {
        size: fstatSync(fd).size,
        send: (sink: Writable, start: number, end: number) => this.#sender.send(fd, sink, start, end),
        close: async () => closeSync(fd),
      };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async copy(from: string, to: string, volumes: Volume[]): Promise<void> {
    const source = this.#groupFolder(from);
    const target = this.#groupFolder(to);
    await mkdir(target, { mode: 0o700 });
    this.#openToGroup(target, GROUP_FOLDER);
    await inParallel(volumes.map(newName), COPIES_AT_ONCE, async (name) => {
      await copyFile(join(source, name), join(target, name), constants.COPYFILE_EXCL);
      await syncFolder(join(target, name));
    });
    await syncFolder(target);
    await syncFolder(dirname(target));
  }

  async remove(id: string): Promise<void> {
    const folder = this.#groupFolder(id);
    const aside = join(this.#root, 'trash', `${id}-${randomBytes(6).toString('hex')}`);
    const moved = await rename(folder, aside).then(() => true, ifMissing(false));
    // If the sync fails, a power cut may bring the group back as an orphan, which the sweeper reports.
    if (moved) await syncFolder(dirname(folder)).catch(() => undefined);
  }

  async reclaim(areFiles: (ids: string[]) => Promise<Set<string>>): Promise<void> {
    const trash = join(this.#root, 'trash');
    const names = (await readdir(trash)).filter((name) => REMOVED.test(name));
    for (let start = 0; start < names.length; start += RECLAIMED_AT_ONCE) {
      const some = names.slice(start, start + RECLAIMED_AT_ONCE);
      const kept = await areFiles(some.map(idOfRemoved));
      for (const name of some) {
        if (!kept.has(idOfRemoved(name))) await rm(join(trash, name), { recursive: true, force: true });
      }
    }
  }

  async *groups(after = ''): AsyncIterable<{ id: string; changedAt: number }> {
    const top = join(this.#root, 'volumes');
    for (const prefix of (await readdir(top).catch(ifMissing([]))).sort()) {
      if (!PREFIX.test(prefix) || prefix < after.slice(0, 2)) continue;
      for (const id of (await readdir(join(top, prefix))).sort()) {
        if (!ID.test(id) || id <= after) continue;
        const found = await stat(join(top, prefix, id)).catch(ifMissing(undefined));
        if (found) yield { id, changedAt: found.mtimeMs };
      }
    }
  }

  async hasManifest(id: string): Promise<boolean> {
    return stat(this.texts.manifestPath(id)).then(() => true, ifMissing(false));
  }

  override async writeNote(name: NoteName, text: string): Promise<void> {
    await mkdir(join(this.#root, 'volumes'), { recursive: true, mode: 0o700 });
    await super.writeNote(name, text);
  }

  async ping(): Promise<void> {
    await stat(join(this.#root, 'volumes'));
  }

  #groupFolder(id: string): string {
    return join(this.#root, 'volumes', groupPath(id));
  }

  #makeGroup(folder: string): void {
    const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (made !== undefined) this.#openToGroup(folder, GROUP_FOLDER);
  }

  /** Gives a complete volume its final name. */
  #place(unfinished: string, path: string): void {
    this.#openToGroup(unfinished, GROUP_VOLUME);
    renameSync(unfinished, path);
  }

  /** Needed because the umask removes all permissions of the group. */
  #openToGroup(path: string, mode: number): void {
    if (this.#groupReads) chmodSync(path, mode);
  }

  #newTemp(): string {
    if (!this.#tmpReady) mkdirSync(this.#tmp, { recursive: true, mode: 0o700 });
    this.#tmpReady = true;
    return join(this.#tmp, randomBytes(12).toString('hex'));
  }

  protected names(id: string): Promise<string[]> {
    return readdir(this.#groupFolder(id)).catch(ifMissing([]));
  }
}

async function replaceText(unfinished: string, path: string, text: string): Promise<void> {
  try {
    await writeDurably(unfinished, text);
    renameSync(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** The path of a group below the volumes folder. */
function groupPath(id: string): string {
  if (!ID.test(id)) throw new TypeError('not the id of a volume group');
  return `${id.slice(0, 2)}/${id}`;
}

const idOfRemoved = (name: string) => name.slice(0, 32);

/** Ignores the error if the volume has arrived again or the whole group was removed. */
function unlessReplaced(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error;
}
