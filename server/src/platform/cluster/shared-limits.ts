/**
 * Limits shared by the processes of a node: disk space, which the primary lends to workers (disk-space.ts), and rates
 * (rate-limit.ts).
 */
import cluster, { type Worker } from 'node:cluster';
import { statfsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DiskLender, DiskSpace } from '../disk-space.ts';
import { RateLedger, RateLimiter } from '../rate-limit.ts';
import { Topic } from './ipc.ts';

/** A worker too busy to answer in this time keeps its loan. */
const RECALL_MS = 1000;

const borrowing = new Topic<{ least: number; ended: number }, number>('borrow disk space');
const recalling = new Topic<null, number>('recall disk space');
const countingRate = new Topic<Parameters<RateLedger['take']>, number>('rate');

/** The disk of the data folder. With S3, no volumes are stored there. */
interface Disk {
  dataFolder: string;
  minFreeBytes: number;
  s3?: unknown;
}

function freeBytes({ dataFolder }: Disk): number {
  const { bavail, bsize } = statfsSync(dataFolder);
  return bavail * bsize;
}

const nameOf = (worker: Worker) => String(worker.id);

/** The primary's side. A worker's loan is free again when the worker dies. */
export function shareLimits(disk: Disk): void {
  const ledger = new RateLedger();
  countingRate.answer((bytes) => ledger.take(...bytes));
  let recall: Promise<void> | undefined;
  const recallAll = async () => {
    // Answers to earlier requests must be sent before the recall.
    await nextTurn();
    await recalling.askWorkers(null, RECALL_MS, (bytes, worker) => lender.settle(nameOf(worker), bytes));
  };
  // One recall serves all requests waiting for it.
  const recallOnce = () => {
    recall ??= recallAll().finally(() => {
      recall = undefined;
    });
    return recall;
  };
  const lender = new DiskLender(() => freeBytes(disk), disk.minFreeBytes, recallOnce);
  borrowing.answer(async ({ least, ended }, worker) => {
    // If the disk cannot be read, the worker has noticed it too.
    const bytes = await lender.lend(nameOf(worker), least, ended).catch(() => 0);
    if (worker.isDead() || !worker.isConnected()) lender.forget(nameOf(worker));
    return bytes;
  });
  cluster.on('exit', (worker) => lender.forget(nameOf(worker)));
}

/** Opens the disk space of this process: a worker borrows from the primary, any other process has its own lender. */
export function openSpace(disk: Disk): DiskSpace {
  const free = () => freeBytes(disk);
  const common = { free, minFreeBytes: disk.minFreeBytes, holdsVolumes: disk.s3 === undefined };
  if (!cluster.isWorker) {
    const lender = new DiskLender(free, disk.minFreeBytes);
    return new DiskSpace({ ...common, borrow: (least, ended) => lender.lend('this', least, ended) });
  }
  const borrow = (least: number, ended: number) => borrowing.askPrimary({ least, ended });
  const space = new DiskSpace({ ...common, borrow });
  recalling.answer(async () => {
    // Messages that arrived together are handled in one turn, and bytes lent in that turn are counted only after it.
    await nextTurn();
    return space.returnUnused();
  });
  return space;
}

/** Opens the rate limiter of this process: a worker asks the primary, any other process has its own ledger. */
export function openRateLimiter(): RateLimiter {
  if (cluster.isWorker) return new RateLimiter((...bytes) => countingRate.askPrimary(bytes));
  const ledger = new RateLedger();
  return new RateLimiter(async (...bytes) => ledger.take(...bytes));
}
