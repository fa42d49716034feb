import { checkFile, type NewTransfer, RuleError, type SentInit, type Volume } from '@szafa/protocol';
import type { AccountRef } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import { toManifest } from '../files/manifest.ts';
import type { Metadata } from '../metadata.ts';
import type { DiskSpace } from '../platform/disk-space.ts';
import { isNoSpace, StoreError, StoreUnavailable, VolumeRejected } from '../platform/errors.ts';
import { ApiError, DetailError, OutOfScope, TryLater } from '../platform/http/api-error.ts';
import { newFileId } from '../platform/ids.ts';
import { inParallel } from '../platform/parallel.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { notTaken, refuse, unknownTransfer } from './refusals.ts';
import { type Creation, fileOf, type NewIds, transferOf } from './transfers-table.ts';

/** The sweeper treats a group that no record names as left behind, but not this soon. */
const UNNAMED_MS = 1_800_000;
/** Of one request: while some wait for the disk the next ones come in. */
const AT_ONCE = 16;

type Settings = Pick<Config, 'maxVolumeBytes' | 'quotaBytes' | 'quotaEnforced'>;

/** Who begins an upload, and by which session. */
export type Maker = AccountRef & { sessionId?: string | null };

export const makerOf = ({ username, accountId, sessionId = null }: Maker) => ({
  creator: username,
  accountId,
  madeBy: sessionId,
});

/** A file of one volume, under an id that the client made up. */
export interface WholeFile {
  transferId: string;
  /** What init takes; throws where it breaks a rule. */
  init: () => SentInit;
  /** How long the body is, where that is known before it comes. */
  announced: number | undefined;
  body: Body;
}

/** One of several in a request. */
export interface PartFile extends WholeFile {
  /** When its body is the next to come: until then nothing is held for it. */
  turn: Promise<void>;
  /** Reads what is left of its body, so that the next one can be read. */
  skip(): Promise<void>;
}

/** It is in the store, and no record names it yet. */
interface Stored {
  init: NewTransfer;
  ids: Required<NewIds>;
  since: number;
}

/** Beyond the specification: files of one volume, sent whole. Repeating a request returns the same files. */
export class WholeFiles {
  readonly #metadata: Metadata;
  readonly #volumes: VolumeStore;
  readonly #space: DiskSpace;
  readonly #settings: Settings;
  readonly #now: () => number;

  constructor(
    metadata: Metadata,
    volumes: VolumeStore,
    space: DiskSpace,
    settings: Settings,
    now: () => number,
  ) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#space = space;
    this.#settings = settings;
    this.#now = now;
  }

  /** `begin` asks the client for its body. */
  async receive(file: WholeFile, maker: Maker, begin: () => void): Promise<string> {
    const stored = await this.#store(file, maker, begin);
    const [created] = await this.#record([stored]);
    return this.#answer(stored, created!);
  }

  /**
   * Several in one request, one after the other; `end` sees that nothing else comes. Each has an answer of its own: the id of
   * the file, or why there is none. What does not concern one of them alone refuses all, and none of them is there.
   */
  async receiveAll(files: PartFile[], maker: Maker, end: () => Promise<void>): Promise<(string | Error)[]> {
    const answers: (string | Error)[] = [];
    const stored = new Map<number, Stored>();
    try {
      await inParallel(files.entries(), AT_ONCE, async ([at, file]) => {
        try {
          await file.turn;
          const one = await this.#store(file, maker).catch(ofOne);
          if (one instanceof Error) answers[at] = one;
          else stored.set(at, one);
        } finally {
          await file.skip();
        }
      });
      await end();
    } catch (error) {
      await Promise.all([...stored.values()].map((one) => this.#giveUp(one)));
      throw error;
    }
    const places = [...stored.keys()].sort((a, b) => a - b);
    const all = places.map((at) => stored.get(at)!);
    const created = await this.#record(all);
    await Promise.all(
      places.map(async (at, nth) => {
        answers[at] = await this.#answer(all[nth]!, created[nth]!).catch(ofOne);
      }),
    );
    return answers;
  }

  async #store(file: WholeFile, maker: Maker, begin?: () => void): Promise<Stored> {
    const init = checkFile(file.transferId, file.init(), this.#settings.maxVolumeBytes);
    const [volume] = init.volumes as [Volume];
    requireSize(volume, file.announced);
    const space = await this.#space.forBody(volume.size, file.body);
    begin?.();
    const { transferId } = file;
    const ids = { transferId, fileId: newFileId(), ...makerOf(maker), now: this.#now() };
    const stored = { init, ids, since: performance.now() };
    try {
      const record = fileOf(transferOf(init, ids, 'done'), ids.now);
      await this.#volumes.putFile(toManifest(record, maker.accountId, init.volumes), volume, space.body);
      return stored;
    } catch (error) {
      await this.#giveUp(stored);
      return notTaken(error);
    } finally {
      space.end();
    }
  }

  /** All of them together. */
  async #record(files: Stored[]): Promise<Creation[]> {
    if (files.length === 0) return [];
    if (files.some(({ since }) => performance.now() - since > UNNAMED_MS))
      throw new ApiError(409, 'the volume took too long to arrive');
    const quota = this.#settings.quotaEnforced ? this.#settings.quotaBytes : undefined;
    return this.#metadata.transfers.createDone(files, quota).catch(async (error: unknown) => {
      // Where this fails the records may be there all the same, so the volumes stay; not if the account is gone.
      if (error instanceof DetailError) await Promise.all(files.map((file) => this.#giveUp(file)));
      return notTaken(error);
    });
  }

  async #answer(stored: Stored, created: Creation): Promise<string> {
    const { init, ids } = stored;
    if (created === 'created') return ids.fileId;
    await this.#giveUp(stored);
    if (created !== 'taken') return refuse(created);
    const there = await this.#metadata.transfers.get(ids.transferId);
    if (!there) throw unknownTransfer();
    const isSame = there.creator === ids.creator && there.total_sha256 === init.totalSha256;
    return there.status === 'done' && isSame ? there.file_id : refuse(created);
  }

  #giveUp({ ids }: Stored): Promise<void> {
    return this.#volumes.discard(ids.fileId).catch(() => undefined /* the sweeper finds it */);
  }
}

const OF_ALL = [DetailError, OutOfScope, StoreUnavailable, TryLater];

/** A refusal of one file; whatever else it is, of the token, the connection or a store, goes on. */
function ofOne(error: unknown): Error {
  const ofAll = OF_ALL.some((kind) => error instanceof kind);
  const refused = [ApiError, StoreError, RuleError].some((kind) => error instanceof kind) || isNoSpace(error);
  if (refused && !ofAll) return error as Error;
  throw error;
}

export function requireSize(volume: Volume, announced: number | undefined): void {
  if (announced !== undefined && announced !== volume.size) {
    throw new VolumeRejected('size', `volume has ${announced} bytes instead of ${volume.size}`);
  }
}
