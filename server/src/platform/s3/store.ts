import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { Volume } from '@szafa/protocol';
import { GroupGone } from '../errors.ts';
import { inParallel } from '../parallel.ts';
import type { Body } from '../volumes/body.ts';
import {
  accountIdIn,
  checkedAccountId,
  formatManifest,
  parseDocument,
  parseManifest,
} from '../volumes/documents.ts';
import { nameOf, newName, numbersOf, volumeNamed } from '../volumes/names.ts';
import { SegmentPool } from '../volumes/segments.ts';
import type {
  AccountDocument,
  Manifest,
  NoteName,
  OpenVolume,
  VolumeName,
  VolumePlace,
  VolumeStore,
} from '../volumes/store.ts';
import type { OpenBody, S3Client, S3Object } from './client.ts';
import { openRange, sendRange } from './download.ts';
import { S3Error } from './errors.ts';
import { SMALL_BYTES, upload } from './upload.ts';

const ID = /^[0-9a-f]{32}$/;
const POOL_SEGMENTS = 64;
const RECEIVE_BYTES = 1024 * 1024;
const SEND_BYTES = 512 * 1024;
const COPIES_AT_ONCE = 8;
/** A signed address is used at once. */
const SIGNED_SECONDS = 60;
const NOTHING = Buffer.alloc(0);
/** A store that copies more slowly than this is taken for dead. */
const COPY_BYTES_PER_MS = 5_000;

export const keys = {
  marker: (id: string) => `groups/${checked(id)}`,
  manifest: (id: string) => `files/${checked(id)}.json`,
  account: (id: string) => `accounts/${checkedAccountId(id)}.json`,
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
 *     groups/<id>                 the marker, written at init; the group exists while this does
 *     volumes/<id>/<n>-<sha256>   the volumes, from arrival to deletion under the same key; 0 is the thumbnail
 *     files/<id>.json             the file's record, written at complete
 *     accounts/<id>.json          what an account is rebuilt from
 *     store-id, store-mark        which store this is, and which database used it last
 *     service-id                  which service it is of
 *
 * A PUT is there whole or not at all, and is seen by everyone once it is answered; nothing is ever moved.
 */
export class S3Store implements VolumeStore {
  readonly removesAtOnce = false;
  /** A thousand names for each request. */
  readonly listsSlowly = true;
  readonly #client: S3Client;
  readonly #receiving = new SegmentPool(POOL_SEGMENTS, RECEIVE_BYTES);
  readonly #sending = new SegmentPool(POOL_SEGMENTS, SEND_BYTES);

  constructor(client: S3Client) {
    this.#client = client;
  }

  async create(id: string): Promise<void> {
    await this.#client.write(keys.marker(id), NOTHING);
  }

  async put(id: string, volume: Volume, body: Body): Promise<void> {
    const key = keys.volume(id, volume);
    await upload(this.#client, key, volume, body, this.#receiving);
    // Whoever removes the group takes the marker away first and then lists the volumes: one of us sees the other.
    if ((await this.#client.size(keys.marker(id))) === undefined) {
      await this.#client.delete([key]);
      throw new GroupGone(id);
    }
  }

  /** A moment is left between the last look and the deletion: what comes in just then has to be sent again. */
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

  async received(id: string): Promise<number[]> {
    return numbersOf(await this.#names(id));
  }

  async list(id: string): Promise<VolumeName[]> {
    return (await this.#names(id)).flatMap((name) => volumeNamed(name) ?? []);
  }

  async writeManifest(manifest: Manifest): Promise<void> {
    await this.#client.write(keys.manifest(manifest.file_id), Buffer.from(formatManifest(manifest)));
  }

  async putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void> {
    const id = manifest.file_id;
    const marked = this.create(id);
    marked.catch(() => undefined /* told below, when the body has been read */);
    // A larger one is sent as it comes: waiting for its marker it would hold a connection that the marker may need.
    if (volume.size > SMALL_BYTES) await marked;
    // The last bytes leave after it, so there is a marker before there is a volume; what comes behind the body need not wait for that.
    const marking: Body = { pour: (sink) => body.pour(sink).finally(() => marked) };
    try {
      await upload(this.#client, keys.volume(id, volume), volume, marking, this.#receiving);
    } finally {
      await marked;
    }
    await this.writeManifest(manifest);
  }

  async removeManifest(id: string): Promise<void> {
    await this.#client.delete([keys.manifest(id)]);
  }

  async writeAccount(account: AccountDocument): Promise<void> {
    await this.#client.write(keys.account(account.account_id), Buffer.from(JSON.stringify(account)));
  }

  async removeAccount(accountId: string): Promise<void> {
    await this.#client.delete([keys.account(accountId)]);
  }

  async *accounts(): AsyncIterable<string> {
    for await (const { key } of this.#client.list('accounts/')) {
      const id = accountIdIn(key.slice('accounts/'.length));
      if (id !== undefined) yield id;
    }
  }

  async account(accountId: string): Promise<AccountDocument | undefined> {
    const key = keys.account(accountId);
    const text = await this.#client.read(key);
    return text && parseDocument(key, text.toString('utf8'));
  }

  async manifest(id: string): Promise<Manifest | undefined> {
    const key = keys.manifest(id);
    const text = await this.#client.read(key);
    return text && parseManifest(key, text.toString('utf8'));
  }

  async open(id: string, volume: VolumeName, whole = true): Promise<OpenVolume | undefined> {
    checked(id);
    if (nameOf(volume) === undefined) return undefined;
    const key = keys.volume(id, volume);
    const client = this.#client;
    const pool = this.#sending;
    let opened = whole
      ? await client.persist(() => openRange(client, key, 0)).catch(unlessMissing)
      : undefined;
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
      // A write whose answer was lost meets itself when it is tried again.
      const found = await this.#client.read(keys.marker(to));
      if (!found?.equals(ours)) throw new Error('the group to copy to exists');
    }
    await inParallel(volumes, COPIES_AT_ONCE, (volume) => {
      const patience = this.#client.limits.silenceMs + volume.size / COPY_BYTES_PER_MS;
      return this.#client.copy(keys.volume(from, volume), keys.volume(to, volume), patience);
    });
  }

  /** Begins with the marker, so that no volume can come in unseen, and may be repeated from any point. */
  async remove(id: string): Promise<void> {
    await this.#client.delete([keys.marker(id), keys.manifest(id)]);
    const names = await this.#names(id);
    await this.#client.delete(names.flatMap((name) => (volumeNamed(name) ? keys.volumes(id) + name : [])));
  }

  discard(id: string): Promise<void> {
    return this.remove(id);
  }

  async reclaim(): Promise<void> {
    // Removed is freed here; what breaks off on its way in is never kept.
  }

  /** Also groups of which only a part is left, by a process that died. */
  async *groups(after = ''): AsyncIterable<{ id: string; changedAt: number }> {
    // A tilde is behind all that begins with the id.
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

  async readNote(name: NoteName): Promise<string | undefined> {
    return (await this.#client.read(name))?.toString('utf8').trim();
  }

  async writeNote(name: NoteName, text: string): Promise<void> {
    await this.#client.write(name, Buffer.from(`${text}\n`));
  }

  async ping(): Promise<void> {
    await Array.fromAsync(this.#client.list('groups/', { limit: 1 }));
  }

  /** After a crash of its own a store may name a prefix below which there is nothing. */
  async #firstChange(id: string): Promise<number | undefined> {
    const [first] = await Array.fromAsync(this.#client.list(keys.volumes(id), { limit: 1 }));
    return first?.changedAt;
  }

  /** A list tells it more exactly than a HEAD does; the key itself is the first that begins with it. */
  async #changedAt(key: string): Promise<number | undefined> {
    const [first] = await Array.fromAsync(this.#client.list(key, { limit: 1 }));
    return first?.key === key ? first.changedAt : undefined;
  }

  async #names(id: string): Promise<string[]> {
    const prefix = keys.volumes(id);
    const names: string[] = [];
    for await (const { key } of this.#client.list(prefix)) names.push(key.slice(prefix.length));
    return names;
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof S3Error && error.status === 404)) throw error;
}

/** One entry for each id of several lists, which all come in the order of their ids; NaN without a time. */
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
