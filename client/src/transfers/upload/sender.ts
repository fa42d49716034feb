import type { SealedVolume } from '@szafa/format';
import { type Api, hasStatus } from '../../call.ts';
import { SzafaError } from '../../errors.ts';
import { receivedVolumes, writeVolume } from '../calls.ts';
import type { UploadOptions } from './options.ts';
import { ProgressTracker } from './progress.ts';
import { SendWindow } from './send-window.ts';

/** The server has different volumes of this upload: another process sent them, or the journal was restored from a copy. */
export class OtherUploadError extends SzafaError {
  override name = 'OtherUploadError';

  constructor(message: string, options?: ErrorOptions) {
    super('other-upload', message, options);
  }
}

export type Sender = ReturnType<typeof createSender>;

/** Sends the volumes of one upload, a few at once, and reports progress. */
export function createSender(
  api: Api,
  { parallel = 4, signal, onProgress }: Pick<UploadOptions, 'parallel' | 'signal' | 'onProgress'>,
  total: number | undefined,
) {
  const progress = new ProgressTracker(total, onProgress);
  const window = new SendWindow(parallel);

  /** @param length size of the volume's part of the file */
  async function send(
    transferId: string,
    idx: number,
    { bytes, digest }: SealedVolume,
    { length, streamed }: { length: number; streamed: boolean },
  ): Promise<void> {
    const sha256 = streamed ? digest.toHex() : undefined;
    const onBytes = (moved: number) => {
      progress.move(idx, moved, length);
      window.moved(moved);
    };
    await window.run(bytes.length, async () => {
      try {
        await writeVolume(api, transferId, idx, bytes, { signal, onBytes, sha256 });
      } catch (error) {
        if (sha256 === undefined || !hasStatus(error, 409)) throw error;
        // 409 has several causes. Unless the server has a different volume, the cause may pass (such as a full disk), and the upload can
        // be resumed.
        const there = (await receivedVolumes(api, transferId, { signal })).find((one) => one.idx === idx);
        if (!there) throw error;
        if (there.sha256 === sha256) return;
        const message = `the server has another volume ${idx} of this upload`;
        throw new OtherUploadError(message, { cause: error });
      }
    });
    progress.arrive(idx, length);
  }

  return { progress, parallel, send };
}
