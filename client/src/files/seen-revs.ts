import { type SzafaError, TamperedError } from '../errors.ts';

/** Stores the highest `rev` of each renamed file of an account, by file id. @public */
export interface RevStore {
  load(): Promise<ReadonlyMap<string, number>>;
  /** Adds to the stored revs; keeps the higher of two values. */
  save(revs: ReadonlyMap<string, number>): Promise<void>;
}

/** @public */
export interface RevStores {
  of(username: string): RevStore;
}

interface Listed {
  fileId: string;
  age?: { rev: number };
  problem?: SzafaError;
}

/** Detects a server that returns an earlier name of a file. */
export class SeenRevs {
  readonly #store: RevStore | undefined;
  #seen: Promise<Map<string, number>> | undefined;

  constructor(store: RevStore | undefined) {
    this.#store = store;
  }

  /** Returns an error if a later `rev` of the file was seen. */
  async check(fileId: string, rev: number): Promise<TamperedError | undefined> {
    return older(await this.#load(), fileId, rev);
  }

  /** Sets `problem` of entries that are older than before, and remembers the revs of the others. */
  async see(entries: Listed[]): Promise<void> {
    const seen = await this.#load();
    const later = new Map<string, number>();
    for (const entry of entries) {
      const { fileId, age } = entry;
      if (!age || age.rev === (seen.get(fileId) ?? 1)) continue;
      const problem = older(seen, fileId, age.rev);
      if (problem) entry.problem = problem;
      else later.set(fileId, age.rev);
    }
    await this.#remember(seen, later);
  }

  /** Remembers the new revs of files that this device renamed. */
  async note(revs: ReadonlyMap<string, number>): Promise<void> {
    const seen = await this.#load();
    await this.#remember(seen, new Map([...revs].filter(([fileId, rev]) => rev > (seen.get(fileId) ?? 1))));
  }

  async #remember(seen: Map<string, number>, later: Map<string, number>): Promise<void> {
    if (later.size === 0) return;
    for (const [fileId, rev] of later) seen.set(fileId, rev);
    // A store that cannot be written must not block access to the files; this session still remembers.
    await this.#store?.save(later).catch(() => {});
  }

  #load(): Promise<Map<string, number>> {
    this.#seen ??= (async () => new Map((await this.#store?.load().catch(() => undefined)) ?? []))();
    return this.#seen;
  }
}

function older(seen: ReadonlyMap<string, number>, fileId: string, rev: number): TamperedError | undefined {
  const highest = seen.get(fileId) ?? 1;
  if (rev >= highest) return undefined;
  return new TamperedError(
    'rev',
    `the name of this file is an older one (${rev}, ${highest} was seen before)`,
  );
}
