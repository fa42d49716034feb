/** Disk space between the processes of a node: the primary lends, workers borrow. See platform/disk-space.ts. */
import cluster, { type Worker } from 'node:cluster';
import { statfsSync } from 'node:fs';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { DiskLender, DiskSpace } from '../disk-space.ts';

/** A worker that is too busy to answer in this time keeps what it has. */
const RECALL_MS = 1000;

type Message =
  | { space: 'borrow'; id: number; least: number; ended: number }
  | { space: 'lent'; id: number; bytes: number }
  | { space: 'recall' }
  | { space: 'returned'; bytes: number };

function isOurs(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'space' in message;
}

function freeBytes({ dataFolder }: Config): number {
  const { bavail, bsize } = statfsSync(dataFolder);
  return bavail * bsize;
}

/** The primary's side. What a worker was lent is free again when it dies. */
export function lendToWorkers(config: Config): void {
  const returning = new Map<Worker, () => void>();
  let recalling: Promise<void> | undefined;
  const recallAll = async () => {
    // What was lent by now is told before it is called back.
    await immediate();
    const workers = (Object.values(cluster.workers ?? {}) as Worker[]).filter((one) => one.isConnected());
    const all = workers.map(
      (worker) =>
        new Promise<void>((resolve) => {
          returning.set(worker, resolve);
          worker.send({ space: 'recall' } satisfies Message);
        }),
    );
    await Promise.race([Promise.all(all), sleep(RECALL_MS)]);
    returning.clear();
  };
  // One round serves all who wait for one.
  const recall = () => {
    recalling ??= recallAll().finally(() => {
      recalling = undefined;
    });
    return recalling;
  };
  const lender = new DiskLender(() => freeBytes(config), config.minFreeBytes, recall);
  const answer = async (worker: Worker, { id, least, ended }: Message & { space: 'borrow' }) => {
    // A disk that cannot be asked has told the worker already.
    const bytes = await lender.lend(nameOf(worker), least, ended).catch(() => 0);
    if (worker.isConnected()) worker.send({ space: 'lent', id, bytes } satisfies Message);
    else lender.forget(nameOf(worker));
  };
  cluster.on('message', (worker, message: unknown) => {
    if (!isOurs(message)) return;
    if (message.space === 'borrow') void answer(worker, message);
    if (message.space === 'returned') {
      lender.settle(nameOf(worker), message.bytes);
      returning.get(worker)?.();
    }
  });
  cluster.on('exit', (worker) => {
    lender.forget(nameOf(worker));
    returning.get(worker)?.();
  });
}

const nameOf = (worker: Worker) => String(worker.id);

/** The space of this process: a worker borrows from the primary, any other process is alone. */
export function openSpace(config: Config): DiskSpace {
  const free = () => freeBytes(config);
  const common = { free, minFreeBytes: config.minFreeBytes, holdsVolumes: config.s3 === undefined };
  if (!cluster.isWorker) {
    const lender = new DiskLender(free, config.minFreeBytes);
    return new DiskSpace({ ...common, borrow: (least, ended) => lender.lend('this', least, ended) });
  }
  const waiting = new Map<number, (bytes: number) => void>();
  let last = 0;
  const borrow = (least: number, ended: number) =>
    new Promise<number>((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      process.send!({ space: 'borrow', id, least, ended } satisfies Message);
    });
  const space = new DiskSpace({ ...common, borrow });
  process.on('message', (message: unknown) => {
    if (!isOurs(message)) return;
    if (message.space === 'recall') {
      // Messages that came together are heard in one go, and what was lent a moment ago is counted only after them.
      setImmediate(() => process.send!({ space: 'returned', bytes: space.returnUnused() } satisfies Message));
    }
    if (message.space === 'lent') {
      waiting.get(message.id)?.(message.bytes);
      waiting.delete(message.id);
    }
  });
  return space;
}
