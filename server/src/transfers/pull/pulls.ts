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
/** How long a pull waits for others to end, how many pulls may wait in a process, and how often they check. */
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
  /** Pulls waiting for a lease, in order. */
  readonly #waiting = new Set<() => void>();

  /** `own`: the caller's address, if known. `rate`: maximum bytes per second. */
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
    const onGone = () => cancelled.abort();
    const { runner } = this.deps;
    const reporter = reportProgress(metadata, { transferId, runner, now: this.now, onGone });
    let reservation: Reservation | undefined;
    try {
      const landing = await this.#folders.create(transfer.file_id);
      const specs = await metadata.files.volumes(transfer.file_id);
      // Volumes of an earlier pull are already on the disk.
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
      let pulled = 0;
      // All are stored before the response: nothing may be stored after it.
      await inParallel(landed, VERIFIED_AT_ONCE, async (idx) => {
        if (await this.#store(transfer, specs[idx - 1]!)) pulled++;
      });
      reporter.landed(new Set());
      await this.#folders.remove(transfer.file_id);
      return { pulled, total: transfer.chunk_count };
    } catch (error) {
      const closed = await this.#whyClosed(transfer);
      if (closed) throw closed;
      if (!(error instanceof PullError)) throw error;
      const status = error.kind === 'cannot-start' ? 500 : 409;
      throw new ApiError(status, error.message, { cause: error.cause });
    } finally {
      reservation?.end();
      // Wakes the pull that has waited longest.
      await reporter.end().finally(() => this.#waiting.values().next().value?.());
    }
  }

  /**
   * Waits for a lease. The limits per account and node are low, because each pull is a process with 32 connections for up to
   * an hour.
   */
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
      const message = `${subject} reached its limit of running pulls; try again later`;
      throw new TryLater(429, message, RETRY_SECONDS);
    }
  }

  /**
   * Waits for this pull's turn after another pull of this process has ended. Also returns after CHECK_MS, since pulls of
   * other processes may have ended.
   */
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

  /** Removes the folders of transfers that are complete or no longer exist. */
  async removeUnused(): Promise<void> {
    for (const fileId of await this.#folders.list()) {
      if (!(await this.deps.metadata.transfers.isOpen(fileId))) await this.#folders.remove(fileId);
    }
  }

  /**
   * Returns the error if the transfer was completed, cancelled or deleted during the pull, which may take an hour, and
   * removes the folder in that case.
   */
  async #whyClosed({ transfer_id, file_id }: TransferRow): Promise<ApiError | undefined> {
    const { transfers } = this.deps.metadata;
    if (await transfers.isOpen(file_id)) return undefined;
    await this.#folders.remove(file_id);
    const isKnown = (await transfers.state(transfer_id)) !== undefined;
    return isKnown ? new ApiError(409, 'the transfer has been completed in the meantime') : unknownTransfer();
  }

  /** "A volume that fails verification is skipped without an error." */
  async #store({ file_id }: TransferRow, volume: Volume): Promise<boolean> {
    const { metadata, receivedVolumes, onRejected } = this.deps;
    // A volume stored in a deleted group would become an orphan.
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

/** The most bytes that can be in both the landing folder and the volume store at the same time. */
function bytesStoredAtOnce(volumes: Volume[]): number {
  const sizes = volumes.map(({ size }) => size).sort((a, b) => b - a);
  return sizes.slice(0, VERIFIED_AT_ONCE).reduce((sum, size) => sum + size, 0);
}

interface ReportedPull {
  transferId: string;
  runner: string;
  now: () => number;
  /** Called if the transfer no longer exists. */
  onGone: () => void;
}

/** Records progress, so that pull-status works in any process, and renews the lease. */
function reportProgress({ pulls, transfers }: Metadata, { transferId, runner, now, onGone }: ReportedPull) {
  let numbers: ReadonlySet<number> = new Set();
  let written = -1;
  let writtenAt = 0;
  let writing = Promise.resolve();
  const report = async () => {
    written = numbers.size;
    writtenAt = now();
    await pulls.report(transferId, runner, formatRanges(numbers), now() + LEASE_MS);
    if (!(await transfers.touch(transferId, now()))) onGone();
  };
  const timer = setInterval(() => {
    if (numbers.size === written && now() - writtenAt < LEASE_MS / 3) return;
    // A failure is ignored: the next tick reports again, and the end is always reported.
    writing = report().catch(() => undefined);
  }, REPORT_MS);
  return {
    landed: (found: ReadonlySet<number>) => {
      numbers = found;
    },
    end: async () => {
      clearInterval(timer);
      await writing;
      await pulls.end(transferId, runner, formatRanges(numbers));
      await transfers.touch(transferId, now());
    },
  };
}
