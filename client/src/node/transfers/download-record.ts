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
import type { Journal } from '../../transfers/upload/journal.ts';
import { diskPath } from '../files/disk-path.ts';
import { FileSource } from '../files/file-source.ts';
import type { PartFile } from './part-file.ts';

const NOTE_BYTES = SALT_BYTES + 32;
const NONE = new Uint8Array(NOTE_BYTES);
/** Losing a second of a download in a power failure is cheap; writing the journal for every volume is not. */
const EVERY_MS = 1000;

/** Describes a volume on disk: sealing it with this salt must give this digest. */
export interface StoredVolume {
  salt: Bytes;
  digest: Bytes;
}

/** Only files of this name are ever deleted, even if a journal names another one. */
const PART_NAME = /^\.szafa-[0-9a-f]{16}\.part$/;
/** Starts the journal entry of a download; the entry of an upload starts with a length. */
const MARK = utf8('szafa download\n');

/** A download that can be resumed. @public */
export interface UnfinishedDownload {
  key: string;
  fileId: string;
  /** Path on the server. */
  path: string;
  /** Local path. */
  target: string;
  size: number;
  /** Path of the part file. */
  part: string;
  /** Bytes in volumes that are complete. */
  stored: number;
}

type Description = Omit<UnfinishedDownload, 'key' | 'stored'>;

/** Returns the key of the lock on a part file. @public */
export function downloadLock(part: string): string {
  return createHash('sha256').update(`download\0${part}`).digest('hex');
}

/** Lists the unfinished downloads of all accounts in a journal. @public */
export async function unfinishedDownloads(journal: Journal): Promise<UnfinishedDownload[]> {
  const found: UnfinishedDownload[] = [];
  for (const key of (await journal.keys?.()) ?? []) {
    const entry = await journal.load(key);
    const split = entry && splitEntry(entry);
    if (split) found.push({ ...split.description, key, stored: split.stored });
  }
  return found;
}

/** Removes an unfinished download from the journal, and deletes its part file. @public */
export async function abandonDownload(journal: Journal, { key, part }: UnfinishedDownload): Promise<void> {
  await journal.remove(key);
  if (PART_NAME.test(basename(part))) await rm(diskPath(part), { force: true });
}

function splitEntry(
  entry: Uint8Array,
): { description: Description; stored: number; notes: Uint8Array } | undefined {
  if (!equal(entry.subarray(0, MARK.length) as Bytes, MARK)) return undefined;
  const end = entry.indexOf(0x0a, MARK.length);
  if (end < 0) return undefined;
  try {
    const description = JSON.parse(fromUtf8(entry.subarray(MARK.length, end))) as Description & {
      stored: number;
    };
    const { fileId, path, target, part, size, stored } = description;
    const areTexts = [fileId, path, target, part].every((text) => typeof text === 'string');
    const areSizes = isWhole(size, 0, Number.MAX_SAFE_INTEGER) && isWhole(stored, 0, size);
    return areTexts && areSizes ? { description, stored, notes: entry.subarray(end + 1) } : undefined;
  } catch {
    return undefined; // damaged: the download starts again
  }
}

export type DownloadRecord = ReturnType<typeof downloadRecord>;

/**
 * Records which volumes of a download are on disk, by salt and digest; neither is secret. A resumed download does not trust the record:
 * it seals each volume from the file again and requires the digest of the upload.
 */
export function downloadRecord(
  remote: RemoteFile<ReadableHeader>,
  part: string,
  target: string,
  journal: Journal | undefined,
) {
  const { engine, layout, header, fileId } = remote;
  const { name: path, size } = remote.metadata;
  const key = createHash('sha256').update(`download\0${part}\0${header.totalSha256}`).digest('hex');
  const used = layout.count > 1 ? journal : undefined;
  /** The volumes on disk; the caller adds each volume that it has written. */
  const volumes: (StoredVolume | undefined)[] = new Array(layout.count).fill(undefined);
  let written = Date.now();

  const save = async (): Promise<void> => {
    const notes = volumes.map((volume) => (volume ? concat(volume.salt, volume.digest) : NONE));
    const addSize = (sum: number, volume: StoredVolume | undefined, i: number) =>
      sum + (volume ? extentOf(layout, i + 1).length : 0);
    const stored = volumes.reduce(addSize, 0);
    const description = JSON.stringify({ fileId, path, target, size, part, stored });
    await used?.store(key, concat(MARK, utf8(`${description}\n`), ...notes));
  };

  return {
    volumes,
    save,

    /** Loads the record of an earlier download, if there is one. */
    async load(): Promise<Uint8Array | undefined> {
      const entry = await used?.load(key);
      const notes = entry && splitEntry(entry)?.notes;
      return notes?.length === layout.count * NOTE_BYTES ? notes : undefined;
    },

    /** Verifies the volumes that an earlier download has recorded, and returns the number of valid ones. */
    async verify(notes: Uint8Array, file: PartFile): Promise<number> {
      const { fileId, fileKey } = header;
      const source = FileSource.of(file.path, file.fd);
      await forEach(volumes.keys(), engine.parallel, async (i) => {
        const note = new Uint8Array(notes.slice(i * NOTE_BYTES, (i + 1) * NOTE_BYTES));
        const extent = extentOf(layout, i + 1);
        if (equal(note, NONE) || extent.offset + extent.length > source.size) return;
        const [salt, digest] = [note.slice(0, SALT_BYTES), note.slice(SALT_BYTES)];
        const place = { fileId, fileKey, idx: i + 1, isLast: i + 1 === layout.count };
        const sealed = await sealVolume(engine, place, source, extent, { salt, digestOnly: true });
        sealed.release();
        if (await remote.hasDigest(i + 1, sealed.digest)) volumes[i] = { salt, digest };
      });
      return volumes.filter((volume) => volume !== undefined).length;
    },

    /** Saves at most once a second. */
    async update(): Promise<void> {
      if (Date.now() - written < EVERY_MS) return;
      written = Date.now();
      await save();
    },

    async remove(): Promise<void> {
      await used?.remove(key);
    },
  };
}
