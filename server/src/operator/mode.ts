import type { Metadata } from '../metadata.ts';
import { TryLater } from '../platform/http/api-error.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';

/** How long a process goes on with what it knew; whoever changes the mode waits until all have seen it. */
export const MODE_MS = 1_000;
const RETRY_SECONDS = 60;

export const readOnly = () => new TryLater(503, 'the server is read-only for now', RETRY_SECONDS);

/** As the database has it at this moment, for work that takes longer than a request. */
export async function requireWritable({ store }: Pick<Metadata, 'store'>): Promise<void> {
  if ((await store.get()).readOnlyAt !== null) throw readOnly();
}

/**
 * Whether the service is read-only. An operator says so in the database, and every process of every node looks there, at
 * most once a second.
 */
export class Mode {
  readonly #metadata: Metadata;
  readonly #now: () => number;
  #readOnly = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<boolean> | undefined;

  constructor(metadata: Metadata, now: () => number = () => performance.now()) {
    this.#metadata = metadata;
    this.#now = now;
  }

  async isReadOnly(): Promise<boolean> {
    if (this.#now() - this.#lookedAt < MODE_MS) return this.#readOnly;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async requireWritable(): Promise<void> {
    if (await this.isReadOnly()) throw readOnly();
  }

  async #look(): Promise<boolean> {
    // What was true when the question was asked.
    const at = this.#now();
    this.#readOnly = (await this.#metadata.store.get()).readOnlyAt !== null;
    this.#lookedAt = at;
    return this.#readOnly;
  }
}

/**
 * The store as it is for whoever serves requests: nothing is written to it or removed from it while the service is read-only.
 * A request that began before ends here too, after its body and before what it sent gets its name.
 */
export function guarded(volumes: VolumeStore, mode: Mode): VolumeStore {
  const writable = async <T>(change: () => Promise<T>): Promise<T> => {
    await mode.requireWritable();
    return change();
  };
  const checked = (body: Body): Body => ({
    pour: async (sink) => {
      await body.pour(sink);
      await mode.requireWritable();
    },
  });
  return {
    create: (id) => writable(() => volumes.create(id)),
    put: (id, volume, body) => volumes.put(id, volume, checked(body)),
    putFile: (manifest, volume, body) => volumes.putFile(manifest, volume, checked(body)),
    discard: (id) => volumes.discard(id),
    withdraw: (id, volume, isRight) => writable(() => volumes.withdraw(id, volume, isRight)),
    writeManifest: (manifest) => writable(() => volumes.writeManifest(manifest)),
    removeManifest: (id) => writable(() => volumes.removeManifest(id)),
    writeAccount: (account) => writable(() => volumes.writeAccount(account)),
    removeAccount: (accountId) => writable(() => volumes.removeAccount(accountId)),
    copy: (from, to, some) => writable(() => volumes.copy(from, to, some)),
    remove: (id) => writable(() => volumes.remove(id)),
    reclaim: (areFiles) => writable(() => volumes.reclaim(areFiles)),
    // Only at a start, and by the sweeper, which does nothing meanwhile.
    writeNote: (name, text) => volumes.writeNote(name, text),
    received: (id) => volumes.received(id),
    list: (id) => volumes.list(id),
    accounts: () => volumes.accounts(),
    account: (accountId) => volumes.account(accountId),
    manifest: (id) => volumes.manifest(id),
    hasManifest: (id) => volumes.hasManifest(id),
    open: (id, volume, whole) => volumes.open(id, volume, whole),
    locate: (id, volume) => volumes.locate(id, volume),
    groups: (after) => volumes.groups(after),
    readNote: (name) => volumes.readNote(name),
    ping: () => volumes.ping(),
    removesAtOnce: volumes.removesAtOnce,
    ...(volumes.listsSlowly === undefined ? {} : { listsSlowly: volumes.listsSlowly }),
  };
}
