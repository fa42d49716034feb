import { createHash } from 'node:crypto';
import { limits, parseContentDigest, RuleError, type Volume } from '@szafa/protocol';
import { ServiceError, unknownFile } from '../errors.ts';
import type { Metadata } from '../metadata/metadata.ts';
import { THUMBNAIL, thumbnailOf } from '../metadata/thumbnails.ts';
import { deposit } from '../volumes/body.ts';
import type { OpenVolume, VolumeStore } from '../volumes/store.ts';
import type { Files } from './files.ts';
import type { Pace } from './pace.ts';
import type { Caller } from './sessions.ts';
import type { Space } from './space.ts';

interface Dependencies {
  metadata: Pick<Metadata, 'files' | 'thumbnails'>;
  volumes: VolumeStore;
  files: Files;
  space: Space;
  pace: Pace;
}

/** Thumbnails lie in the groups of their files, as volumes do: whoever removes a group removes them with it. */
export class Thumbnails {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Once it resolves, the bytes are durable, and so is the record that names them. */
  async write(fileId: string, caller: Caller, bytes: Uint8Array, digest: string | undefined): Promise<void> {
    const { metadata, files, volumes } = this.#deps;
    const volume = volumeOf(bytes, digest);
    const before = thumbnailOf(await files.owned(fileId, caller.username));
    if (before?.sha256 === volume.sha256) return;
    if (before) throw another();
    await this.#store(fileId, caller, volume, bytes);
    // Where this fails the record may name it all the same, so it stays.
    if (await metadata.thumbnails.set(fileId, volume)) return;
    const isKnown = async () => (await metadata.files.thumbnail(fileId))?.sha256 === volume.sha256;
    // Another one was first, or the file is gone; what cannot be withdrawn is found by fsck.
    if (!(await isKnown())) await volumes.withdraw(fileId, volume, isKnown).catch(() => undefined);
    const now = thumbnailOf(await files.owned(fileId, caller.username));
    if (now?.sha256 !== volume.sha256) throw another();
  }

  async #store(fileId: string, caller: Caller, volume: Volume, bytes: Uint8Array): Promise<void> {
    const { pace, space, volumes } = this.#deps;
    const body = pace.upload({ pour: async (sink) => deposit(bytes, sink) }, caller);
    const room = await space.forVolumes(volume.size);
    try {
      await volumes.put(fileId, volume, body);
    } catch (error) {
      // The store knows of transfers only: the group is gone.
      if (error instanceof ServiceError && error.status === 404) throw unknownFile();
      throw error;
    } finally {
      room.end();
    }
  }

  /** `whole`: all of it will be sent. */
  async open(
    fileId: string,
    caller: string,
    whole: boolean,
  ): Promise<{ sha256: string; volume: OpenVolume }> {
    const known = thumbnailOf(await this.#deps.files.owned(fileId, caller));
    const volume = known && (await this.#deps.volumes.open(fileId, known, whole));
    if (!volume) throw new ServiceError(404, 'the file has no thumbnail');
    return { sha256: known.sha256, volume };
  }
}

const another = () => new ServiceError(409, 'the file has another thumbnail');

/** What was sent, if it is what its digest says. */
function volumeOf(bytes: Uint8Array, digest: string | undefined): Volume {
  const sha256 = parseContentDigest(digest);
  if (bytes.length === 0) throw new RuleError(`a thumbnail has 1 to ${limits.thumbnailBytes} bytes`);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new RuleError('Content-Digest: the body has another digest');
  }
  return { idx: THUMBNAIL, size: bytes.length, sha256 };
}
