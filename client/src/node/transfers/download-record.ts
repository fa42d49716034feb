import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  type Bytes,
  concat,
  equal,
  extentOf,
  fromUtf8,
  isWhole,
  SALT_BYTES,
  sealVolume,
  utf8,
} from '@szafa/format';
import { forEach } from '../../pool.ts';
import type { ReadableHeader, RemoteFile } from '../../transfers/download/remote-file.ts';
import type { Journal } from '../../upload/journal.ts';
import { diskPath } from '../files/disk-path.ts';
import { FileSource } from '../files/file-source.ts';
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

/** What is deleted is one of these, whatever a journal says. */
const PART_NAME = /^\.szafa-[0-9a-f]{16}\.part$/;
/** Before the notes of a download, which says what they are about; an upload's entry begins with a length. */
const MARK = utf8('szafa download\n');

/** A download that can go on. @public */
export interface UnfinishedDownload {
  key: string;
  fileId: string;
  /** The path on the service, and where the file goes. */
  path: string;
  target: string;
  size: number;
  /** The file that grows. */
  part: string;
  /** Bytes in whole volumes. */
  stored: number;
}

type About = Omit<UnfinishedDownload, 'key' | 'stored'>;

/** Two do not write one part file at the same time. @public */
export function downloadClaim(part: string): string {
  return createHash('sha256').update(`download\0${part}`).digest('hex');
}

/** All that a journal has, of whatever account: they lie in the folders of this machine. @public */
export async function unfinishedDownloads(journal: Journal): Promise<UnfinishedDownload[]> {
  const found: UnfinishedDownload[] = [];
  for (const key of (await journal.keys?.()) ?? []) {
    const entry = await journal.load(key);
    const split = entry && splitEntry(entry);
    if (split) found.push({ ...split.about, key, stored: split.stored });
  }
  return found;
}

/** Forgets one, and deletes what has come of it, if that is still what was written. @public */
export async function abandonDownload(journal: Journal, { key, part }: UnfinishedDownload): Promise<void> {
  await journal.remove(key);
  if (PART_NAME.test(basename(part))) await rm(diskPath(part), { force: true });
}

function splitEntry(entry: Uint8Array): { about: About; stored: number; notes: Uint8Array } | undefined {
  if (!equal(entry.subarray(0, MARK.length) as Bytes, MARK)) return undefined;
  const end = entry.indexOf(0x0a, MARK.length);
  if (end < 0) return undefined;
  try {
    const about = JSON.parse(fromUtf8(entry.subarray(MARK.length, end))) as About & { stored: number };
    const { fileId, path, target, part, size, stored } = about;
    const areTexts = [fileId, path, target, part].every((text) => typeof text === 'string');
    const areSizes = isWhole(size, 0, Number.MAX_SAFE_INTEGER) && isWhole(stored, 0, size);
    return areTexts && areSizes ? { about, stored, notes: entry.subarray(end + 1) } : undefined;
  } catch {
    return undefined; // torn: it is begun anew
  }
}

/**
 * Which volumes of a download are on disk: salt and digest of each, no secret. It is not believed when the
 * download goes on: each volume is sealed again from what the file holds, and must be the one that was uploaded.
 */
export class DownloadRecord {
  readonly #remote: RemoteFile<ReadableHeader>;
  readonly #journal: Journal | undefined;
  readonly #key: string;
  readonly #about: About;
  #volumes: (Noted | undefined)[];
  #written = Date.now();

  constructor(
    remote: RemoteFile<ReadableHeader>,
    part: string,
    target: string,
    journal: Journal | undefined,
  ) {
    this.#remote = remote;
    const { name: path, size } = remote.metadata;
    this.#about = { fileId: remote.fileId, path, target, size, part };
    this.#journal = remote.layout.count > 1 ? journal : undefined;
    this.#key = createHash('sha256').update(`download\0${part}\0${remote.header.totalSha256}`).digest('hex');
    this.#volumes = new Array(remote.layout.count).fill(undefined);
  }

  /** What an earlier download has noted; undefined where there is nothing to go on from. */
  async noted(): Promise<Uint8Array | undefined> {
    const entry = await this.#journal?.load(this.#key);
    const notes = entry && splitEntry(entry)?.notes;
    return notes?.length === this.#remote.layout.count * NOTE_BYTES ? notes : undefined;
  }

  /** The volumes that need not be fetched. */
  async verified(entry: Uint8Array | undefined, part: PartFile): Promise<(Noted | undefined)[]> {
    if (!entry) return this.#volumes;
    const { engine, layout, header } = this.#remote;
    const { fileId, fileKey } = header;
    const source = FileSource.of(part.path, part.fd);
    await forEach(this.#volumes.keys(), engine.parallel, async (i) => {
      const note = new Uint8Array(entry.slice(i * NOTE_BYTES, (i + 1) * NOTE_BYTES));
      const extent = extentOf(layout, i + 1);
      if (equal(note, NONE) || extent.offset + extent.length > source.size) return;
      const [salt, digest] = [note.slice(0, SALT_BYTES), note.slice(SALT_BYTES)];
      const place = { fileId, fileKey, idx: i + 1, isLast: i + 1 === layout.count };
      const sealed = await sealVolume(engine, place, source, extent, { salt, digestOnly: true });
      sealed.release();
      if (await this.#remote.hasDigest(i + 1, sealed.digest)) this.#volumes[i] = { salt, digest };
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
    const { layout } = this.#remote;
    const here = (sum: number, noted: Noted | undefined, i: number) =>
      sum + (noted ? extentOf(layout, i + 1).length : 0);
    const about = JSON.stringify({ ...this.#about, stored: this.#volumes.reduce(here, 0) });
    await this.#journal?.store(this.#key, concat(MARK, utf8(`${about}\n`), ...notes));
  }

  async remove(): Promise<void> {
    await this.#journal?.remove(this.#key);
  }
}
