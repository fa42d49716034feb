import type { Metadata } from '../metadata.ts';
import { TryLater } from '../platform/http/api-error.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';

/** How long a process relies on the last known mode. A command that changes the mode waits until all processes have seen it. */
export const MODE_MS = 1_000;
const RETRY_SECONDS = 60;

export const readOnly = () => new TryLater(503, 'the server is read-only for now', RETRY_SECONDS);

/** Reads the mode from the database each time, for work that takes longer than a request. */
export async function requireWritable({ store }: Pick<Metadata, 'store'>): Promise<void> {
  if ((await store.get()).readOnlyAt !== null) throw readOnly();
}

/** Whether the server is read-only. Operators set this in the database; every process reads it at most once a second. */
export class Mode {
  readonly #metadata: Metadata;
  readonly #now: () => number;
  #readOnly = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<boolean> | undefined;

  constructor(metadata: Metadata, now: () => number = () => performance.now()) {
    this.#metadata = metadata;
    this.#now = now;
  }

  async isReadOnly(): Promise<boolean> {
    if (this.#now() - this.#readAt < MODE_MS) return this.#readOnly;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async requireWritable(): Promise<void> {
    if (await this.isReadOnly()) throw readOnly();
  }

  async #read(): Promise<boolean> {
    // Taken before the query, because the result may be that old.
    const at = this.#now();
    this.#readOnly = (await this.#metadata.store.get()).readOnlyAt !== null;
    this.#readAt = at;
    return this.#readOnly;
  }
}

/**
 * Methods that a read-only server may call: all that only read, `discard`, which cleans up after a refusal, and `writeNote`,
 * which only the start and the sweeper call. All other methods are guarded.
 */
const ALWAYS: ReadonlySet<string | symbol> = new Set<keyof VolumeStore>([
  ...(['received', 'list', 'open', 'locate', 'groups', 'manifest', 'hasManifest'] as const),
  ...(['account', 'accounts', 'readNote', 'writeNote', 'discard', 'ping'] as const),
]);
/** Methods whose last argument is a body, which they store under its final name once it is complete. */
const UPLOADS: ReadonlySet<string | symbol> = new Set<keyof VolumeStore>(['put', 'putFile']);

/**
 * Wraps the store for processes that serve requests: while the server is read-only, nothing is written to it or removed from
 * it.
 */
export function guarded(volumes: VolumeStore, mode: Mode): VolumeStore {
  // A request that began before the server became read-only is also refused: after its body has arrived, before it gets its
  // final name.
  const checked = (body: Body): Body => ({
    pour: async (sink) => {
      await body.pour(sink);
      await mode.requireWritable();
    },
  });
  const guard = (name: string | symbol, call: (...args: unknown[]) => unknown) => {
    if (ALWAYS.has(name)) return call;
    if (UPLOADS.has(name))
      return (...args: unknown[]) => call(...args.slice(0, -1), checked(args.at(-1) as Body));
    return async (...args: unknown[]) => {
      await mode.requireWritable();
      return call(...args);
    };
  };
  /** Guarded methods by the original method, since tests replace methods. */
  const methods = new Map<unknown, unknown>();
  return new Proxy(volumes, {
    get: (_, name) => {
      const found: unknown = Reflect.get(volumes, name);
      if (typeof found !== 'function') return found;
      if (!methods.has(found)) methods.set(found, guard(name, found.bind(volumes)));
      return methods.get(found);
    },
  });
}
