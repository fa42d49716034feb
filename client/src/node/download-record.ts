import { createHash } from 'node:crypto';
import type { RemoteFile } from '../download/remote-file.ts';
import { type Bytes, concat, equal } from '../format/bytes.ts';
import { extentOf, volumeKeys } from '../format/volume.ts';
import { forEach, lanesFor } from '../pool.ts';
import type { Journal } from '../upload/journal.ts';
import { FileSource } from './file-source.ts';
import type { PartFile } from './part-file.ts';

const DIGEST = 32;
const NONE = new Uint8Array(DIGEST);
/** Losing the last second of a download to a power cut is cheap; a journal written for every volume is not. */
const EVERY_MS = 1000;

/**
 * Which volumes of a download are on disk: the digest of each one's ciphertext, no secret. It is not believed
 * when the download goes on: each volume is sealed again from what the file holds, and must give that digest.
 */
export class DownloadRecord {
  readonly #remote: RemoteFile;
  readonly #journal: Journal | undefined;
  readonly #key: string;
  #digests: (Bytes | undefined)[];
  #written = Date.now();

  constructor(remote: RemoteFile, part: string, journal: Journal | undefined) {
    this.#remote = remote;
    this.#journal = remote.layout.count > 1 ? journal : undefined;
    this.#key = createHash('sha256').update(`download\0${part}\0${remote.header.totalSha256}`).digest('hex');
    this.#digests = new Array(remote.layout.count).fill(undefined);
  }

  /** What an earlier download has noted; undefined where there is nothing to go on from. */
  async noted(): Promise<Uint8Array | undefined> {
    const entry = await this.#journal?.load(this.#key);
    return entry?.length === this.#remote.layout.count * DIGEST ? entry : undefined;
  }

  /** The digests of the volumes that need not be fetched. */
  async verified(entry: Uint8Array | undefined, part: PartFile): Promise<(Bytes | undefined)[]> {
    if (!entry) return this.#digests;
    const { engine, layout, header } = this.#remote;
    const keys = volumeKeys(engine, header.fileKey, header.fileId, layout.count);
    const source = FileSource.of(part.path, part.fd);
    await forEach(this.#digests.keys(), lanesFor(layout.volumeSize, engine.parallel), async (i) => {
      const noted = new Uint8Array(entry.slice(i * DIGEST, (i + 1) * DIGEST));
      const extent = extentOf(layout, i + 1);
      if (equal(noted, NONE) || extent.offset + extent.length > source.size) return;
      const sealed = await engine.sealVolume(await keys(i + 1), source, extent);
      if (equal(sealed.digest, noted)) this.#digests[i] = noted;
      sealed.release();
    });
    return this.#digests;
  }

  async note(digests: (Bytes | undefined)[]): Promise<void> {
    this.#digests = digests;
    if (Date.now() - this.#written < EVERY_MS) return;
    this.#written = Date.now();
    await this.save();
  }

  async save(): Promise<void> {
    await this.#journal?.store(this.#key, concat(...this.#digests.map((digest) => digest ?? NONE)));
  }

  async remove(): Promise<void> {
    await this.#journal?.remove(this.#key);
  }
}
