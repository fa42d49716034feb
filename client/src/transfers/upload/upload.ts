import { layoutOf, newSecrets, storedSize, totalSha256 } from '@szafa/format';
import { ApiError, FileChangedError } from '../../errors.ts';
import { range } from '../../pool.ts';
import { completeTransfer } from '../calls.ts';
import { ageOf, checkDescribable, declare, describe, epochOf, sizesOf } from './description.ts';
import type { DeclaredHeader, Journal, Remembered, UploadLog } from './journal.ts';
import type { PlacedOptions, UploadContext, UploadResult } from './options.ts';
import { OtherUploadError, Sender } from './sender.ts';
import { missingOf, recallTransfer, sendAndComplete, type Transfer } from './session.ts';
import type { Source } from './source.ts';
import { VolumeSupply } from './supply.ts';
import { cancel, logOf } from './unfinished.ts';
import { sendWhole, WHOLE_BYTES } from './whole.ts';

/** How often an upload is begun anew that met another one's volumes. */
const ATTEMPTS = 3;
const CANCEL_MS = 5_000;

interface Begun extends Transfer {
  /** Set if all digests and the header were sent with `init`; otherwise they come with the volumes and at the end. */
  declared: DeclaredHeader | undefined;
}

/** Seals and uploads a source of known length: one volume after the other is read, sealed, remembered and sent. */
export class Upload {
  readonly #context: UploadContext;
  readonly #source: Source;
  readonly #options: PlacedOptions;
  readonly #journal: Journal | undefined;
  readonly #sender: Sender;
  #log: UploadLog | undefined;

  constructor(context: UploadContext, source: Source, options: PlacedOptions) {
    this.#context = context;
    this.#source = source;
    this.#options = options;
    this.#sender = new Sender(context, options, source.size);
    // One volume is sent again sooner than its journal would be on disk.
    const resumable = source.identity !== undefined && layoutOf(source.size, options.volumeSize).count > 1;
    this.#journal = resumable ? options.journal : undefined;
  }

  async run(): Promise<UploadResult> {
    const { path, signal } = this.#options;
    if (this.#journal) {
      this.#log = await logOf(this.#context, this.#journal, { place: this.#source.place, path }, signal);
    }
    let begun = await this.#resume();
    for (let attempt = 1; ; attempt++) {
      try {
        return begun ? await this.#finish(begun) : await this.#anew();
      } catch (error) {
        // Changed without a trace in its identity. Under a new key it can be uploaded as it is now.
        const changed = error instanceof FileChangedError && begun !== undefined;
        if (!changed && !(error instanceof OtherUploadError)) throw error;
        if (attempt === ATTEMPTS) throw error;
        await this.#source.check().catch(unlessKept);
        begun = undefined;
      }
    }
  }

  /** What an earlier attempt left, where all that the service has of it is remembered here; otherwise that is given up. */
  async #resume(): Promise<Begun | undefined> {
    const remembered = await this.#log?.load();
    if (!remembered) return undefined;
    const { transferId } = remembered.state;
    const { signal } = this.#options;
    try {
      const begun = this.#isSame(remembered) ? await this.#found(remembered) : undefined;
      if (begun && (!begun.grown || (await begun.supply.isKept(begun.here, signal)))) return begun;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error; // 404: cleared away meanwhile
    }
    await cancel(this.#context, transferId, signal);
    await this.#log!.end();
    return undefined;
  }

  #isSame({ state: { identity, layout, declared } }: Remembered): boolean {
    const { pull, after = 0 } = this.#options;
    // Its `gen` is sealed already: behind a file that came meanwhile it would be an older version.
    const fits = declared ? declared.gen > after : !pull;
    const same = identity === this.#source.identity && layout.size === this.#source.size;
    // What was uploaded of a file that has grown since is compared with what it begins with now.
    return fits && (same || this.#source.extends?.(identity) === true);
  }

  async #found(remembered: Remembered): Promise<Begun | undefined> {
    const { api, engine } = this.#context;
    const { signal, after = 0 } = this.#options;
    const { state, volumes, completing } = remembered;
    const { transferId, layout, declared } = state;
    const source = this.#source;
    if (!declared) {
      const transfer = await recallTransfer({ api, engine, source, signal }, remembered);
      const description = completing && completing.gen > after ? completing.description : undefined;
      return transfer && { ...transfer, declared, description };
    }
    if (volumes.size < layout.count) return undefined;
    const records = new Map([...volumes].map(([idx, known]) => [idx, known.at(-1)!]));
    const supply = new VolumeSupply({ engine, source, layout, secrets: state, records });
    const here = await this.#received(transferId);
    const grown = layout.size < source.size;
    return { transferId, supply, here, resumed: true, declared, description: undefined, grown };
  }

  async #received(transferId: string): Promise<Set<number>> {
    const { signal } = this.#options;
    const request = { params: { transfer_id: transferId }, signal };
    return new Set((await this.#context.api.call('received', request)).received);
  }

  async #anew(): Promise<UploadResult> {
    const { pull, volumeSize } = this.#options;
    const layout = layoutOf(this.#source.size, volumeSize);
    const small = layout.count === 1 && layout.size <= WHOLE_BYTES;
    const whole = small && !pull ? await this.#sendWhole() : undefined;
    if (whole) return whole;
    const supply = this.#supply();
    try {
      return await this.#finish(pull ? await this.#declare(supply) : await this.#begin(supply));
    } finally {
      supply.burn();
    }
  }

  #supply(): VolumeSupply {
    const { engine } = this.#context;
    const layout = layoutOf(this.#source.size, this.#options.volumeSize);
    return new VolumeSupply({ engine, source: this.#source, layout, secrets: newSecrets(engine) });
  }

  async #sendWhole(): Promise<UploadResult | undefined> {
    const supply = this.#supply();
    const sealed = await supply.take(1);
    try {
      const grown = await supply.confirm(this.#options.signal);
      const whole = await sendWhole(this.#context, supply, sealed, this.#options, this.#sender.progress);
      return whole && { ...whole, grown };
    } finally {
      sealed.release();
      supply.burn();
    }
  }

  async #begin(supply: VolumeSupply): Promise<Begun> {
    const { engine, keys } = this.#context;
    const { dirId, signal } = this.#options;
    await checkDescribable(engine, await keys.current(signal), supply, this.#options);
    const chunks = sizesOf(supply.layout);
    const body = { chunk_count: chunks.length, chunks, dir_id: dirId };
    const { transfer_id: transferId } = await this.#context.api.call('init', {
      body: { streamed: true, ...body },
      signal,
    });
    await this.#remember(transferId, supply);
    const begun = { transferId, supply, here: new Set<number>(), resumed: false, grown: false };
    return { ...begun, declared: undefined, description: undefined };
  }

  /** With all digests, for which everything is sealed once more than it is sent. */
  async #declare(supply: VolumeSupply): Promise<Begun> {
    const { api, engine, keys } = this.#context;
    const { signal } = this.#options;
    await supply.digest(range(1, supply.layout.count), signal);
    await this.#source.check().catch(unlessKept);
    const age = ageOf(this.#options);
    const master = await keys.current(signal);
    const description = await describe(engine, master, supply, age, this.#options);
    const { transfer_id: transferId } = await api.call('init', {
      body: declare(description, supply, this.#options),
      signal,
    });
    const declared = { gen: age.gen, epoch: master.epoch };
    await this.#remember(transferId, supply, declared);
    const begun = { transferId, supply, here: new Set<number>(), resumed: false, grown: false };
    return { ...begun, declared, description };
  }

  async #remember(transferId: string, { secrets, layout, records }: VolumeSupply, declared?: DeclaredHeader) {
    const { identity = '', place = '' } = this.#source;
    const { path } = this.#options;
    try {
      await this.#log?.begin({ transferId, path, place, ...secrets, identity, layout, declared }, records);
    } catch (error) {
      await this.#giveUp(transferId);
      throw error;
    }
  }

  async #finish(begun: Begun): Promise<UploadResult> {
    const { transferId, supply, resumed } = begun;
    const already = resumed ? begun.here.size : 0;
    const { layout } = supply;
    const { engine, memory } = this.#context;
    const session = { engine, memory, sender: this.#sender, log: this.#log, signal: this.#options.signal };
    try {
      await this.#pull(begun);
      const file = await sendAndComplete(session, begun, !begun.declared, () => this.#complete(begun));
      const { size, count } = layout;
      const { grown } = begun;
      return { ...file, size, grown, storedSize: storedSize(layout), volumes: count, resumed: already };
    } catch (error) {
      const lost = error instanceof ApiError && error.status === 404;
      const ended = error instanceof FileChangedError || error instanceof OtherUploadError;
      if (ended || lost || !this.#log) await this.#giveUp(transferId);
      throw error;
    } finally {
      supply.burn();
    }
  }

  async #complete(
    begun: Begun,
  ): Promise<Pick<UploadResult, 'fileId' | 'totalSha256'> | { received: number[] }> {
    const { api, engine, keys } = this.#context;
    const { signal } = this.#options;
    const { transferId, supply, declared } = begun;
    // A header under an earlier master key would be refused once the rekey is done.
    const master = await keys.current(signal);
    if (declared && declared.epoch < master.epoch)
      throw new OtherUploadError('the keys of this account have changed since the upload began');
    if (!declared && (!begun.description || epochOf(begun.description) < master.epoch)) {
      const age = ageOf(this.#options);
      begun.description = await describe(engine, master, supply, age, this.#options);
      // Whoever has to ask again, in another process even, says the same, and is told the same file.
      await this.#log?.complete(begun.description, age.gen);
    }
    const answer = declared
      ? await completeTransfer(api, transferId, undefined, { signal })
      : await completeTransfer(api, transferId, begun.description!, { signal }).catch(conflicting);
    if (!('file_id' in answer)) return answer;
    await this.#log?.end();
    const total = await totalSha256(engine, supply.digests);
    return { fileId: answer.file_id, totalSha256: total.toHex() };
  }

  /** Has the service fetch what it lacks, where it is asked to; what it then still lacks is sent. */
  async #pull(begun: Begun): Promise<void> {
    const { api } = this.#context;
    const { signal, pull } = this.#options;
    const { transferId, supply } = begun;
    const { layout } = supply;
    if (!pull || missingOf(this.#sender, supply, begun.here).length === 0) return;
    const offer = await pull.serve(transferId, supply);
    const poll = setInterval(() => {
      api.call('pullStatus', { params: { transfer_id: transferId }, signal }).then(
        ({ pulled }) => this.#sender.progress.begin(Math.min(pulled * layout.volumeSize, layout.size)),
        () => {}, // only the progress display misses a step
      );
    }, 500);
    try {
      await api.call('pull', {
        params: { transfer_id: transferId },
        body: { base_url: offer.baseUrl, token: offer.token },
        signal,
      });
    } catch (error) {
      throw offer.failure() ?? error;
    } finally {
      clearInterval(poll);
      await offer.close();
    }
    const failure = offer.failure();
    if (failure) throw failure;
    begun.here = await this.#received(transferId);
  }

  /** Frees what the service holds. The reason for giving up is what the caller has to hear. */
  async #giveUp(transferId: string): Promise<void> {
    await this.#log?.end();
    // The service clears abandoned transfers away by itself.
    await cancel(this.#context, transferId, AbortSignal.timeout(CANCEL_MS)).catch(() => {});
  }
}

/** For a check in the middle: whether the bytes are still there is found out at the end. */
function unlessKept(error: unknown): void {
  if (!(error instanceof FileChangedError && error.mayBeKept)) throw error;
}

/** It was completed by somebody else, as another file. Other refusals pass, and have a status. */
function conflicting(error: unknown): never {
  if (!(error instanceof ApiError && error.status === 409) || 'status' in error.body) throw error;
  throw new OtherUploadError('the server has completed this upload as another file', { cause: error });
}
