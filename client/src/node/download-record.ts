import { createHash } from 'node:crypto';
import type { RemoteFile } from '../download/remote-file.ts';
import { type Bytes, concat, equal } from '../format/bytes.ts';
import { extentOf, largestVolume } from '../format/layout.ts';
import { SALT_BYTES } from '../format/segments.ts';
import { sealVolume } from '../format/volume.ts';
import { forEach, lanesFor } from '../pool.ts';
import type { Journal } from '../upload/journal.ts';
import { FileSource } from './file-source.ts';
import type { PartFile } from './part-file.ts';

const NOTE_BYTES = SALT_BYTES + 32;
const NONE = new Uint8Array(NOTE_BYTES);
/** Losing the last second of a download to a power cut is cheap; a journal written for every volume is not. */
const EVERY_MS = 1000;

/** A volume that is on disk: by its salt it can be sealed again, to this digest. */
export interface Noted {
  salt: Bytes;
  digest: Bytes;
}

/**
 * Which volumes of a download are on disk: salt and digest of each, no secret. It is not believed when the
 * download goes on: each volume is sealed again from what the file holds, and must give that digest.
 */
export class DownloadRecord {
  readonly #remote: RemoteFile;
  readonly #journal: Journal | undefined;
  readonly #key: string;
  #volumes: (Noted | undefined)[];
  #written = Date.now();

  constructor(remote: RemoteFile, part: string, journal: Journal | undefined) {
    this.#remote = remote;
    this.#journal = remote.layout.count > 1 ? journal : undefined;
    this.#key = createHash('sha256').update(`download\0${part}\0${remote.header.totalSha256}`).digest('hex');
    this.#volumes = new Array(remote.layout.count).fill(undefined);
  }

  /** What an earlier download has noted; undefined where there is nothing to go on from. */
  async noted(): Promise<Uint8Array | undefined> {
    const entry = await this.#journal?.load(this.#key);
    return entry?.length === this.#remote.layout.count * NOTE_BYTES ? entry : undefined;
  }

  /** The volumes that need not be fetched. */
  async verified(entry: Uint8Array | undefined, part: PartFile): Promise<(Noted | undefined)[]> {
    if (!entry) return this.#volumes;
    const { engine, layout, header } = this.#remote;
    const { fileId, fileKey } = header;
    const source = FileSource.of(part.path, part.fd);
    const lanes = lanesFor(largestVolume(layout), engine.parallel);
    await forEach(this.#volumes.keys(), lanes, async (i) => {
      const note = new Uint8Array(entry.slice(i * NOTE_BYTES, (i + 1) * NOTE_BYTES));
      const extent = extentOf(layout, i + 1);
      if (equal(note, NONE) || extent.offset + extent.length > source.size) return;
      const [salt, digest] = [note.slice(0, SALT_BYTES), note.slice(SALT_BYTES)];
      const place = { fileId, fileKey, idx: i + 1, isLast: i + 1 === layout.count };
      const sealed = await sealVolume(engine, place, source, extent, { salt });
      if (equal(sealed.digest, digest)) this.#volumes[i] = { salt, digest };
      sealed.release();
    });
    return this.#volumes;
  }

  async note(volumes: (Noted | undefined)[]): Promise<void> {
    this.#volumes = volumes;
    if (Date.now() - this.#written < EVERY_MS) return;
    this.#written = Date.now();
    await this.save();
  }

  async save(): Promise<void> {
    const notes = this.#volumes.map((noted) => (noted ? concat(noted.salt, noted.digest) : NONE));
    await this.#journal?.store(this.#key, concat(...notes));
  }

  async remove(): Promise<void> {
    await this.#journal?.remove(this.#key);
  }
}
