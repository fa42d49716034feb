import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { Volume } from '@szafa/protocol';
import { GroupGone } from '../errors.ts';
import { inParallel } from '../parallel.ts';
import type { Body } from '../volumes/body.ts';
import { accountIdIn, DocumentStore } from '../volumes/documents.ts';
import { nameOf, newName, volumeNamed } from '../volumes/names.ts';
import { SegmentPool } from '../volumes/segments.ts';
import type { Manifest, OpenVolume, VolumeName, VolumePlace, VolumeStore } from '../volumes/store.ts';
import type { OpenBody, S3Client, S3Object } from './client.ts';
import { openRange, sendRange } from './download.ts';
import { S3Error } from './errors.ts';
import { SMALL_BYTES, upload } from './upload.ts';

const ID = /^[0-9a-f]{32}$/;
const POOL_SEGMENTS = 64;
const RECEIVE_BYTES = 1024 * 1024;
const SEND_BYTES = 512 * 1024;
const COPIES_AT_ONCE = 8;
/** Short, because signed URLs are used immediately. */
const SIGNED_SECONDS = 60;
const NOTHING = Buffer.alloc(0);
/** The slowest copy that does not time out. */
const COPY_BYTES_PER_MS = 5_000;

export const keys = {
  marker: (id: string) => `groups/${checked(id)}`,
  manifest: (id: string) => `files/${checked(id)}.json`,
  volumes: (id: string) => `volumes/${checked(id)}/`,
  volume: (id: string, volume: VolumeName) => `volumes/${checked(id)}/${newName(volume)}`,
};

function checked(id: string): string {
  if (!ID.test(id)) throw new TypeError('not the id of a volume group');
  return id;
}

/**
 * Volumes as objects of an S3 store:
 *
 *     groups/<id>                 the marker, written at init; the group exists as long as its marker does
 *     volumes/<id>/<n>-<sha256>   the volumes; 0 is the thumbnail
 *     files/<id>.json             the file's record, written at complete
 *     accounts/<id>.json          the document of an account
 *     store-id, store-mark        the store's id, and which database used it last
 *     service-id                  the server's id
 *
 * A PUT is atomic, and visible to everyone once it is answered; nothing is ever moved.
 */
export class S3Store extends DocumentStore implements VolumeStore {
  readonly removesAtOnce = false;
  /** A list request returns at most a thousand names. */
  readonly listsSlowly = true;
  readonly #client: S3Client;
  readonly #receiving = new SegmentPool(POOL_SEGMENTS, RECEIVE_BYTES);
  readonly #sending = new SegmentPool(POOL_SEGMENTS, SEND_BYTES);

  constructor(client: S3Client) {
    super({
      manifestPath: keys.manifest,
      accountPath: (fileName) => `accounts/${fileName}`,
      notePath: (name) => name,
      read: async (key) => (await client.read(key))?.toString('utf8'),
      write: (key, text) => client.write(key, Buffer.from(text)),
      remove: (key) => client.delete([key]),
    });
    this.#client = client;
  }

  async create(id: string): Promise<void> {
    await this.#client.write(keys.marker(id), NOTHING);
  }

  async put(id: string, volume: Volume, body: Body): Promise<void> {
    const key = keys.volume(id, volume);
    await upload(this.#client, key, volume, body, this.#receiving);
    // A removal deletes the marker first and then lists the volumes: either it finds this volume, or the marker is missing here.
    if ((await this.#client.size(keys.marker(id))) === undefined) {
      await this.#client.delete([key]);
      throw new GroupGone(id);
    }
  }

  /** Not atomic: a volume that arrives between the last check and the deletion must be sent again. */
  async withdraw(
    id: string,
    named: VolumeName,
    isRight: (volume: OpenVolume) => Promise<boolean>,
  ): Promise<boolean> {
    const key = keys.volume(id, named);
    const before = await this.#changedAt(key);
    const volume = await this.open(id, named, false);
    if (volume && (await isRight(volume).finally(() => volume.close()))) return false;
    if ((await this.#changedAt(key)) !== before) return false;
    await this.#client.delete([key]);
    return true;
  }

  async putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void> {
    const id = manifest.file_id;
    const marked = this.create(id);
    marked.catch(() => undefined /* awaited below */);
    // A larger volume is streamed to the store, so the marker must exist first: waiting for it in mid-stream could block the
    // connection that the marker needs.
    if (volume.size > SMALL_BYTES) await marked;
    // The last bytes are sent after the marker is written, so that no volume exists without a marker.
    const marking: Body = { pour: (sink) => body.pour(sink).finally(() => marked) };
    try {
      await upload(this.#client, keys.volume(id, volume), volume, marking, this.#receiving);
    } finally {
      await marked;
    }
    await this.writeManifest(manifest);
  }

  async *accounts(): AsyncIterable<string> {
    for await (const { key } of this.#client.list('accounts/')) {
      const id = accountIdIn(key.slice('accounts/'.length));
      if (id !== undefined) yield id;
    }
  }

  async open(id: string, volume: VolumeName, whole = true): Promise<OpenVolume | undefined> {
    checked(id);
    if (nameOf(volume) === undefined) return undefined;
    const key = keys.volume(id, volume);
    const client = this.#client;
    const pool = this.#sending;
    let opened = whole ? await client.retry(() => openRange(client, key, 0)).catch(unlessMissing) : undefined;
    const size = whole ? opened?.length : await client.size(key);
    if (size === undefined) return undefined;
    const take = (): OpenBody | undefined => {
      const taken = opened;
      opened = undefined;
      return taken;
    };
    return {
      size,
      async send(sink: Writable, start: number, end: number) {
        if (start === end) return;
        const body = start === 0 && end === size ? take() : undefined;
        await sendRange(client, pool, key, sink, { start, end, opened: body });
      },
      async close() {
        take()?.close();
      },
    };
  }

  locate(id: string, volume: Volume): VolumePlace {
    const path = this.#client.signedPath(keys.volume(id, volume), SIGNED_SECONDS);
    return { kind: 's3', path, size: volume.size };
  }

  async copy(from: string, to: string, volumes: Volume[]): Promise<void> {
    const ours = Buffer.from(randomBytes(16).toString('hex'));
    if (!(await this.#client.write(keys.marker(to), ours, { onlyNew: true }))) {
      // The marker may be our own, from an attempt whose answer was lost.
      const found = await this.#client.read(keys.marker(to));
      if (!found?.equals(ours)) throw new Error('the group to copy to exists');
    }
    await inParallel(volumes, COPIES_AT_ONCE, (volume) => {
      const patience = this.#client.limits.silenceMs + volume.size / COPY_BYTES_PER_MS;
      return this.#client.copy(keys.volume(from, volume), keys.volume(to, volume), patience);
    });
  }

  /** Removes the marker first, so that no volume can arrive unnoticed. May be repeated from any point. */
  async remove(id: string): Promise<void> {
    await this.#client.delete([keys.marker(id), keys.manifest(id)]);
    const names = await this.names(id);
    await this.#client.delete(names.flatMap((name) => (volumeNamed(name) ? keys.volumes(id) + name : [])));
  }

  async reclaim(): Promise<void> {
    // Nothing to do: S3 frees removed objects at once and never keeps incomplete uploads.
  }

  /** Includes the remains of groups whose removal was interrupted. */
  async *groups(after = ''): AsyncIterable<{ id: string; changedAt: number }> {
    // A tilde sorts after all keys that begin with the id.
    const from = (folder: string) => (after === '' ? {} : { after: `${folder}${after}~` });
    const sources = [
      this.#client.list('groups/', from('groups/')),
      this.#client.list('files/', from('files/')),
      this.#client.list('volumes/', { delimiter: '/', ...from('volumes/') }),
    ];
    for await (const { id, changedAt } of merged(sources)) {
      const time = Number.isNaN(changedAt) ? await this.#firstChange(id) : changedAt;
      if (time !== undefined) yield { id, changedAt: time };
    }
  }

  async hasManifest(id: string): Promise<boolean> {
    return (await this.#client.size(keys.manifest(id))) !== undefined;
  }

  async ping(): Promise<void> {
    await Array.fromAsync(this.#client.list('groups/', { limit: 1 }));
  }

  /** Returns the time of the group's first volume; undefined if a listed prefix is empty, as after a crash of the store. */
  async #firstChange(id: string): Promise<number | undefined> {
    const [first] = await Array.fromAsync(this.#client.list(keys.volumes(id), { limit: 1 }));
    return first?.changedAt;
  }

  /** A list has a more precise time than HEAD, and the key itself sorts first among keys with this prefix. */
  async #changedAt(key: string): Promise<number | undefined> {
    const [first] = await Array.fromAsync(this.#client.list(key, { limit: 1 }));
    return first?.key === key ? first.changedAt : undefined;
  }

  protected async names(id: string): Promise<string[]> {
    const prefix = keys.volumes(id);
    const names: string[] = [];
    for await (const { key } of this.#client.list(prefix)) names.push(key.slice(prefix.length));
    return names;
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof S3Error && error.status === 404)) throw error;
}

/** Merges lists sorted by id into one entry for each id; `changedAt` is NaN if no list has a time. */
async function* merged(
  sources: AsyncGenerator<S3Object>[],
): AsyncIterable<{ id: string; changedAt: number }> {
  const heads = await Promise.all(sources.map((source) => nextId(source)));
  for (;;) {
    const [id] = heads.flatMap((head) => head?.id ?? []).sort();
    if (id === undefined) return;
    const times: number[] = [];
    for (const [at, head] of heads.entries()) {
      if (head?.id !== id) continue;
      if (!Number.isNaN(head.changedAt)) times.push(head.changedAt);
      heads[at] = await nextId(sources[at]!);
    }
    yield { id, changedAt: times.length === 0 ? Number.NaN : Math.max(...times) };
  }
}

async function nextId(
  source: AsyncGenerator<S3Object>,
): Promise<{ id: string; changedAt: number } | undefined> {
  for (;;) {
    const { value, done } = await source.next();
    if (done) return undefined;
    const id = /^(?:groups|files|volumes)\/([0-9a-f]{32})(?:\.json|\/)?$/.exec(value.key)?.[1];
    if (id !== undefined) return { id, changedAt: value.changedAt };
  }
}
