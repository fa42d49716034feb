/** Uploads streams of unknown length into the caller's account. */
import {
  type Bytes,
  layoutWith,
  newSecrets,
  sealedSize,
  sealVolume,
  streamSizes,
  wholeExtent,
} from '@szafa/format';
import { limits } from '@szafa/protocol';
import { SzafaError } from '../../errors.ts';
import { checkDescribable } from './description.ts';
import type { MemoryLease } from './memory.ts';
import type { PlacedOptions, UploadContext, UploadResult } from './options.ts';
import { createSender } from './sender.ts';
import { discardTransfer } from './session.ts';
import { type ByteStream, streamReader } from './stream.ts';
import { completeUpload, sendWhole, WHOLE_BYTES } from './upload.ts';

/** Limit of bytes that are read but not sealed yet: four volumes of the default size. One larger volume is allowed. */
const MOST_UNSEALED = 32 * 1024 * 1024;

/**
 * Seals and uploads a stream as it arrives. A volume is sealed once it is known whether more bytes follow, and sent while the next ones
 * are read. A failed upload cannot be resumed, and is cancelled.
 */
export async function uploadStream(
  context: UploadContext,
  stream: ByteStream,
  options: PlacedOptions,
  mostVolumes: number = limits.volumesPerFile,
): Promise<UploadResult> {
  if (options.pull) throw new SzafaError('pull-stream', 'a stream can be read once, and so cannot be pulled');
  const { api, engine, keys, memory } = context;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  const placed = { ...options, signal };
  const sizes = streamSizes(options.volumeSize);
  const longest = layoutWith(sizes, wholeExtent(sizes, mostVolumes + 1).offset);
  const secrets = newSecrets(engine);
  const digests: Bytes[] = [];
  const sender = createSender(api, placed, undefined);
  const reader = streamReader(stream, signal);
  let size = 0;
  let unsealed = 0;
  let onSealed = () => {};
  let transfer: Promise<string> | undefined;
  /** Set if the file was small enough for one request. */
  let whole: UploadResult | undefined;
  const file = () => ({ layout: layoutWith(sizes, size), secrets, digests });

  /** Creates the transfer on the first call, once a volume is sealed. */
  const begun = () => {
    const body = { streamed: true, dir_id: options.dirId } as const;
    transfer ??= api.call('init', { body, signal }).then(({ transfer_id }) => transfer_id);
    return transfer;
  };

  /** Seals and sends one volume. The lease covers the plaintext and the sealed volume. */
  const sendVolume = async (
    idx: number,
    bytes: Bytes,
    isLast: boolean,
    lease: MemoryLease,
  ): Promise<void> => {
    const { length } = bytes;
    try {
      const source = { read: async () => bytes };
      const extent = { offset: 0, length };
      const sealing = sealVolume(engine, { ...secrets, idx, isLast }, source, extent);
      const sealed = await sealing.finally(() => {
        unsealed -= length;
        onSealed();
      });
      try {
        lease.release(length);
        digests[idx - 1] = sealed.digest;
        if (isLast && idx === 1 && length <= WHOLE_BYTES)
          whole = await sendWhole(context, file(), sealed, placed, sender.progress);
        if (!whole) await sender.send(await begun(), idx, sealed, { length, streamed: true });
      } finally {
        sealed.release();
      }
    } finally {
      lease.release();
    }
  };

  /** Reads and sends the whole stream. After this settles, nothing is being sent. */
  const sendAll = async (): Promise<void> => {
    const sending = new Set<Promise<void>>();
    const fail = (error: unknown) => stop.abort(error);
    try {
      for (let idx = 1, isLast = false; !isLast; idx++) {
        if (idx > mostVolumes) throw tooLong(longest.size);
        const { length } = wholeExtent(sizes, idx);
        while (unsealed > 0 && unsealed + length > MOST_UNSEALED) {
          await new Promise<void>((resolve) => {
            onSealed = resolve;
          });
        }
        const part = await reader.read(length);
        const plain = part.bytes.length;
        unsealed += plain;
        // Take the lease only after reading: a stream that waits for its writer would block all other uploads.
        const lease = await memory.take(plain + sealedSize(plain));
        size += plain;
        isLast = part.isLast;
        const sent = sendVolume(idx, part.bytes, isLast, lease).catch(fail);
        sending.add(sent);
        void sent.then(() => sending.delete(sent));
      }
    } catch (error) {
      fail(error);
    }
    await Promise.all(sending);
    stop.signal.throwIfAborted();
  };

  try {
    // Fail before waiting for the first byte.
    await checkDescribable(engine, await keys.current(signal), { layout: longest, secrets }, placed);
    sender.progress.begin(0);
    await sendAll();
    if (whole) return whole;
    const done = await completeUpload(context, placed, { transferId: await begun(), supply: file() });
    if ('received' in done)
      throw new SzafaError('incomplete', 'the server lost volumes that it had accepted');
    return { ...done, size, resumed: 0 };
  } catch (error) {
    reader.stop();
    const transferId = await transfer?.catch(() => undefined);
    if (transferId !== undefined) await discardTransfer({ api, log: undefined }, transferId);
    throw error;
  } finally {
    secrets.fileKey.fill(0);
  }
}

const tooLong = (size: number) =>
  new SzafaError('input-too-long', `the input is longer than ${size} bytes, more than one file can have`);
