/** The steps of an upload of known size, into the caller's account or by a visitor to a file request. */
import { type Engine, extentOf, sealedSize } from '@szafa/format';
import type { CompleteBody } from '@szafa/protocol';
import type { Api } from '../../call.ts';
import { SzafaError } from '../../errors.ts';
import { forEach, range } from '../../pool.ts';
import { cancelTransfer, receivedNumbers, receivedVolumes } from '../calls.ts';
import type { DeclaredHeader, LoggedUpload, UploadLog, UploadState } from './journal.ts';
import type { VolumeMemory } from './memory.ts';
import type { Sender } from './sender.ts';
import type { Source } from './source.ts';
import { VolumeSupply } from './supply.ts';

/** How often to send volumes again that the server had accepted but lost. */
const ROUNDS = 3;
const CANCEL_MS = 5_000;

/** A transfer on the server, new or resumed. */
export interface Transfer {
  transferId: string;
  supply: VolumeSupply;
  /** Numbers of the volumes that the server has. */
  here: Set<number>;
  /** Set if `init` has sent the header and all digests; otherwise digests are sent with the volumes, and the header at the end. */
  declared?: DeclaredHeader | undefined;
  /** The body of `complete`; undefined until the file has been described. */
  description?: CompleteBody | undefined;
  /** Whether the source is longer than the uploaded part. */
  grown: boolean;
}

export const newTransfer = (transferId: string, supply: VolumeSupply): Transfer => ({
  transferId,
  supply,
  here: new Set(),
  grown: false,
});

/** An upload and its destination. */
export interface UploadSession<Done extends object> {
  /** Sends the requests of the transfer, with the token of the account or of the visitor's upload. */
  api: Api;
  engine: Engine;
  memory: VolumeMemory;
  source: Source;
  sender: Sender;
  log: UploadLog | undefined;
  signal: AbortSignal | undefined;
  /** Whether the header is sent with `init`. */
  declares: boolean;
  /** Whether a file with this `gen` would be the newest at its path. */
  isNewest(gen: number): boolean;
  /** Prepares `api`, and creates the transfer if the previous process could not know whether it exists. */
  reconnect?(state: UploadState): Promise<void>;
  /** Whether an error means that the server no longer has the transfer. */
  isGone(error: unknown, state: UploadState): boolean;
  /** Whether an error means that the transfer cannot be completed later. */
  isFinal(error: unknown): boolean;
  /** Lets the server fetch volumes itself. */
  pull?(transfer: Transfer): Promise<void>;
  complete(transfer: Transfer): Promise<Done | { received: number[] }>;
}

/**
 * Resumes the upload in the journal. The source must still start with the uploaded part, and every volume on the server must be recorded.
 * Otherwise cancels the upload and returns undefined.
 */
export async function resumeUpload(session: UploadSession<object>): Promise<Transfer | undefined> {
  const { api, log, source, signal } = session;
  const logged = await log?.load();
  if (!logged) return undefined;
  const { state } = logged;
  const { identity, layout, declared } = state;
  try {
    await session.reconnect?.(state);
    // The `gen` of a declared header is sealed: if the path has a newer file by now, this one would become an older version.
    const fits = declared ? session.isNewest(declared.gen) : !session.declares;
    const isSame = identity === source.identity && layout.size === source.size;
    // If the file has grown, its beginning is compared with the uploaded part.
    const isUsable = fits && (isSame || source.extends?.(identity) === true);
    const transfer = isUsable ? await recall(session, logged) : undefined;
    if (transfer && (!transfer.grown || (await transfer.supply.isKept(transfer.here, signal))))
      return transfer;
    await cancelTransfer(api, state.transferId, { signal });
  } catch (error) {
    if (!session.isGone(error, state)) throw error;
  }
  await log!.end();
  return undefined;
}

/**
 * Restores a transfer. Returns undefined if the server has a volume that is not in the journal: another process sent it, or the journal
 * was restored from a copy. The key must not seal that volume again.
 */
async function recall(
  { api, engine, source, signal, isNewest }: UploadSession<object>,
  { state, volumes, completing }: LoggedUpload,
): Promise<Transfer | undefined> {
  const { transferId, layout, declared } = state;
  const records = new Map([...volumes].map(([idx, known]) => [idx, known.at(-1)!]));
  if (declared && records.size < layout.count) return undefined;
  const here = new Set(declared && (await receivedNumbers(api, transferId, { signal })));
  for (const { idx, sha256 } of declared ? [] : await receivedVolumes(api, transferId, { signal })) {
    const record = volumes.get(idx)?.find(({ digest }) => digest.toHex() === sha256);
    if (!record) return undefined;
    records.set(idx, record);
    here.add(idx);
  }
  const supply = new VolumeSupply({ engine, source, layout, secrets: state, records });
  const description = completing && isNewest(completing.gen) ? completing.description : undefined;
  return { transferId, supply, here, declared, description, grown: layout.size < source.size };
}

/** Returns the volumes that the server lacks, and starts the progress at the bytes that it has. */
export function missingOf({ progress }: Sender, { layout }: VolumeSupply, here: Set<number>): number[] {
  const missing = [...range(1, layout.count)].filter((idx) => !here.has(idx));
  progress.begin(missing.reduce((left, idx) => left - extentOf(layout, idx).length, layout.size));
  return missing;
}

/**
 * Sends the missing volumes, proves that all come from one state of the source, and completes the transfer. Repeats this if the server
 * lost volumes in the meantime.
 */
export async function finishUpload<Done extends object>(
  session: UploadSession<Done>,
  transfer: Transfer,
): Promise<Done & { size: number; grown: boolean; resumed: number }> {
  const { log, signal } = session;
  const { supply } = transfer;
  const resumed = transfer.here.size;
  try {
    await session.pull?.(transfer);
    for (let round = 1; round <= ROUNDS; round++) {
      await sendMissing(session, transfer);
      transfer.grown = (await supply.confirm(signal)) || transfer.grown;
      const answer = await session.complete(transfer);
      if (!('received' in answer)) {
        await log?.end();
        return { ...answer, size: supply.layout.size, grown: transfer.grown, resumed };
      }
      transfer.here = new Set(answer.received);
    }
    throw new SzafaError('incomplete', 'the server keeps losing volumes that it had accepted');
  } catch (error) {
    if (session.isFinal(error)) await discardTransfer(session, transfer.transferId);
    throw error;
  } finally {
    supply.burn();
  }
}

/** Cancels a failed transfer so that the server frees its space at once. Never throws. */
export async function discardTransfer(
  { api, log }: Pick<UploadSession<object>, 'api' | 'log'>,
  transferId: string,
): Promise<void> {
  await cancelTransfer(api, transferId, { signal: AbortSignal.timeout(CANCEL_MS) }).catch(() => {});
  // Removed last: if this process is stopped before, the next one can still cancel the transfer.
  await log?.end();
}

/** Reads, seals, records and sends the missing volumes. Seals some while others are being sent. */
async function sendMissing(session: UploadSession<object>, transfer: Transfer): Promise<void> {
  const { engine, memory, sender, log, signal } = session;
  const { transferId, supply, here } = transfer;
  const { layout, records } = supply;
  const streamed = !transfer.declared;
  await forEach(missingOf(sender, supply, here), sender.parallel + engine.parallel, async (idx) => {
    const { length } = extentOf(layout, idx);
    const lease = await memory.take(sealedSize(length));
    try {
      signal?.throwIfAborted();
      const isNew = !records.has(idx);
      const sealed = await supply.take(idx);
      try {
        if (isNew) await log?.volume(idx, sealed);
        await sender.send(transferId, idx, sealed, { length, streamed });
      } finally {
        sealed.release();
      }
    } finally {
      lease.release();
    }
  });
}
