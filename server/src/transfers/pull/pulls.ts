import type { PullBody, PullProgress, Volume } from '@szafa/protocol';
import type { Metadata } from '../../metadata.ts';
import type { Uses } from '../../parts.ts';
import type { Reservation } from '../../platform/disk-space.ts';
import { VolumeRejected } from '../../platform/errors.ts';
import { ApiError, TryLater } from '../../platform/http/api-error.ts';
import { inParallel } from '../../platform/parallel.ts';
import { Service } from '../../platform/service.ts';
import type { ReceivedVolumes } from '../received-volumes.ts';
import { unknownTransfer } from '../refusals.ts';
import type { TransferRow } from '../transfer-rows.ts';
import type { Transfers } from '../transfers.ts';
import type { TransferState } from '../transfers-table.ts';
import { Landing, LandingFolders } from './landing.ts';
import { checkPullAddress, PullError, runPull } from './pull.ts';
import { formatRanges, parseRanges } from './pulls-table.ts';

const LEASE_MS = 15_000;
const REPORT_MS = 500;
const VERIFIED_AT_ONCE = 4;
/** How long a pull waits for others to end, how many may wait in a process, and how often they check. */
const WAIT_MS = 10_000;
const MAX_WAITING = 64;
const CHECK_MS = 500;
const RETRY_SECONDS = 5;

type Dependencies = Uses<'metadata' | 'space' | 'config'> & {
  transfers: Transfers;
  receivedVolumes: ReceivedVolumes;
  /** Names of this process and its node. */
  runner: string;
  node: string;
  /** Called for each volume that fails verification. */
  onRejected: (error: VolumeRejected) => void;
};

/** Downloads volumes from the client's temporary server and stores them like uploaded ones. */
export class Pulls extends Service<Dependencies> {
  readonly #folders = new LandingFolders(this.deps.config.dataFolder);
  readonly #stop = new AbortController();
  /** Pulls that wait for a lease, in order. */
  readonly #waiting = new Set<() => void>();

  /** `own`: the caller's address, if it is known. `rate`: maximum bytes a second. */
  async pull(
    transferId: string,
    body: PullBody,
    from: { caller: string; own: string | undefined; rate?: number | undefined },
  ): Promise<PullProgress> {
    const { metadata, transfers, config, space } = this.deps;
    const transfer = await transfers.find(transferId);
    checkPullAddress(body.base_url, body.token);
    if (transfer.status === 'storing' || transfer.status === 'done') {
      throw new ApiError(409, 'the transfer is complete');
    }
    if (transfer.streamed !== 'no') throw new ApiError(409, 'a streamed transfer is not pulled');
    await this.#lease(transferId, from.caller);
    const cancelled = new AbortController();
    const reporter = new ProgressReporter(metadata, {
      transferId,
      runner: this.deps.runner,
      now: this.now,
      onGone: () => cancelled.abort(),
    });
    let reservation: Reservation | undefined;
    try {
      const landing = await this.#folders.create(transfer.file_id);
      const specs = await metadata.files.volumes(transfer.file_id);
      // Volumes of an earlier pull are on the disk already.
      const missing = transfer.stored_size - (await Landing.bytes(landing, specs));
      reservation = await space.forLanding(missing, bytesStoredAtOnce(specs));
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
      // Fails if the transfer has been cancelled in the meantime.
      await transfers.find(transferId);
      const pulled = await this.#storeAll(transfer, specs, landed);
      reporter.landed(new Set());
      await this.#folders.remove(transfer.file_id);
      return { pulled, total: transfer.chunk_count };
    } catch (error) {
      const closed = await this.#whyClosed(transfer);
      if (closed) throw closed;
      if (!(error instanceof PullError)) throw error;
      throw new ApiError(error.kind === 'cannot-start' ? 500 : 409, error.message, {
        cause: error.cause,
      });
    } finally {
      reservation?.end();
      await reporter.end().finally(() => this.#wakeNext());
    }
  }

  /** Waits for a lease. Accounts and nodes have few: each pull is a process with 32 connections, for up to an hour. */
  async #lease(transferId: string, caller: string): Promise<void> {
    const { metadata, config, runner, node } = this.deps;
    const limit = { account: config.pullsOfAccount, node: config.pullsOfNode };
    for (const end = this.now() + WAIT_MS; ; await this.#wait()) {
      const now = this.now();
      const times = { now, leaseUntil: now + LEASE_MS };
      const lease = await metadata.pulls.lease(transferId, { caller, node, runner }, times, limit);
      if (lease === 'leased') return;
      if (lease === 'running') throw new ApiError(409, 'a pull of this transfer is already running');
      if (now < end && this.#waiting.size < MAX_WAITING && !this.#stop.signal.aborted) continue;
      const subject = lease === 'account' ? 'your account has' : 'this node has';
      throw new TryLater(
        429,
        `${subject} reached its limit of running pulls; try again later`,
        RETRY_SECONDS,
      );
    }
  }

  /** Waits until a pull of this process ends and it is our turn, or for a moment: pulls of other processes may have ended. */
  #wait(): Promise<void> {
    return new Promise((resolve) => {
      const proceed = () => {
        clearTimeout(timer);
        this.#waiting.delete(proceed);
        resolve();
      };
      const timer = setTimeout(proceed, CHECK_MS);
      this.#waiting.add(proceed);
    });
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    next?.();
  }

  async status(transferId: string, found: TransferState | undefined): Promise<PullProgress> {
    const { metadata, transfers } = this.deps;
    const transfer = await transfers.use(transferId, found);
    const here = new Set((await transfers.received(transfer)).received);
    for (const idx of parseRanges(await metadata.pulls.landed(transferId))) here.add(idx);
    return { pulled: here.size, total: transfer.chunk_count };
  }

  /** Aborts the pulls of this process; their volumes are kept for the next attempt. */
  stop(): void {
    this.#stop.abort();
  }

  /** Removes the folders of transfers that are complete or do not exist. */
  async removeUnused(): Promise<void> {
    for (const fileId of await this.#folders.list()) {
      if (!(await this.deps.metadata.transfers.isOpen(fileId))) await this.#folders.remove(fileId);
    }
  }

  /** The reason if the transfer was completed, cancelled or deleted during the pull, which may take an hour; removes the folder then. */
  async #whyClosed({ transfer_id, file_id }: TransferRow): Promise<ApiError | undefined> {
    const { transfers } = this.deps.metadata;
    if (await transfers.isOpen(file_id)) return undefined;
    await this.#folders.remove(file_id);
    const isKnown = (await transfers.state(transfer_id)) !== undefined;
    return isKnown ? new ApiError(409, 'the transfer has been completed in the meantime') : unknownTransfer();
  }

  async #storeAll(transfer: TransferRow, specs: Volume[], landed: number[]): Promise<number> {
    let stored = 0;
    // All of them before the response: nothing may be stored after it.
    await inParallel(landed, VERIFIED_AT_ONCE, async (idx) => {
      if (await this.#store(transfer, specs[idx - 1]!)) stored++;
    });
    return stored;
  }

  /** "A volume that fails verification is skipped without an error." */
  async #store({ file_id }: TransferRow, volume: Volume): Promise<boolean> {
    const { metadata, receivedVolumes, onRejected } = this.deps;
    // In a deleted group the volume would become an orphan.
    if (!(await metadata.transfers.isOpen(file_id))) throw unknownTransfer();
    const body = this.#folders.volume(file_id, volume.idx);
    const isStored = await receivedVolumes.put(file_id, volume, body).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof VolumeRejected)) throw error;
        onRejected(error);
        return false;
      },
    );
    await this.#folders.removeVolume(file_id, volume.idx);
    return isStored;
  }
}

/** The most bytes that are in the landing folder and in the volume store at the same time. */
function bytesStoredAtOnce(volumes: Volume[]): number {
  const sizes = volumes.map(({ size }) => size).sort((a, b) => b - a);
  return sizes.slice(0, VERIFIED_AT_ONCE).reduce((sum, size) => sum + size, 0);
}

interface ReportedPull {
  transferId: string;
  runner: string;
  now: () => number;
  /** Called if the transfer does not exist any more. */
  onGone: () => void;
}

/** Records progress, for pull-status in any process, and renews the lease. */
class ProgressReporter {
  readonly #metadata: Metadata;
  readonly #pull: ReportedPull;
  readonly #timer: NodeJS.Timeout;
  #numbers: ReadonlySet<number> = new Set();
  #written = -1;
  #writtenAt = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(metadata: Metadata, pull: ReportedPull) {
    this.#metadata = metadata;
    this.#pull = pull;
    this.#timer = setInterval(() => this.#tick(), REPORT_MS);
  }

  landed(numbers: ReadonlySet<number>): void {
    this.#numbers = numbers;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    const { transferId, runner, now } = this.#pull;
    await this.#metadata.pulls.end(transferId, runner, formatRanges(this.#numbers));
    await this.#metadata.transfers.touch(transferId, now());
  }

  #tick(): void {
    const changed = this.#numbers.size !== this.#written;
    if (!changed && this.#pull.now() - this.#writtenAt < LEASE_MS / 3) return;
    this.#writing = this.#report().catch(() => {
      // The next tick reports again, and the end is reported in any case.
    });
  }

  async #report(): Promise<void> {
    const { transferId, runner, now, onGone } = this.#pull;
    this.#written = this.#numbers.size;
    this.#writtenAt = now();
    const leaseUntil = now() + LEASE_MS;
    await this.#metadata.pulls.report(transferId, runner, formatRanges(this.#numbers), leaseUntil);
    if (!(await this.#metadata.transfers.touch(transferId, now()))) onGone();
  }
}
