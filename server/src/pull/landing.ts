import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const WORK = '.pull-';
const NUMBER = /^[1-9]\d*$/;
const BATCH = 64;

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
    const names = await readdir(this.#folder);
    for (let start = 0; start < names.length; start += BATCH) {
      await Promise.all(names.slice(start, start + BATCH).map(at));
    }
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
