import type { Volume } from '@szafa/protocol';
import type { Metadata } from '../metadata.ts';
import { inParallel } from '../platform/parallel.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { groupGone } from './refusals.ts';
import type { TransferRow } from './transfers-table.ts';

/** Notes are written together, this many milliseconds after the first. */
const GATHER_MS = 20;
/** If no more notes than this are missing, the store is asked for each of those volumes. */
const ASKED_ONE_BY_ONE = 64;
const ASKED_AT_ONCE = 8;

/**
 * Volumes on their way into the store. Where the store is slow to list what it has, each is noted in the metadata
 * once the store has it, so that complete need not ask for ten thousand names. A note is written after the
 * answer and may get lost; the store stays the truth.
 */
export class Arrivals {
  readonly #metadata: Metadata;
  readonly #volumes: VolumeStore;
  #noted = new Map<string, number[]>();
  /** The notes that are gathered now, until they are written. */
  #gathering: Promise<void> | undefined;
  /** Those before them. */
  #written: Promise<void> = Promise.resolve();

  constructor(metadata: Metadata, volumes: VolumeStore) {
    this.#metadata = metadata;
    this.#volumes = volumes;
  }

  /** Takes a volume; once it resolves, the verified bytes are durable. */
  async take(fileId: string, volume: Volume, body: Body): Promise<void> {
    await this.#volumes.put(fileId, volume, body).catch(groupGone);
    if (!this.#volumes.listsSlowly) return;
    const numbers = this.#noted.get(fileId);
    if (numbers) numbers.push(volume.idx);
    else this.#noted.set(fileId, [volume.idx]);
    this.#gathering ??= this.#gather();
  }

  /** True when every volume is here; false says nothing. */
  async knowsAll({ file_id, chunk_count }: TransferRow): Promise<boolean> {
    if (!this.#volumes.listsSlowly) return false;
    await (this.#gathering ?? this.#written);
    const noted = await this.#metadata.arrivals.numbers(file_id);
    if (chunk_count - noted.size > ASKED_ONE_BY_ONE) return false;
    let all = true;
    const unknown = function* () {
      for (let idx = 1; idx <= chunk_count && all; idx++) if (!noted.has(idx)) yield idx;
    };
    await inParallel(unknown(), ASKED_AT_ONCE, async (idx) => {
      const { sha256 } = (await this.#metadata.files.volume(file_id, idx))!;
      const volume = await this.#volumes.open(file_id, { idx, sha256 }, false);
      if (!volume) all = false;
      await volume?.close();
    });
    return all;
  }

  async #gather(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    const noted = this.#noted;
    this.#noted = new Map();
    this.#gathering = undefined;
    this.#written = this.#written.then(() => this.#write(noted));
    await this.#written;
  }

  async #write(noted: Map<string, number[]>): Promise<void> {
    for (const [fileId, numbers] of noted) {
      // Without its notes a complete takes longer, that is all.
      await this.#metadata.arrivals.add(fileId, numbers).catch(() => undefined);
    }
  }
}
