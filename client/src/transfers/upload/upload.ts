/** Uploads into the caller's account. */
import { layoutOf, newSecrets, type SealedVolume, storedSize, totalSha256 } from '@szafa/format';
import { encodeInit } from '@szafa/protocol';
import { hasStatus } from '../../call.ts';
import { FileChangedError } from '../../errors.ts';
import { range } from '../../pool.ts';
import { completeTransfer, receivedNumbers, writeFile } from '../calls.ts';
import {
  ageOf,
  checkDescribable,
  declare,
  describe,
  epochOf,
  type SealedFile,
  sizesOf,
} from './description.ts';
import type { UploadLog } from './journal.ts';
import type { PlacedOptions, UploadContext, UploadResult } from './options.ts';
import { createSender, OtherUploadError } from './sender.ts';
import {
  discardTransfer,
  finishUpload,
  missingOf,
  newTransfer,
  resumeUpload,
  type Transfer,
  type UploadSession,
} from './session.ts';
import type { Source } from './source.ts';
import { VolumeSupply } from './supply.ts';
import { openLog } from './unfinished.ts';

/** How often to start an upload again after a conflict with another one. */
const ATTEMPTS = 3;
/** Larger files start with `init`: the server can then refuse them before they are sent, and they can be resumed. */
export const WHOLE_BYTES = 1024 * 1024;

type StoredFile = Pick<UploadResult, 'fileId' | 'totalSha256' | 'storedSize' | 'volumes'>;

/** Seals and uploads a source of known length. Resumes an upload in the journal if possible. */
export async function uploadFile(
  context: UploadContext,
  source: Source,
  options: PlacedOptions,
): Promise<UploadResult> {
  const { api, engine, memory } = context;
  const { path, journal, pull, signal, after = 0 } = options;
  const layout = layoutOf(source.size, options.volumeSize);
  // Sending a single volume again is faster than writing a journal.
  const isResumable = journal && source.identity !== undefined && layout.count > 1;
  const log = isResumable
    ? await openLog(context, journal, { place: source.place, path }, signal)
    : undefined;
  const sender = createSender(api, options, source.size);
  const session: UploadSession<StoredFile> = {
    ...{ api, engine, memory, source, sender, log, signal },
    declares: pull !== undefined,
    isNewest: (gen) => gen > after,
    isGone: (error) => hasStatus(error, 404),
    isFinal: (error) =>
      !log || error instanceof FileChangedError || error instanceof OtherUploadError || hasStatus(error, 404),
    ...(pull && { pull: (transfer) => pullMissing(session, transfer, pull) }),
    complete: (transfer) => completeUpload(context, options, transfer, log),
  };

  const start = async (): Promise<UploadResult> => {
    const supply = new VolumeSupply({ engine, source, layout, secrets: newSecrets(engine) });
    try {
      const isSmall = layout.count === 1 && layout.size <= WHOLE_BYTES && !pull;
      const whole = isSmall ? await sendOne(supply) : undefined;
      return whole ?? (await finishUpload(session, await begin(supply)));
    } finally {
      supply.burn();
    }
  };

  const sendOne = async (supply: VolumeSupply): Promise<UploadResult | undefined> => {
    const sealed = await supply.take(1);
    try {
      const grown = await supply.confirm(signal);
      const whole = await sendWhole(context, supply, sealed, options, sender.progress);
      return whole && { ...whole, grown };
    } finally {
      sealed.release();
    }
  };

  const begin = async (supply: VolumeSupply): Promise<Transfer> => {
    const transfer = await (pull ? declareTransfer : createTransfer)(context, supply, options, source);
    const { transferId, declared } = transfer;
    const { identity = '', place = '' } = source;
    try {
      const state = { transferId, path, place, ...supply.secrets, identity, layout, declared };
      await log?.begin(state, supply.records);
      return transfer;
    } catch (error) {
      await discardTransfer(session, transferId);
      throw error;
    }
  };

  let resumed = await resumeUpload(session);
  for (let attempt = 1; ; attempt++) {
    try {
      return resumed ? await finishUpload(session, resumed) : await start();
    } catch (error) {
      // The source changed although its identity did not. It can be uploaded in its new state under a new key.
      const changed = error instanceof FileChangedError && resumed !== undefined;
      if (!changed && !(error instanceof OtherUploadError)) throw error;
      if (attempt === ATTEMPTS) throw error;
      await source.check().catch(unlessKept);
      resumed = undefined;
    }
  }
}

async function createTransfer(
  { api, engine, keys }: UploadContext,
  supply: VolumeSupply,
  options: PlacedOptions,
): Promise<Transfer> {
  const { dirId, signal } = options;
  await checkDescribable(engine, await keys.current(signal), supply, options);
  const chunks = sizesOf(supply.layout);
  const body = { streamed: true, chunk_count: chunks.length, chunks, dir_id: dirId } as const;
  return newTransfer((await api.call('init', { body, signal })).transfer_id, supply);
}

/** Creates a transfer with all digests. Seals every volume once more than it is sent. */
async function declareTransfer(
  { api, engine, keys }: UploadContext,
  supply: VolumeSupply,
  options: PlacedOptions,
  source: Source,
): Promise<Transfer> {
  const { signal } = options;
  await supply.digest(range(1, supply.layout.count), signal);
  await source.check().catch(unlessKept);
  const age = ageOf(options);
  const master = await keys.current(signal);
  const description = await describe(engine, master, supply, age, options);
  const { transfer_id } = await api.call('init', { body: declare(description, supply, options), signal });
  const declared = { gen: age.gen, epoch: master.epoch };
  return { ...newTransfer(transfer_id, supply), declared, description };
}

/** Turns a transfer into a file. If volumes are missing, returns the numbers of those that the server has. */
export async function completeUpload(
  { api, engine, keys }: UploadContext,
  options: PlacedOptions,
  transfer: Pick<Transfer, 'transferId' | 'declared' | 'description'> & { supply: SealedFile },
  log?: UploadLog,
): Promise<StoredFile | { received: number[] }> {
  const { signal } = options;
  const { transferId, supply, declared } = transfer;
  const { layout } = supply;
  // Once the rekey is finished, readers would refuse a header under an earlier master key.
  const master = await keys.current(signal);
  if (declared && declared.epoch < master.epoch)
    throw new OtherUploadError('the keys of this account have changed since the upload began');
  if (!declared && (!transfer.description || epochOf(transfer.description) < master.epoch)) {
    const age = ageOf(options);
    transfer.description = await describe(engine, master, supply, age, options);
    // A repeated `complete`, even by another process, must send the same description, and then gets the same file.
    await log?.complete(transfer.description, age.gen);
  }
  const body = declared ? undefined : transfer.description;
  const answer = await completeTransfer(api, transferId, body, { signal }).catch((error: unknown) => {
    // Another process has completed the transfer as a different file. Other refusals have a status.
    if (declared || !hasStatus(error, 409) || 'status' in error.body) throw error;
    throw new OtherUploadError('the server has completed this upload as another file', { cause: error });
  });
  if (!('file_id' in answer)) return answer;
  const total = (await totalSha256(engine, supply.digests)).toHex();
  const fileId = answer.file_id;
  return { fileId, totalSha256: total, storedSize: storedSize(layout), volumes: layout.count };
}

/** Sends a file of one volume in one request. Returns undefined if the server does not support this request. */
export async function sendWhole(
  { api, engine, keys, headers }: UploadContext,
  file: SealedFile,
  { bytes }: SealedVolume,
  options: PlacedOptions,
  progress: ReturnType<typeof createSender>['progress'],
): Promise<UploadResult | undefined> {
  const { signal, dirId } = options;
  const { size } = file.layout;
  const description = await describe(engine, await keys.current(signal), file, ageOf(options), options);
  const header = encodeInit(declare(description, file, options));
  if (header === undefined) return undefined;
  const transferId = engine.random(20).toBase64({ alphabet: 'base64url', omitPadding: true });
  progress.begin(0);
  const onBytes = (moved: number) => progress.move(1, moved, size);
  const answer = await writeFile(api, transferId, header, bytes, { signal, onBytes });
  if (!answer) return undefined;
  progress.arrive(1, size);
  const { file_name, file_size, total_sha256: sha256, enc_params } = description;
  const fileId = answer.file_id;
  headers?.save({ file_id: fileId, file_name, sha256, dir_id: dirId }, { ...enc_params });
  return { fileId, totalSha256: sha256, size, storedSize: file_size, volumes: 1, resumed: 0 };
}

/** Lets the server fetch the missing volumes. The caller sends those that it still lacks afterwards. */
async function pullMissing(
  { api, sender, signal }: UploadSession<StoredFile>,
  transfer: Transfer,
  host: NonNullable<PlacedOptions['pull']>,
): Promise<void> {
  const { transferId, supply } = transfer;
  const { size, volumeSize } = supply.layout;
  if (missingOf(sender, supply, transfer.here).length === 0) return;
  const params = { transfer_id: transferId };
  const offer = await host.serve(transferId, supply);
  const poll = setInterval(() => {
    api.call('pullStatus', { params, signal }).then(
      ({ pulled }) => sender.progress.begin(Math.min(pulled * volumeSize, size)),
      () => {}, // only the progress display misses a step
    );
  }, 500);
  try {
    await api.call('pull', { params, body: { base_url: offer.baseUrl, token: offer.token }, signal });
  } catch (error) {
    throw offer.failure() ?? error;
  } finally {
    clearInterval(poll);
    await offer.close();
  }
  const failure = offer.failure();
  if (failure) throw failure;
  transfer.here = new Set(await receivedNumbers(api, transferId, { signal }));
}

/** Ignores changes that may have kept the bytes, for a check during an upload: the final check decides. */
function unlessKept(error: unknown): void {
  if (!(error instanceof FileChangedError && error.mayBeKept)) throw error;
}
