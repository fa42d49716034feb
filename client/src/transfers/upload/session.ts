/** The steps that every upload of a known size has: into the own account, or by a visitor to the owner of a request. */
import { type Engine, extentOf, sealedSize } from '@szafa/format';
import type { CompleteBody } from '@szafa/protocol';
import type { Api } from '../../call.ts';
import { SzafaError } from '../../errors.ts';
import { forEach, range } from '../../pool.ts';
import { receivedVolumes } from '../calls.ts';
import type { Remembered, UploadLog } from './journal.ts';
import type { VolumeMemory } from './memory.ts';
import type { Sender } from './sender.ts';
import type { Source } from './source.ts';
import { VolumeSupply } from './supply.ts';

/** How often a server may lose volumes that it had accepted. */
const ROUNDS = 3;

/** A transfer on the server, new or resumed. */
export interface Transfer {
  transferId: string;
  supply: VolumeSupply;
  /** Volumes that the server has. */
  here: Set<number>;
  resumed: boolean;
  /** What `complete` is told; undefined until the file is described. */
  description: CompleteBody | undefined;
  /** There is more in the source than is uploaded of it. */
  grown: boolean;
}

interface Session {
  engine: Engine;
  memory: VolumeMemory;
  sender: Sender;
  log: UploadLog | undefined;
  signal: AbortSignal | undefined;
}

/**
 * A remembered streamed transfer, with the volumes that the server has of it. Undefined if the server has one that is not in
 * the journal: another process sent it, or the journal was restored from a copy. Then the key must not seal that volume again.
 */
export async function recallTransfer(
  {
    api,
    engine,
    source,
    signal,
  }: { api: Api; engine: Engine; source: Source; signal?: AbortSignal | undefined },
  { state, volumes, completing }: Remembered,
): Promise<Transfer | undefined> {
  const { transferId, layout } = state;
  const records = new Map([...volumes].map(([idx, known]) => [idx, known.at(-1)!]));
  const here = new Set<number>();
  for (const { idx, sha256 } of await receivedVolumes(api, transferId, { signal })) {
    const record = volumes.get(idx)?.find(({ digest }) => digest.toHex() === sha256);
    if (!record) return undefined;
    records.set(idx, record);
    here.add(idx);
  }
  const supply = new VolumeSupply({ engine, source, layout, secrets: state, records });
  const grown = layout.size < source.size;
  return { transferId, supply, here, resumed: true, description: completing?.description, grown };
}

/** The volumes that the server lacks; the progress starts behind the others. */
export function missingOf({ progress }: Sender, { layout }: VolumeSupply, here: Set<number>): number[] {
  const missing = [...range(1, layout.count)].filter((idx) => !here.has(idx));
  progress.begin(missing.reduce((left, idx) => left - extentOf(layout, idx).length, layout.size));
  return missing;
}

/**
 * Sends what the server lacks, proves that it is one state of the source, and completes the transfer; again if the server lost
 * volumes in the meantime. `grown` of the transfer says afterwards whether the source has become longer.
 */
export async function sendAndComplete<Done extends object>(
  session: Session,
  transfer: Transfer,
  streamed: boolean,
  complete: () => Promise<Done | { received: number[] }>,
): Promise<Done> {
  for (let round = 1; round <= ROUNDS; round++) {
    await sendMissing(session, transfer, streamed);
    transfer.grown = (await transfer.supply.confirm(session.signal)) || transfer.grown;
    const answer = await complete();
    if (!('received' in answer)) return answer;
    transfer.here = new Set(answer.received);
  }
  throw new SzafaError('incomplete', 'the server keeps losing volumes that it had accepted');
}

/** Reads, seals, records and sends what the server lacks; some volumes are sealed while others travel. */
async function sendMissing(session: Session, transfer: Transfer, streamed: boolean): Promise<void> {
  const { engine, memory, sender, log, signal } = session;
  const { transferId, supply, here } = transfer;
  const { layout, records } = supply;
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
