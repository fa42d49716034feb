import { encodeInit, type InitBody } from '@szafa/protocol';
import { ApiError, FileChangedError, SzafaError } from '../errors.ts';
import type { Master } from '../format/bag.ts';
import { newSecrets } from '../format/header.ts';
import { extentOf, type Layout, largestVolume, layoutOf, storedSize } from '../format/layout.ts';
import { totalSha256 } from '../format/volume.ts';
import { forEach, lanesFor } from '../pool.ts';
import { Budget } from './budget.ts';
import { initBody } from './init-body.ts';
import { type Journal, openState, sealState } from './journal.ts';
import type { PullHost, UploadContext, UploadOptions, UploadResult } from './options.ts';
import { Semaphore } from './semaphore.ts';
import type { Source } from './source.ts';
import { VolumeSupply } from './supply.ts';
import { keyOf } from './unfinished.ts';

const PARALLEL = 4;
/** How often a service may say that volumes it had taken are missing. */
const ROUNDS = 3;

/** A larger file is better begun first: it may be refused before it is sent, and goes on where it was. */
const WHOLE_BYTES = 1024 * 1024;

interface Prepared {
  supply: VolumeSupply;
  init: InitBody;
}

interface Begun {
  transferId: string;
  supply: VolumeSupply;
  received: number[];
  resumed: boolean;
}

/** Seals and uploads a source of known length. */
export class Upload {
  readonly #context: UploadContext;
  readonly #source: Source;
  readonly #options: UploadOptions;
  readonly #journal: Journal | undefined;
  readonly #gen: number;
  readonly #added: number;
  #journalKey = '';
  #done = 0;

  constructor(context: UploadContext, source: Source, options: UploadOptions) {
    this.#context = context;
    this.#source = source;
    this.#options = options;
    const { added = Date.now(), after = 0 } = options;
    this.#gen = Math.min(after + 1, Number.MAX_SAFE_INTEGER);
    this.#added = added;
    // One volume is sent again sooner than its journal would be on disk.
    const resumable = source.identity !== undefined && layoutOf(source.size, options.volumeSize).count > 1;
    this.#journal = resumable ? options.journal : undefined;
  }

  async run(): Promise<UploadResult> {
    const { keys } = this.#context;
    const { name, dirId, signal } = this.#options;
    const master = await keys.current(signal);
    if (this.#journal) {
      this.#journalKey = await keyOf(this.#context, { place: this.#source.place, name, dirId });
    }
    const resumed = await this.#resume(master);
    if (resumed) {
      try {
        return await this.#finish(resumed);
      } catch (error) {
        // Changed without a trace in its identity. Under a new key it can be uploaded as it is now.
        if (!(error instanceof FileChangedError)) throw error;
      }
    }
    const prepared = await this.#prepare(master);
    return (await this.#sendWhole(prepared)) ?? this.#finish(await this.#begin(master, prepared));
  }

  async #resume(master: Master): Promise<Begun | undefined> {
    const { api, engine } = this.#context;
    const { signal, after = 0 } = this.#options;
    const entry = await this.#journal?.load(this.#journalKey);
    if (!entry) return undefined;
    const state = await openState(engine, master.key, entry.slice());
    try {
      const same = state?.identity === this.#source.identity && state?.layout.size === this.#source.size;
      // Its `gen` is sealed already: behind a file that came meanwhile it would be an older version.
      if (state && same && state.gen > after) {
        const received = await api.received(state.transferId, { signal });
        const supplied = { engine, source: this.#source, layout: state.layout, secrets: state, signal };
        const supply = VolumeSupply.resume(supplied, state.digests, state.salts);
        return { transferId: state.transferId, supply, received, resumed: true };
      }
      if (state) await api.cancel(state.transferId, { signal });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error; // 404: cleared away meanwhile
    }
    await this.#journal?.remove(this.#journalKey);
    return undefined;
  }

  async #prepare(master: Master): Promise<Prepared> {
    const { engine } = this.#context;
    const { signal, onProgress } = this.#options;
    const source = this.#source;
    const layout = layoutOf(source.size, this.#options.volumeSize);
    const secrets = newSecrets(engine);
    const { memoryBudget } = this.#options;
    const budget = memoryBudget === undefined ? this.#context.budget : new Budget(memoryBudget);
    const shelf = this.#options.shelf ?? budget;
    let sealed = 0;
    const supply = await VolumeSupply.prepare({ engine, source, layout, secrets, signal }, shelf, (bytes) => {
      sealed += bytes;
      onProgress?.({ phase: 'prepare', done: sealed, total: layout.size });
    });
    try {
      // One volume is read once: it is a file as it stood at some moment, which a log that grows never is for long.
      if (layout.count > 1) await source.check();
      const init = await initBody(engine, master, supply, {
        ...this.#options,
        gen: this.#gen,
        added: this.#added,
      });
      return { supply, init };
    } catch (error) {
      supply.burn();
      throw error;
    }
  }

  /** A small file in one request, where the service takes it; its sealed bytes are all there is to send. */
  async #sendWhole({ supply, init }: Prepared): Promise<UploadResult | undefined> {
    const { api, engine } = this.#context;
    const { signal, pull } = this.#options;
    const { layout } = supply;
    const header = pull || layout.count > 1 || layout.size > WHOLE_BYTES ? undefined : encodeInit(init);
    if (header === undefined) return undefined;
    const { body, release } = await supply.takeBody(1);
    try {
      const transferId = engine.random(20).toBase64({ alphabet: 'base64url', omitPadding: true });
      const onBytes = (bytes: number) => this.#count(layout, bytes);
      const answer = await api.writeFile(transferId, header, body, { signal, onBytes });
      return (
        answer && {
          fileId: answer.file_id,
          totalSha256: init.total_sha256,
          storedSize: init.file_size,
          volumes: 1,
          resumed: 0,
        }
      );
    } finally {
      release();
    }
  }

  async #begin(master: Master, { supply, init }: Prepared): Promise<Begun> {
    const { api, engine } = this.#context;
    const { layout, secrets, digests, salts } = supply;
    try {
      const { transfer_id: transferId } = await api.init(init, { signal: this.#options.signal });
      if (this.#journal) {
        const identity = this.#source.identity!;
        const state = {
          transferId,
          ...secrets,
          identity,
          gen: this.#gen,
          added: this.#added,
          layout,
          digests,
          salts,
        };
        await this.#journal.store(this.#journalKey, await sealState(engine, master.key, state));
      }
      return { transferId, supply, received: [], resumed: false };
    } catch (error) {
      supply.burn();
      throw error;
    }
  }

  async #finish({ transferId, supply, received, resumed }: Begun): Promise<UploadResult> {
    const { api, engine } = this.#context;
    const { signal, pull } = this.#options;
    const { layout } = supply;
    try {
      let here = received;
      if (pull && here.length < layout.count) {
        await this.#pull(pull, transferId, supply);
        here = await api.received(transferId, { signal });
      }
      for (let round = 1; ; round++) {
        await this.#push(transferId, supply, here);
        if (layout.count > 1) await this.#source.check();
        const answer = await api.complete(transferId, { signal });
        if ('file_id' in answer) {
          await this.#journal?.remove(this.#journalKey);
          return {
            fileId: answer.file_id,
            totalSha256: (await totalSha256(engine, supply.digests)).toHex(),
            storedSize: storedSize(layout),
            volumes: layout.count,
            resumed: resumed ? received.length : 0,
          };
        }
        if (round === ROUNDS)
          throw new SzafaError('incomplete', 'the server keeps losing volumes that it had accepted');
        here = answer.received;
      }
    } catch (error) {
      const lost = error instanceof ApiError && error.status === 404;
      if (error instanceof FileChangedError) supply.burn();
      if (error instanceof FileChangedError || lost || !this.#journal) await this.#giveUp(transferId);
      throw error;
    } finally {
      supply.release();
    }
  }

  async #push(transferId: string, supply: VolumeSupply, received: number[]): Promise<void> {
    const { api, engine } = this.#context;
    const { signal, parallel = PARALLEL } = this.#options;
    const { layout } = supply;
    const here = new Set(received);
    const missing: number[] = [];
    this.#done = 0;
    for (let idx = 1; idx <= layout.count; idx++) {
      if (!here.has(idx)) missing.push(idx);
      else this.#count(layout, extentOf(layout, idx).length);
    }
    // Some lanes seal while others send.
    const lanes = lanesFor(largestVolume(layout), parallel + engine.parallel);
    const sending = new Semaphore(parallel);
    await forEach(missing, lanes, async (idx) => {
      signal?.throwIfAborted();
      const { body, release } = await supply.takeBody(idx);
      try {
        await sending.run(() =>
          api.writeVolume(transferId, idx, body, {
            signal,
            onBytes: (bytes) => this.#count(layout, bytes),
          }),
        );
      } finally {
        release();
      }
    });
  }

  async #pull(host: PullHost, transferId: string, supply: VolumeSupply): Promise<void> {
    const { api } = this.#context;
    const { signal } = this.#options;
    const { layout } = supply;
    const offer = await host.serve(transferId, supply);
    const poll = setInterval(() => {
      api.pullStatus(transferId, { signal }).then(
        ({ pulled }) => {
          this.#done = 0;
          this.#count(layout, Math.min(pulled * layout.volumeSize, layout.size));
        },
        () => {}, // only the progress display misses a step
      );
    }, 500);
    try {
      await api.pull(transferId, { base_url: offer.baseUrl, token: offer.token }, { signal });
    } catch (error) {
      throw offer.failure() ?? error;
    } finally {
      clearInterval(poll);
      await offer.close();
    }
    const failure = offer.failure();
    if (failure) throw failure;
  }

  #count(layout: Layout, bytes: number): void {
    this.#done += bytes;
    const done = Math.max(0, Math.min(this.#done, layout.size));
    this.#options.onProgress?.({ phase: 'send', done, total: layout.size });
  }

  /** Frees what the service holds. The reason for giving up is what the caller has to hear. */
  async #giveUp(transferId: string): Promise<void> {
    await this.#journal?.remove(this.#journalKey);
    try {
      await this.#context.api.cancel(transferId, { signal: AbortSignal.timeout(5_000) });
    } catch {
      // The service clears abandoned transfers away by itself.
    }
  }
}
