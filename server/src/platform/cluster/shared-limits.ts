/** Limits of a node that its processes share: disk space, which the primary lends to workers (disk-space.ts), and rates (rate-limit.ts). */
import cluster, { type Worker } from 'node:cluster';
import { statfsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DiskLender, DiskSpace } from '../disk-space.ts';
import { RateLedger, RateLimiter } from '../rate-limit.ts';
import { Topic } from './ipc.ts';

/** A worker that is too busy to answer in this time keeps what it has. */
const RECALL_MS = 1000;

const borrowing = new Topic<{ least: number; ended: number }, number>('borrow disk space');
const recalling = new Topic<null, number>('recall disk space');
const countingRate = new Topic<Parameters<RateLedger['take']>, number>('rate');

/** The data folder. With S3 no volumes are stored there. */
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

/** The primary's side. What a worker was lent is free again when it dies. */
export function shareLimits(disk: Disk): void {
  const ledger = new RateLedger();
  countingRate.answer((bytes) => ledger.take(...bytes));
  let recall: Promise<void> | undefined;
  const recallAll = async () => {
    // Answers to earlier requests leave before the recall does.
    await nextTurn();
    await recalling.askWorkers(null, RECALL_MS, (bytes, worker) => lender.settle(nameOf(worker), bytes));
  };
  // One round serves all requests that wait for one.
  const recallOnce = () => {
    recall ??= recallAll().finally(() => {
      recall = undefined;
    });
    return recall;
  };
  const lender = new DiskLender(() => freeBytes(disk), disk.minFreeBytes, recallOnce);
  borrowing.answer(async ({ least, ended }, worker) => {
    // If the disk cannot be read, the worker has noticed that itself.
    const bytes = await lender.lend(nameOf(worker), least, ended).catch(() => 0);
    if (worker.isDead() || !worker.isConnected()) lender.forget(nameOf(worker));
    return bytes;
  });
  cluster.on('exit', (worker) => lender.forget(nameOf(worker)));
}

/** The disk space of this process: a worker borrows from the primary, any other process is alone. */
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
    // Messages that arrived together are handled in one turn, and bytes lent in the same turn are counted only after it.
    await nextTurn();
    return space.returnUnused();
  });
  return space;
}

/** The rate limiter of this process: a worker asks the primary, any other process is alone. */
export function openRateLimiter(): RateLimiter {
  if (cluster.isWorker) return new RateLimiter((...bytes) => countingRate.askPrimary(bytes));
  const ledger = new RateLedger();
  return new RateLimiter(async (...bytes) => ledger.take(...bytes));
}
