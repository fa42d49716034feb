/** The server's directories. They are one level deep, and correspond to the first part of each path. */
import { sealDirName } from '@szafa/format';
import { cleanDirName } from '@szafa/protocol';
import type { CallOptions } from '../call.ts';
import { ApiError, SzafaError } from '../errors.ts';
import { unlessAborted } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { type DirEntry, listDirEntries } from './listing.ts';
import { dirNameOf } from './paths.ts';

type DirOptions = CallOptions & { plain?: boolean | undefined };

/** The directories of one account, cached until the next list. */
export class Directories {
  readonly #context: OpenContext;
  #known: Promise<DirEntry[]> | undefined;
  readonly #making = new Map<string, Promise<number>>();

  constructor(context: OpenContext) {
    this.#context = context;
  }

  async list(options?: CallOptions): Promise<DirEntry[]> {
    const { api } = this.#context;
    const dirs = await listDirEntries(
      this.#context,
      (await api.call('listDirs', { ...options })).dirs,
      options?.signal,
    );
    this.#known = Promise.resolve(dirs);
    return dirs;
  }

  /** Creates a directory under a sealed name; `plain` shows the name to the server. */
  async make(name: string, { plain, signal }: DirOptions = {}): Promise<number> {
    const { api, engine, keys } = this.#context;
    const text = plain ? name : await sealDirName(engine, (await keys.current(signal)).key, name);
    const { dir_id } = await api.call('createDir', { body: { name: text }, signal });
    this.#known = undefined;
    return dir_id;
  }

  /** Returns the directory of this name, creating it if needed. Another device may create it at the same time. */
  async ensure(name: string, options: DirOptions = {}): Promise<number> {
    const found = called(await this.list(options), name);
    if (found) return found.dirId;
    try {
      return await this.make(name, options);
    } catch (error) {
      const isRefused = error instanceof SzafaError && error.code === 'api';
      const now = isRefused ? called(await this.list(options), name) : undefined;
      if (!now) throw error;
      return now.dirId;
    }
  }

  /** Removes a directory; its files move to the root. Does nothing if another device has removed it. */
  async remove(dirId: number, options?: CallOptions): Promise<void> {
    this.#known = undefined;
    await this.#context.api
      .call('deleteDir', { params: { dir_id: dirId }, ...options })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      });
  }

  /** Returns the directory for a path, creating it if needed; null is the root. */
  async ensureFor(path: string, { plain, signal }: DirOptions = {}): Promise<number | null> {
    const first = dirNameOf(path);
    if (first === undefined) return null;
    const name = plain ? cleanDirName(first) : first;
    const known = called(await unlessAborted(this.#lookUp(), signal), name);
    if (known) return known.dirId;
    // Thousands of uploads may need the same new directory at once, so they share one request.
    const making = this.#making.get(name) ?? this.ensure(name, { plain });
    this.#making.set(name, making);
    const end = () => this.#making.delete(name);
    making.then(end, end);
    return unlessAborted(making, signal);
  }

  /** Takes no signal because many callers share the answer. */
  #lookUp(): Promise<DirEntry[]> {
    const known = this.#known ?? this.list();
    this.#known = known;
    known.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known;
  }
}

/** Prefers a sealed directory to a plain one of the same name. */
function called(dirs: DirEntry[], name: string): DirEntry | undefined {
  const found = dirs.filter((dir) => dir.name === name);
  return found.find((dir) => dir.verified) ?? found[0];
}
