import type { PullBody, PullProgress, Volume } from '@szafa/protocol';
import type { Config } from '../../config.ts';
import type { Metadata } from '../../metadata.ts';
import type { DiskSpace, Reservation } from '../../platform/disk-space.ts';
import { VolumeRejected } from '../../platform/errors.ts';
import { ApiError, TryLater } from '../../platform/http/api-error.ts';
import { inParallel } from '../../platform/parallel.ts';
import type { ReceivedVolumes } from '../received-volumes.ts';
import { unknownTransfer } from '../refusals.ts';
import type { TransferRow } from '../transfer-rows.ts';
import type { Transfers } from '../transfers.ts';
import type { TransferState } from '../transfers-table.ts';
import { Landing, LandingFolders } from './landing.ts';
import { formatRanges, parseRanges } from './number-ranges.ts';
import { checkPullAddress, PullError, runPull } from './pull.ts';

const LEASE_MS = 15_000;
const REPORT_MS = 500;
const VERIFIED_AT_ONCE = 4;
/** How long a pull waits for others to end, how many wait in a process, and how often they look. */
const WAIT_MS = 10_000;
const MOST_WAITING = 64;
const LOOK_MS = 500;
const RETRY_SECONDS = 5;

interface Dependencies {
  metadata: Metadata;
  space: DiskSpace;
  transfers: Transfers;
  receivedVolumes: ReceivedVolumes;
  config: Pick<Config, 'dataFolder' | 'pullAllow' | 'pullsOfAccount' | 'pullsOfNode'>;
  /** Names this process among those that share the stores, and its node. */
  runner: string;
  node: string;
  /** Called for every pulled volume that failed verification. */
  onRejected: (error: VolumeRejected) => void;
  now?: () => number;
}

/** Fetches volumes from the client's temporary server and passes them through the receiver. */
export class Pulls {
  readonly #deps: Dependencies;
  readonly #folders: LandingFolders;
  readonly #now: () => number;
  readonly #stop = new AbortController();
  /** Pulls waiting for their turn, in order. */
  readonly #waiting = new Set<() => void>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#folders = new LandingFolders(deps.config.dataFolder);
    this.#now = deps.now ?? Date.now;
  }

  /** `from`: who calls, the address that is theirs, if one is known to be, and how many bytes a second they may send. */
  async pull(
    transferId: string,
    body: PullBody,
    from: { caller: string; own: string | undefined; rate?: number | undefined },
  ): Promise<PullProgress> {
    const { metadata, transfers, config, space } = this.#deps;
    const transfer = await transfers.find(transferId);
    checkPullAddress(body.base_url, body.token);
    if (transfer.status === 'storing' || transfer.status === 'done') {
      throw new ApiError(409, 'the transfer is complete');
    }
    if (transfer.streamed !== 'no') throw new ApiError(409, 'a streamed transfer is not pulled');
    await this.#claim(transferId, from.caller);
    const cancelled = new AbortController();
    const reporter = new Reporter(metadata, {
      transferId,
      runner: this.#deps.runner,
      now: this.#now,
      onGone: () => cancelled.abort(),
    });
    let room: Reservation | undefined;
    try {
      const landing = await this.#folders.make(transfer.file_id);
      const specs = await metadata.files.volumes(transfer.file_id);
      // What an earlier pull left is on the disk already.
      const missing = transfer.stored_size - (await Landing.bytes(landing, specs));
      room = await space.forLanding(missing, largest(specs));
      const { landed } = await runPull({
        transferId,
        baseUrl: body.base_url,
        token: body.token,
        volumes: specs,
        landing,
        allow: (address) => address === from.own || config.pullAllow.contains(address),
        rate: from.rate,
        signal: AbortSignal.any([this.#stop.signal, cancelled.signal]),
        onLanded: (numbers) => reporter.landed(numbers),
      });
      // It may have been cancelled meanwhile, and then there is nothing to record for.
      await transfers.find(transferId);
      const pulled = await this.#record(transfer, specs, landed);
      reporter.landed(new Set());
      await this.#folders.remove(transfer.file_id);
      return { pulled, total: transfer.chunk_count };
    } catch (error) {
      const overtaken = await this.#overtaken(transfer);
      if (overtaken) throw overtaken;
      if (!(error instanceof PullError)) throw error;
      throw new ApiError(error.kind === 'cannot-start' ? 500 : 409, error.message, {
        cause: error.cause,
      });
    } finally {
      room?.end();
      await reporter.end().finally(() => this.#callNext());
    }
  }

  /** A few at once for an account and for a node: each is a process with 32 connections, for up to an hour. */
  async #claim(transferId: string, caller: string): Promise<void> {
    const { metadata, config, runner, node } = this.#deps;
    const most = { account: config.pullsOfAccount, node: config.pullsOfNode };
    for (const end = this.#now() + WAIT_MS; ; await this.#wait()) {
      const now = this.#now();
      const lease = { now, leaseUntil: now + LEASE_MS };
      const claim = await metadata.pulls.claim(transferId, { caller, node, runner }, lease, most);
      if (claim === 'claimed') return;
      if (claim === 'running') throw new ApiError(409, 'a pull of this transfer is already running');
      if (now < end && this.#waiting.size < MOST_WAITING && !this.#stop.signal.aborted) continue;
      const whose = claim === 'account' ? 'your account has' : 'this node has';
      throw new TryLater(429, `${whose} reached its limit of running pulls; try again later`, RETRY_SECONDS);
    }
  }

  /** Until a pull of this process ends and it is our turn, or for a moment: others may have ended elsewhere. */
  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve();
      };
      const timer = setTimeout(look, LOOK_MS);
      this.#waiting.add(look);
    });
  }

  #callNext(): void {
    const [next] = this.#waiting;
    next?.();
  }

  async status(transferId: string, found: TransferState | undefined): Promise<PullProgress> {
    const { metadata, transfers } = this.#deps;
    const transfer = await transfers.use(transferId, found);
    const here = new Set((await transfers.received(transfer)).received);
    for (const idx of parseRanges(await metadata.pulls.landed(transferId))) here.add(idx);
    return { pulled: here.size, total: transfer.chunk_count };
  }

  /** Ends the pulls of this process; what has landed stays for the next try. */
  stop(): void {
    this.#stop.abort();
  }

  /** Removes what landed for transfers that are complete or no more. */
  async reclaim(): Promise<void> {
    for (const fileId of await this.#folders.list()) {
      if (!(await this.#deps.metadata.transfers.isOpen(fileId))) await this.#folders.remove(fileId);
    }
  }

  /** A pull takes up to an hour, and its transfer may be complete, cancelled or deleted by then; what landed goes. */
  async #overtaken({ transfer_id, file_id }: TransferRow): Promise<ApiError | undefined> {
    const { transfers } = this.#deps.metadata;
    if (await transfers.isOpen(file_id)) return undefined;
    await this.#folders.remove(file_id);
    const isKnown = (await transfers.state(transfer_id)) !== undefined;
    return isKnown ? new ApiError(409, 'the transfer has been completed in the meantime') : unknownTransfer();
  }

  async #record(transfer: TransferRow, specs: Volume[], landed: number[]): Promise<number> {
    let recorded = 0;
    // Nothing may arrive after the pull has been answered.
    await inParallel(landed, VERIFIED_AT_ONCE, async (idx) => {
      if (await this.#take(transfer, specs[idx - 1]!)) recorded++;
    });
    return recorded;
  }

  /** "A volume that fails verification is skipped without an error." */
  async #take({ file_id }: TransferRow, volume: Volume): Promise<boolean> {
    const { metadata, receivedVolumes, onRejected } = this.#deps;
    // In a deleted group it would come back as an orphan.
    if (!(await metadata.transfers.isOpen(file_id))) throw unknownTransfer();
    const body = this.#folders.volume(file_id, volume.idx);
    const isRight = await receivedVolumes.put(file_id, volume, body).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof VolumeRejected)) throw error;
        onRejected(error);
        return false;
      },
    );
    await this.#folders.removeVolume(file_id, volume.idx);
    return isRight;
  }
}

/** Bytes of the volumes that are in the landing folder and in the volume store at the same time, at most. */
function largest(volumes: Volume[]): number {
  const sizes = volumes.map(({ size }) => size).sort((a, b) => b - a);
  return sizes.slice(0, VERIFIED_AT_ONCE).reduce((sum, size) => sum + size, 0);
}

interface Reported {
  transferId: string;
  runner: string;
  now: () => number;
  /** The transfer is gone. */
  onGone: () => void;
}

/** Writes progress down now and then, for pull-status on any process, and keeps the lease alive. */
class Reporter {
  readonly #metadata: Metadata;
  readonly #about: Reported;
  readonly #timer: NodeJS.Timeout;
  #numbers: ReadonlySet<number> = new Set();
  #written = -1;
  #writtenAt = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(metadata: Metadata, about: Reported) {
    this.#metadata = metadata;
    this.#about = about;
    this.#timer = setInterval(() => this.#tick(), REPORT_MS);
  }

  landed(numbers: ReadonlySet<number>): void {
    this.#numbers = numbers;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    const { transferId, runner, now } = this.#about;
    await this.#metadata.pulls.end(transferId, runner, formatRanges(this.#numbers));
    await this.#metadata.transfers.touch(transferId, now());
  }

  #tick(): void {
    const changed = this.#numbers.size !== this.#written;
    if (!changed && this.#about.now() - this.#writtenAt < LEASE_MS / 3) return;
    this.#writing = this.#report().catch(() => {
      // Progress is shown again at the next tick; the end is reported in any case.
    });
  }

  async #report(): Promise<void> {
    const { transferId, runner, now, onGone } = this.#about;
    this.#written = this.#numbers.size;
    this.#writtenAt = now();
    const leaseUntil = now() + LEASE_MS;
    await this.#metadata.pulls.report(transferId, runner, formatRanges(this.#numbers), leaseUntil);
    if (!(await this.#metadata.transfers.touch(transferId, now()))) onGone();
  }
}
