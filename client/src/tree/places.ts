/** Where the service files what lies at a path: its directories are one level deep, and have the first part of the path as their name. */
import { cleanDirName } from '@szafa/protocol';
import type { CallOptions } from '../api/api.ts';
import type { OpenContext } from '../download/remote-file.ts';
import { SzafaError } from '../errors.ts';
import { sealDirName } from '../format/names.ts';
import { type DirEntry, listDirEntries } from '../listing.ts';
import { checkPath, dirNameOf, joinPath } from './paths.ts';

/** A path, and the directory it is filed in; null is the root. */
export interface Place {
  path: string;
  dirId: number | null;
}

/** What a caller says of a place: the path, or a name below a directory. */
export interface Wanted {
  path?: string | undefined;
  name?: string | undefined;
  dirId?: number | null | undefined;
  plainName?: boolean | undefined;
}

type DirOptions = CallOptions & { plain?: boolean | undefined };

/** The directories of one account, looked up once until somebody lists them again. */
export class Places {
  readonly #context: OpenContext;
  #known: Promise<DirEntry[]> | undefined;
  readonly #making = new Map<string, Promise<number>>();

  constructor(context: OpenContext) {
    this.#context = context;
  }

  async list(options?: CallOptions): Promise<DirEntry[]> {
    const { api } = this.#context;
    const dirs = await listDirEntries(this.#context, await api.listDirs(options), options?.signal);
    this.#known = Promise.resolve(dirs);
    return dirs;
  }

  /** The directory of this name; of a sealed and a plain one with the same name, the sealed one. */
  async find(name: string, options?: CallOptions): Promise<DirEntry | undefined> {
    return called(await this.list(options), name);
  }

  /** A new directory under a sealed name; `plain` shows the name to the service. */
  async make(name: string, { plain, signal }: DirOptions = {}): Promise<number> {
    const { api, engine, keys } = this.#context;
    const text = plain ? name : await sealDirName(engine, (await keys.current(signal)).key, name);
    const { dir_id } = await api.createDir(text, { signal });
    this.#known = undefined;
    return dir_id;
  }

  /** The directory of this name, made when it is not there; another device may win the race. */
  async ensure(name: string, options: DirOptions = {}): Promise<number> {
    const found = await this.find(name, options);
    if (found) return found.dirId;
    try {
      return await this.make(name, options);
    } catch (error) {
      const now =
        error instanceof SzafaError && error.code === 'api' ? await this.find(name, options) : undefined;
      if (!now) throw error;
      return now.dirId;
    }
  }

  /** What is in it lies in the root then. */
  async remove(dirId: number, options?: CallOptions): Promise<void> {
    this.#known = undefined;
    await this.#context.api.deleteDir(dirId, options);
  }

  /** Where a path is filed, in a directory that is made when it is not there. */
  async of(path: string, { plain, signal }: DirOptions = {}): Promise<number | null> {
    const first = dirNameOf(path);
    if (first === undefined) return null;
    const name = plain ? cleanDirName(first) : first;
    const known = called(await unlessAborted(this.#lookUp(), signal), name);
    if (known) return known.dirId;
    // Thousands of files may be on their way to a directory that none of them has found.
    const making = this.#making.get(name) ?? this.ensure(name, { plain });
    this.#making.set(name, making);
    const end = () => this.#making.delete(name);
    making.then(end, end);
    return unlessAborted(making, signal);
  }

  async place({ path, name, dirId, plainName }: Wanted, signal?: AbortSignal): Promise<Place> {
    if (path !== undefined) {
      return { path: checkPath(path), dirId: await this.of(path, { plain: plainName, signal }) };
    }
    if (name === undefined) throw new TypeError('a path is needed');
    if (!dirId) return { path: name, dirId: null };
    const dir = (await this.#nameOf(dirId, signal)) ?? '';
    return { path: joinPath(dir, name), dirId };
  }

  async #nameOf(dirId: number, signal?: AbortSignal): Promise<string | undefined> {
    const named = (dirs: DirEntry[]) => dirs.find((dir) => dir.dirId === dirId)?.name;
    return named(await unlessAborted(this.#lookUp(), signal)) ?? named(await this.list({ signal }));
  }

  /** Without a signal: many wait for one answer. */
  #lookUp(): Promise<DirEntry[]> {
    const known = this.#known ?? this.list();
    this.#known = known;
    known.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known;
  }
}

function called(dirs: DirEntry[], name: string): DirEntry | undefined {
  const found = dirs.filter((dir) => dir.name === name);
  return found.find((dir) => dir.verified) ?? found[0];
}

/** Waits for what others wait for as well; who gives up leaves it to them. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
