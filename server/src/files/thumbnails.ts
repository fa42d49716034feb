import { hash } from 'node:crypto';
import { Writable } from 'node:stream';
import {
  limits,
  parseContentDigest,
  type ReadThumbnail,
  RuleError,
  toBase64,
  type Volume,
} from '@szafa/protocol';
import type { Caller } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import type { DiskSpace } from '../platform/disk-space.ts';
import { GroupGone } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { inParallel } from '../platform/parallel.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';
import { copyInto } from '../platform/volumes/body.ts';
import type { OpenVolume, VolumeStore } from '../platform/volumes/store.ts';
import type { OpenContent } from './download.ts';
import type { Files } from './files.ts';
import { isOwn } from './files-table.ts';
import { overQuota, unknownFile } from './refusals.ts';
import { THUMBNAIL, thumbnailOf } from './thumbnails-table.ts';

/** Hides the latency of S3; a disk would need only one read at a time. */
const READ_AT_ONCE = 8;

interface Dependencies {
  metadata: Pick<Metadata, 'files' | 'thumbnails'>;
  volumes: VolumeStore;
  files: Files;
  space: DiskSpace;
  rateLimiter: RateLimiter;
  config: Pick<Config, 'quotaEnforced' | 'quotaBytes'>;
}

/** Thumbnails. A thumbnail is stored like a volume in the group of its file, and is removed with the group. */
export class Thumbnails {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Stores a thumbnail. When this resolves, the bytes and the record that names them are durable. */
  async write(fileId: string, caller: Caller, bytes: Uint8Array, digest: string | undefined): Promise<void> {
    const { metadata, files, volumes, space, rateLimiter, config } = this.#deps;
    const volume = checkThumbnail(bytes, digest);
    const before = thumbnailOf(await files.find(fileId, caller.username));
    if (before?.sha256 === volume.sha256) return;
    if (before) throw hasOther();
    const body = rateLimiter.limitUpload({ pour: async (sink) => copyInto(bytes, sink) }, caller);
    const reservation = await space.forVolumes(volume.size);
    try {
      await volumes.put(fileId, volume, body);
    } catch (error) {
      throw error instanceof GroupGone ? unknownFile() : error;
    } finally {
      reservation.end();
    }
    // If this fails the volume stays, because the record may name it nevertheless.
    const quota = config.quotaEnforced ? config.quotaBytes : undefined;
    const isSet = await metadata.thumbnails.set(fileId, volume, quota);
    if (isSet === true) return;
    const isKnown = async () => (await metadata.files.thumbnail(fileId))?.sha256 === volume.sha256;
    // Another thumbnail was stored first, or the file is gone. If the volume cannot be withdrawn, fsck finds it.
    if (!(await isKnown())) await volumes.withdraw(fileId, volume, isKnown).catch(() => undefined);
    if (isSet === 'over quota') throw overQuota();
    const now = thumbnailOf(await files.find(fileId, caller.username));
    if (now?.sha256 !== volume.sha256) throw hasOther();
  }

  /** `whole`: the whole thumbnail will be sent. */
  async open(fileId: string, caller: string, whole: boolean): Promise<OpenContent> {
    const known = thumbnailOf(await this.#deps.files.find(fileId, caller));
    const volume = known && (await this.#deps.volumes.open(fileId, known, whole));
    if (!volume) throw new ApiError(404, 'the file has no thumbnail');
    return { sha256: known.sha256, volume };
  }

  /** Reads the thumbnails of the caller's files among `ids`, unordered. */
  async readMany(ids: readonly string[], caller: Caller): Promise<ReadThumbnail[]> {
    const { metadata, rateLimiter } = this.#deps;
    const rows = await metadata.files.withThumbnails([...new Set(ids)]);
    const own = new Map(rows.filter((row) => isOwn(caller.username, row)).map((row) => [row.file_id, row]));
    const found = new Map<string, Buffer>();
    let fault: unknown;
    await inParallel(own.values(), READ_AT_ONCE, async (row) => {
      try {
        const known = thumbnailOf(row);
        const volume = known && (await this.#deps.volumes.open(row.file_id, known, true));
        if (volume) found.set(row.file_id, await readAll(volume));
      } catch (error) {
        fault ??= error;
      }
    });
    // One unreadable thumbnail does not fail the request; if none can be read, the store is unavailable.
    if (fault !== undefined && found.size === 0) throw fault;
    const bytes = found.values().reduce((sum, { length }) => sum + length, 0);
    await rateLimiter.limitResponse(bytes, caller);
    return [...own.values()].map(({ file_id, enc_params }) => ({
      file_id,
      enc_params: toBase64(enc_params),
      thumbnail: found.get(file_id)?.toString('base64') ?? null,
    }));
  }
}

/** Reads a thumbnail into memory: at most `limits.thumbnailBytes`. */
async function readAll(volume: OpenVolume): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const write = (piece: Buffer, _encoding: string, written: () => void) => {
    // The store may reuse the memory of the piece.
    pieces.push(Buffer.from(piece));
    written();
  };
  const sink = new Writable({ write });
  // `send` rejects with the same error.
  sink.on('error', () => undefined);
  try {
    await volume.send(sink, 0, volume.size);
  } finally {
    await volume.close();
  }
  return Buffer.concat(pieces);
}

const hasOther = () => new ApiError(409, 'the file already has a different thumbnail');

function checkThumbnail(bytes: Uint8Array, digest: string | undefined): Volume {
  const sha256 = parseContentDigest(digest);
  if (bytes.length === 0) throw new RuleError(`a thumbnail has 1 to ${limits.thumbnailBytes} bytes`);
  if (hash('sha256', bytes, 'hex') !== sha256) throw new RuleError('Content-Digest does not match the body');
  return { idx: THUMBNAIL, size: bytes.length, sha256 };
}
