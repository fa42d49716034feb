import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../../platform/parallel.ts';
import { type Body, streamBody } from '../../platform/volumes/body.ts';

const WORK = '.pull-';
const NUMBER = /^[1-9]\d*$/;
const CHECKS_AT_ONCE = 64;
const FILE_ID = /^[0-9a-f]{32}$/;

/** The folders into which pulls download volumes: one for each transfer, named by its file id. */
export class LandingFolders {
  readonly #top: string;

  constructor(dataFolder: string) {
    this.#top = join(dataFolder, 'landing');
  }

  path(fileId: string): string {
    return join(this.#top, fileId);
  }

  async create(fileId: string): Promise<string> {
    await mkdir(this.path(fileId), { recursive: true, mode: 0o700 });
    return this.path(fileId);
  }

  /** Retries, because several processes may delete the folder, and the download tool may still write to it for a moment. */
  remove(fileId: string): Promise<void> {
    return rm(this.path(fileId), { recursive: true, force: true, maxRetries: 5 });
  }

  /** The file ids that have a folder. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#top).catch(() => [] /* there has been no pull */);
    // Other names were not created by the server.
    return names.filter((name) => FILE_ID.test(name));
  }

  /** Opens the file only when it is read: an error of a stream without a reader would end the process. */
  volume(fileId: string, idx: number): Body {
    const path = join(this.path(fileId), String(idx));
    return {
      async pour(sink) {
        const bytes = createReadStream(path, { highWaterMark: 1024 * 1024 });
        await streamBody(bytes)
          .pour(sink)
          .finally(() => bytes.destroy());
      },
    };
  }

  removeVolume(fileId: string, idx: number): Promise<void> {
    return rm(join(this.path(fileId), String(idx)), { force: true });
  }
}

/**
 * The landing folder of one transfer. The tool works in a subfolder; a complete volume is moved up and named by its number.
 * So a file named by a number is complete, in any process and after any crash.
 */
export class Landing {
  readonly landed = new Set<number>();
  /** The subfolder in which the tool works. */
  work = '';
  readonly #folder: string;
  readonly #sizes: ReadonlyMap<number, number>;

  private constructor(folder: string, sizes: ReadonlyMap<number, number>) {
    this.#folder = folder;
    this.#sizes = sizes;
  }

  /** Counts the bytes of complete volumes left by an earlier pull, without changing anything. */
  static async bytes(folder: string, volumes: { idx: number; size: number }[]): Promise<number> {
    const sizes = new Map(volumes.map(({ idx, size }) => [idx, size]));
    const landing = new Landing(folder, sizes);
    let bytes = 0;
    await inParallel(await readdir(folder), CHECKS_AT_ONCE, async (name) => {
      const complete = NUMBER.test(name) && (await landing.#isComplete(join(folder, name), Number(name)));
      if (complete) bytes += sizes.get(Number(name))!;
    });
    return bytes;
  }

  /** Keeps the complete volumes of an earlier pull and removes the rest. */
  static async open(folder: string, sizes: ReadonlyMap<number, number>): Promise<Landing> {
    const landing = new Landing(folder, sizes);
    await inParallel(await readdir(folder), CHECKS_AT_ONCE, async (name) => {
      const file = join(folder, name);
      const isVolume = NUMBER.test(name);
      if (isVolume && (await landing.#isComplete(file, Number(name)))) landing.landed.add(Number(name));
      else if (isVolume || name.startsWith(WORK)) await rm(file, { recursive: true, force: true });
    });
    landing.work = await mkdtemp(join(folder, WORK));
    return landing;
  }

  /** Moves up a file that the tool has finished; false if it does not have the declared size. */
  async accept(idx: number): Promise<boolean> {
    const file = join(this.work, String(idx));
    if (this.landed.has(idx) || !(await this.#isComplete(file, idx))) return false;
    await rename(file, join(this.#folder, String(idx)));
    this.landed.add(idx);
    return true;
  }

  /** Accepts every finished file except these. */
  async acceptAll(except: ReadonlySet<number>): Promise<void> {
    const names = new Set(await readdir(this.work));
    for (const name of names) {
      if (!NUMBER.test(name) || names.has(`${name}.aria2`) || except.has(Number(name))) continue;
      await this.accept(Number(name));
    }
  }

  async close(): Promise<void> {
    await rm(this.work, { recursive: true, force: true });
  }

  async #isComplete(file: string, idx: number): Promise<boolean> {
    const info = await stat(file).catch(() => null); // missing: not complete
    return info?.isFile() === true && info.size === this.#sizes.get(idx);
  }
}
