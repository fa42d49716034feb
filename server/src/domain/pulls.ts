import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PullBody, PullProgress } from '@szafa/protocol';
import type { Config } from '../config.ts';
import { ServiceError, VolumeRejected } from '../errors.ts';
import type { Metadata } from '../metadata/metadata.ts';
import type { TransferRow, TransferState } from '../metadata/transfers.ts';
import { plainAddress } from '../pull/addresses.ts';
import { checkPullAddress, PullError, runPull } from '../pull/pull.ts';
import { StreamBody } from '../volumes/body.ts';
import type { VolumeStore } from '../volumes/store.ts';
import { formatRanges, parseRanges } from './number-ranges.ts';
import { requireFolderSpace, requireSpace } from './space.ts';
import type { Transfers } from './transfers.ts';

const LEASE_MS = 15_000;
const REPORT_MS = 500;
const VERIFIED_AT_ONCE = 4;

interface Dependencies {
  metadata: Metadata;
  volumes: VolumeStore;
  transfers: Transfers;
  config: Pick<Config, 'dataFolder' | 'minFreeBytes' | 'pullAllow'>;
  /** Names this process among those that share the stores. */
  runner: string;
  /** Told of every volume that was pulled and failed its verification. */
  onRejected: (error: VolumeRejected) => void;
  now?: () => number;
}

/** Fetches volumes from the client's temporary server and passes them through the receiver. */
export class Pulls {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  readonly #stop = new AbortController();

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  async pull(transferId: string, body: PullBody, callerAddress: string): Promise<PullProgress> {
    const { metadata, volumes, transfers, config, runner } = this.#deps;
    const transfer = await transfers.find(transferId);
    checkPullAddress(body.base_url, body.token);
    if (transfer.status === 'storing' || transfer.status === 'done') {
      throw new ServiceError(409, 'the transfer is complete');
    }
    await requireSpace(volumes, config, transfer.stored_size);
    await requireFolderSpace(config.dataFolder, config, transfer.stored_size);
    const claimed = await metadata.pulls.claim(transferId, runner, this.#now(), this.#now() + LEASE_MS);
    if (!claimed) throw new ServiceError(409, 'a pull of this transfer is running');
    const reporter = new Reporter(metadata, transferId, runner, this.#now);
    try {
      const landing = this.#landing(transfer);
      await mkdir(landing, { recursive: true, mode: 0o700 });
      const specs = await metadata.files.volumes(transfer.file_id);
      const own = plainAddress(callerAddress);
      const { landed } = await runPull({
        transferId,
        baseUrl: body.base_url,
        token: body.token,
        volumes: specs,
        landing,
        allow: (address) => address === own || config.pullAllow.contains(address),
        signal: this.#stop.signal,
        onLanded: (numbers) => reporter.landed(numbers),
      });
      // It may have been cancelled meanwhile, and then there is nothing to record for.
      await transfers.find(transferId);
      const pulled = await this.#record(transfer, landed);
      reporter.landed(new Set());
      await rm(landing, { recursive: true, force: true });
      return { pulled, total: transfer.chunk_count };
    } catch (error) {
      if (!(error instanceof PullError)) throw error;
      throw new ServiceError(error.kind === 'cannot-start' ? 500 : 409, error.message, {
        cause: error.cause,
      });
    } finally {
      await reporter.end();
    }
  }

  async status(transferId: string, found: TransferState | undefined): Promise<PullProgress> {
    const { metadata, transfers } = this.#deps;
    const transfer = await transfers.use(transferId, found);
    const here = new Set(await transfers.received(transfer));
    for (const idx of parseRanges(await metadata.pulls.landed(transferId))) here.add(idx);
    return { pulled: here.size, total: transfer.chunk_count };
  }

  /** Ends the pulls of this process; what has landed stays for the next try. */
  stop(): void {
    this.#stop.abort();
  }

  /** Removes what landed for transfers that are complete or no more. */
  async reclaim(): Promise<void> {
    const top = join(this.#deps.config.dataFolder, 'landing');
    for (const fileId of await readdir(top).catch(() => [] /* nothing has ever landed */)) {
      if (!(await this.#deps.metadata.transfers.isOpen(fileId))) {
        await rm(join(top, fileId), { recursive: true, force: true });
      }
    }
  }

  #landing(transfer: TransferRow): string {
    return join(this.#deps.config.dataFolder, 'landing', transfer.file_id);
  }

  /** "A volume that fails verification is skipped without an error." */
  async #record(transfer: TransferRow, landed: number[]): Promise<number> {
    const { metadata, transfers, onRejected } = this.#deps;
    const queue = landed.values();
    let recorded = 0;
    await Promise.all(
      Array.from({ length: VERIFIED_AT_ONCE }, async () => {
        for (const idx of queue) {
          const path = join(this.#landing(transfer), String(idx));
          const volume = await metadata.files.volume(transfer.file_id, idx);
          try {
            await transfers.arrivals.take(
              transfer.file_id,
              volume!,
              new StreamBody(createReadStream(path, { highWaterMark: 1024 * 1024 })),
            );
            recorded++;
          } catch (error) {
            if (!(error instanceof VolumeRejected)) throw error;
            onRejected(error);
          }
          await rm(path, { force: true });
        }
      }),
    );
    return recorded;
  }
}

/** Writes progress down now and then, for pull-status on any process, and keeps the lease alive. */
class Reporter {
  readonly #report: (leaseUntil: number) => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  readonly #now: () => number;
  #numbers: ReadonlySet<number> = new Set();
  #written = -1;
  #writtenAt = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(metadata: Metadata, transferId: string, runner: string, now: () => number) {
    this.#now = now;
    this.#report = async (leaseUntil) => {
      this.#written = this.#numbers.size;
      this.#writtenAt = now();
      await metadata.pulls.report(transferId, runner, formatRanges(this.#numbers), leaseUntil);
      await metadata.transfers.touch(transferId, now());
    };
    this.#timer = setInterval(() => this.#tick(), REPORT_MS);
  }

  landed(numbers: ReadonlySet<number>): void {
    this.#numbers = numbers;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#report(0);
  }

  #tick(): void {
    const changed = this.#numbers.size !== this.#written;
    if (!changed && this.#now() - this.#writtenAt < LEASE_MS / 3) return;
    this.#writing = this.#report(this.#now() + LEASE_MS).catch(() => {
      // Progress is shown again at the next tick; the end is reported in any case.
    });
  }
}
