import type { Volume } from '@szafa/protocol';
import type { Uses } from '../parts.ts';
import { inParallel } from '../platform/parallel.ts';
import { Service } from '../platform/service.ts';
import type { Body } from '../platform/volumes/body.ts';
import { transferGone } from './refusals.ts';
import type { TransferRow } from './transfer-rows.ts';

/** Volumes are recorded together, this many milliseconds after the first one. */
const GATHER_MS = 20;
/** If more volumes than this are unrecorded, the store is listed instead of being asked for each one. */
const MAX_LOOKUPS = 64;
const LOOKUPS_AT_ONCE = 8;

/**
 * Puts volumes into the store. If the store lists slowly, also records them in the database, so that complete need not list
 * ten thousand names. A record is written after the response and may be lost, so the store has the final word.
 */
export class ReceivedVolumes extends Service<Uses<'metadata' | 'volumes'>> {
  #unwritten = new Map<string, number[]>();
  /** Settles when the volumes being gathered have been written. */
  #gathering: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** Stores a volume. When this resolves, the verified bytes are durable. */
  async put(fileId: string, volume: Volume, body: Body): Promise<void> {
    await this.deps.volumes.put(fileId, volume, body).catch(transferGone);
    if (!this.deps.volumes.listsSlowly) return;
    const numbers = this.#unwritten.get(fileId);
    if (numbers) numbers.push(volume.idx);
    else this.#unwritten.set(fileId, [volume.idx]);
    this.#gathering ??= this.#gather();
  }

  /** Returns true if every volume has been received. False means unknown: list the store. */
  async hasAll({ file_id, chunk_count }: TransferRow): Promise<boolean> {
    if (!this.deps.volumes.listsSlowly) return false;
    await (this.#gathering ?? this.#writing);
    const recorded = await this.deps.metadata.receivedVolumes.numbers(file_id);
    if (chunk_count - recorded.size > MAX_LOOKUPS) return false;
    let all = true;
    const unrecorded = function* () {
      for (let idx = 1; idx <= chunk_count && all; idx++) if (!recorded.has(idx)) yield idx;
    };
    await inParallel(unrecorded(), LOOKUPS_AT_ONCE, async (idx) => {
      const { sha256 } = (await this.deps.metadata.files.volume(file_id, idx))!;
      const volume = await this.deps.volumes.open(file_id, { idx, sha256 }, false);
      if (!volume) all = false;
      await volume?.close();
    });
    return all;
  }

  async #gather(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    const unwritten = this.#unwritten;
    this.#unwritten = new Map();
    this.#gathering = undefined;
    this.#writing = this.#writing.then(() => this.#write(unwritten));
    await this.#writing;
  }

  async #write(received: Map<string, number[]>): Promise<void> {
    for (const [fileId, numbers] of received) {
      // Without these rows, complete only takes longer.
      await this.deps.metadata.receivedVolumes.add(fileId, numbers).catch(() => undefined);
    }
  }
}
