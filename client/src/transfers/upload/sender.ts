import type { SealedVolume } from '@szafa/format';
import { ApiError, SzafaError } from '../../errors.ts';
import { receivedVolumes, writeVolume } from '../calls.ts';
import type { UploadContext, UploadOptions } from './options.ts';
import { Pace } from './pace.ts';
import { ProgressTracker } from './progress.ts';

const PARALLEL = 4;

/** The service has something else of this upload: of another process, or from before the journal was set back. */
export class OtherUploadError extends SzafaError {
  override name = 'OtherUploadError';

  constructor(message: string, options?: ErrorOptions) {
    super('other-upload', message, options);
  }
}

/** Sends the volumes of one upload, a few at once, and tells how far they are. */
export class Sender {
  readonly progress: ProgressTracker;
  readonly parallel: number;
  readonly #context: Pick<UploadContext, 'api'>;
  readonly #options: Pick<UploadOptions, 'signal'>;
  readonly #pace: Pace;

  constructor(
    context: Pick<UploadContext, 'api'>,
    options: Pick<UploadOptions, 'parallel' | 'signal' | 'onProgress'>,
    total: number | undefined,
  ) {
    this.#context = context;
    this.#options = options;
    this.parallel = options.parallel ?? PARALLEL;
    this.#pace = new Pace(this.parallel);
    this.progress = new ProgressTracker(total, options.onProgress);
  }

  /** `length`: how much of the file is in it. */
  async send(
    transferId: string,
    idx: number,
    { bytes, digest }: SealedVolume,
    { length, streamed }: { length: number; streamed: boolean },
  ): Promise<void> {
    const { api } = this.#context;
    const { signal } = this.#options;
    const sha256 = streamed ? digest.toHex() : undefined;
    const onBytes = (moved: number) => {
      this.progress.move(idx, moved, length);
      this.#pace.moved(moved);
    };
    await this.#pace.run(bytes.length, async () => {
      try {
        await writeVolume(api, transferId, idx, bytes, { signal, onBytes, sha256 });
      } catch (error) {
        if (sha256 === undefined || !(error instanceof ApiError && error.status === 409)) throw error;
        await this.#afterConflict(transferId, idx, sha256, error);
      }
    });
    this.progress.arrive(idx, length);
  }

  /** 409 has several reasons, of which a full or broken disk is one: the upload may then go on later, as it is. */
  async #afterConflict(transferId: string, idx: number, sha256: string, cause: ApiError): Promise<void> {
    const volumes = await receivedVolumes(this.#context.api, transferId, { signal: this.#options.signal });
    const there = volumes.find((volume) => volume.idx === idx);
    if (!there) throw cause;
    if (there.sha256 !== sha256)
      throw new OtherUploadError(`the server has another volume ${idx} of this upload`, { cause });
  }
}
