import {
  type Bytes,
  type FileSecrets,
  type Layout,
  layoutWith,
  newSecrets,
  type SealedVolume,
  sealedSize,
  sealVolume,
  streamSizes,
  type VolumeSizes,
  wholeExtent,
} from '@szafa/format';
import { limits } from '@szafa/protocol';
import { SzafaError } from '../../errors.ts';
import { completeTransfer } from '../calls.ts';
import { ageOf, checkDescribable, describe, type SealedFile } from './description.ts';
import type { MemoryLease } from './memory.ts';
import type { PlacedOptions, UploadContext, UploadResult } from './options.ts';
import { Sender } from './sender.ts';
import type { Source } from './source.ts';
import { type ByteStream, StreamReader } from './stream.ts';
import { cancel } from './unfinished.ts';
import { sendWhole, WHOLE_BYTES } from './whole.ts';

const CANCEL_MS = 5_000;
/** Of one stream, read and not sealed yet: four volumes as usual, one of those behind number 1,000. */
const MOST_UNSEALED = 32 * 1024 * 1024;

/** Bytes that are read once, and may be given away. */
function once(bytes: Bytes): Source {
  return { size: bytes.length, read: async () => bytes, check: async () => {} };
}

/**
 * Seals and uploads a stream as it comes: a volume is sealed when something behind it, or the end, was read, and sent while the
 * next ones are read. What fails cannot go on, and is cancelled.
 */
export class StreamUpload {
  readonly #context: UploadContext;
  readonly #options: PlacedOptions;
  readonly #mostVolumes: number;
  readonly #sizes: VolumeSizes;
  readonly #secrets: FileSecrets;
  readonly #digests: Bytes[] = [];
  readonly #stop = new AbortController();
  readonly #sender: Sender;
  readonly #reader: StreamReader;
  #size = 0;
  #unsealed = 0;
  #onSealed: (() => void) | undefined;
  #transfer: Promise<string> | undefined;
  /** A small file, once it was sent. */
  #whole: UploadResult | undefined;

  constructor(
    context: UploadContext,
    stream: ByteStream,
    options: PlacedOptions,
    mostVolumes: number = limits.volumesPerFile,
  ) {
    if (options.pull)
      throw new SzafaError('pull-stream', 'a stream can be read once, and so cannot be pulled');
    const signals = [this.#stop.signal, ...(options.signal ? [options.signal] : [])];
    this.#context = context;
    this.#mostVolumes = mostVolumes;
    this.#options = { ...options, signal: AbortSignal.any(signals) };
    this.#sizes = streamSizes(options.volumeSize);
    this.#secrets = newSecrets(context.engine);
    this.#sender = new Sender(context, this.#options, undefined);
    this.#reader = new StreamReader(stream, this.#options.signal!);
  }

  async run(): Promise<UploadResult> {
    const { engine, keys } = this.#context;
    try {
      // Before the first byte is waited for.
      const master = await keys.current(this.#options.signal);
      const longest = { layout: this.#longest, secrets: this.#secrets };
      await checkDescribable(engine, master, longest, this.#options);
      this.#sender.progress.begin(0);
      await this.#sendAll();
      return this.#whole ?? (await this.#complete());
    } catch (error) {
      this.#reader.stop();
      await this.#giveUp();
      throw error;
    } finally {
      this.#secrets.fileKey.fill(0);
    }
  }

  /** Reads to the end. Nothing is on its way any more when this returns, in whatever way. */
  async #sendAll(): Promise<void> {
    const sending = new Set<Promise<void>>();
    let failed: { error: unknown } | undefined;
    const fail = (error: unknown) => {
      failed ??= { error };
      this.#stop.abort(error);
    };
    try {
      for (let idx = 1, isLast = false; !isLast; idx++) {
        if (idx > this.#mostVolumes) throw this.#tooLong();
        const { length } = wholeExtent(this.#sizes, idx);
        while (this.#unsealed > 0 && this.#unsealed + length > MOST_UNSEALED) await this.#someSealed();
        const part = await this.#reader.read(length);
        // Not before: a stream that waits for its writer would keep all other uploads waiting.
        const plain = part.bytes.length;
        this.#unsealed += plain;
        const lease = await this.#context.memory.take(plain + sealedSize(plain));
        this.#size += plain;
        isLast = part.isLast;
        const sent = this.#sendVolume(idx, part, lease).catch(fail);
        sending.add(sent);
        void sent.then(() => sending.delete(sent));
      }
    } catch (error) {
      fail(error);
    }
    await Promise.all(sending);
    if (failed) throw failed.error;
  }

  /** The room is for the plaintext and for what it becomes. */
  async #sendVolume(
    idx: number,
    { bytes, isLast }: { bytes: Bytes; isLast: boolean },
    lease: MemoryLease,
  ): Promise<void> {
    const { length } = bytes;
    const place = { ...this.#secrets, idx, isLast };
    try {
      const extent = { offset: 0, length };
      const sealing = sealVolume(this.#context.engine, place, once(bytes), extent);
      const sealed = await sealing.finally(() => this.#noteSealed(length));
      try {
        lease.release(length);
        this.#digests[idx - 1] = sealed.digest;
        if (isLast && idx === 1 && length <= WHOLE_BYTES) await this.#sendWhole(sealed);
        if (this.#whole) return;
        await this.#sender.send(await this.#begun(), idx, sealed, { length, streamed: true });
      } finally {
        sealed.release();
      }
    } finally {
      lease.release();
    }
  }

  #someSealed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSealed = resolve;
    });
  }

  #noteSealed(length: number): void {
    this.#unsealed -= length;
    this.#onSealed?.();
  }

  async #sendWhole(sealed: SealedVolume): Promise<void> {
    this.#whole = await sendWhole(this.#context, this.#file, sealed, this.#options, this.#sender.progress);
  }

  /** The transfer, which begins when the first volume is sealed. */
  #begun(): Promise<string> {
    this.#transfer ??= (async () => {
      const { dirId, signal } = this.#options;
      const { transfer_id } = await this.#context.api.call('init', {
        body: { streamed: true, dir_id: dirId },
        signal,
      });
      return transfer_id;
    })();
    return this.#transfer;
  }

  async #complete(): Promise<UploadResult> {
    const { api, engine, keys } = this.#context;
    const { signal } = this.#options;
    const master = await keys.current(signal);
    const description = await describe(engine, master, this.#file, ageOf(this.#options), this.#options);
    const answer = await completeTransfer(api, await this.#begun(), description, { signal });
    if (!('file_id' in answer)) {
      throw new SzafaError('incomplete', 'the server lost volumes that it had accepted');
    }
    return {
      fileId: answer.file_id,
      totalSha256: description.total_sha256,
      size: this.#size,
      storedSize: description.file_size,
      volumes: description.chunk_count,
      resumed: 0,
    };
  }

  get #file(): SealedFile {
    const layout = layoutWith(this.#sizes, this.#size);
    return { layout, secrets: this.#secrets, digests: this.#digests };
  }

  get #longest(): Layout {
    return layoutWith(this.#sizes, wholeExtent(this.#sizes, this.#mostVolumes + 1).offset);
  }

  async #giveUp(): Promise<void> {
    const transferId = await this.#transfer?.catch(() => undefined);
    if (transferId === undefined) return;
    // The service clears abandoned transfers away by itself.
    await cancel(this.#context, transferId, AbortSignal.timeout(CANCEL_MS)).catch(() => {});
  }

  #tooLong(): SzafaError {
    const { size } = this.#longest;
    return new SzafaError(
      'input-too-long',
      `the input is longer than ${size} bytes, more than one file can have`,
    );
  }
}
