import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../../platform/parallel.ts';
import { type Body, StreamBody } from '../../platform/volumes/body.ts';

const WORK = '.pull-';
const NUMBER = /^[1-9]\d*$/;
const LOOKS_AT_ONCE = 64;
const FILE_ID = /^[0-9a-f]{32}$/;

/** The folders where volumes of pulls land, one for each file that a transfer is to become. */
export class LandingFolders {
  readonly #top: string;

  constructor(dataFolder: string) {
    this.#top = join(dataFolder, 'landing');
  }

  of(fileId: string): string {
    return join(this.#top, fileId);
  }

  async make(fileId: string): Promise<string> {
    await mkdir(this.of(fileId), { recursive: true, mode: 0o700 });
    return this.of(fileId);
  }

  /** Several processes may delete it, and the download tool may still write there for a moment. */
  remove(fileId: string): Promise<void> {
    return rm(this.of(fileId), { recursive: true, force: true, maxRetries: 5 });
  }

  /** The files that something landed for. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#top).catch(() => [] /* nothing has ever landed */);
    // The others were named by somebody else.
    return names.filter((name) => FILE_ID.test(name));
  }

  /** Opened when it is read: an error of a stream that nobody reads yet would end the process. */
  volume(fileId: string, idx: number): Body {
    const path = join(this.of(fileId), String(idx));
    return {
      async pour(sink) {
        const bytes = createReadStream(path, { highWaterMark: 1024 * 1024 });
        await new StreamBody(bytes).pour(sink).finally(() => bytes.destroy());
      },
    };
  }

  removeVolume(fileId: string, idx: number): Promise<void> {
    return rm(join(this.of(fileId), String(idx)), { force: true });
  }
}

/**
 * The folder where volumes land. The tool works in a folder of its own inside it; a volume moves up, under its
 * number, when its file is whole. So what carries a number is whole, in any process and after any crash.
 */
export class Landing {
  readonly landed = new Set<number>();
  readonly #folder: string;
  readonly #sizes: ReadonlyMap<number, number>;
  #work = '';

  private constructor(folder: string, sizes: ReadonlyMap<number, number>) {
    this.#folder = folder;
    this.#sizes = sizes;
  }

  /** How many bytes an earlier pull left whole; changes nothing. */
  static async bytes(folder: string, volumes: { idx: number; size: number }[]): Promise<number> {
    const sizes = new Map(volumes.map(({ idx, size }) => [idx, size]));
    const landing = new Landing(folder, sizes);
    let bytes = 0;
    await landing.#look(async (name) => {
      const whole = NUMBER.test(name) && (await landing.#isWhole(join(folder, name), Number(name)));
      if (whole) bytes += sizes.get(Number(name))!;
    });
    return bytes;
  }

  /** Finds what an earlier pull left whole and removes the rest. */
  static async open(folder: string, sizes: ReadonlyMap<number, number>): Promise<Landing> {
    const landing = new Landing(folder, sizes);
    await landing.#look((name) => landing.#inspect(name));
    landing.#work = await mkdtemp(join(folder, WORK));
    return landing;
  }

  async #look(at: (name: string) => Promise<void>): Promise<void> {
    await inParallel(await readdir(this.#folder), LOOKS_AT_ONCE, at);
  }

  /** Where the tool works. */
  get work(): string {
    return this.#work;
  }

  /** Takes over a file that the tool has finished; false when its size is not that of its spec. */
  async settle(idx: number): Promise<boolean> {
    const file = join(this.#work, String(idx));
    if (this.landed.has(idx) || !(await this.#isWhole(file, idx))) return false;
    await rename(file, join(this.#folder, String(idx)));
    this.landed.add(idx);
    return true;
  }

  /** Takes over every finished file that is still there, but for some. */
  async settleAll(except: ReadonlySet<number>): Promise<void> {
    const names = new Set(await readdir(this.#work));
    for (const name of names) {
      if (!NUMBER.test(name) || names.has(`${name}.aria2`) || except.has(Number(name))) continue;
      await this.settle(Number(name));
    }
  }

  async close(): Promise<void> {
    await rm(this.#work, { recursive: true, force: true });
  }

  async #inspect(name: string): Promise<void> {
    const file = join(this.#folder, name);
    if (NUMBER.test(name)) {
      if (await this.#isWhole(file, Number(name))) this.landed.add(Number(name));
      else await rm(file, { recursive: true, force: true });
    } else if (name.startsWith(WORK)) {
      await rm(file, { recursive: true, force: true });
    }
  }

  async #isWhole(file: string, idx: number): Promise<boolean> {
    const info = await stat(file).catch(() => null); // not there: not whole
    return info?.isFile() === true && info.size === this.#sizes.get(idx);
  }
}
