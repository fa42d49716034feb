import { Worker } from 'node:worker_threads';
import type { Bytes } from '@szafa/format';
import type { Job, JobResult, Task } from './worker.ts';

interface Thread {
  worker: Worker;
  pending: Map<number, PromiseWithResolvers<Bytes | undefined>>;
}

/** Creates worker threads on demand. Idle threads do not keep the process alive. */
export function createWorkers(url: URL, count: number) {
  const threads: Thread[] = [];
  let nextId = 0;

  const leastBusy = (): Thread => {
    const idle = threads.find(({ pending }) => pending.size === 0);
    if (idle) return idle;
    if (threads.length < count) return start();
    return threads.reduce((a, b) => (b.pending.size < a.pending.size ? b : a));
  };

  const start = (): Thread => {
    const worker = new Worker(url, { name: 'szafa-volumes' });
    const thread: Thread = { worker, pending: new Map() };
    const { pending } = thread;
    worker.unref();
    worker.on('message', ({ id, digest, error }: JobResult) => {
      const job = pending.get(id);
      pending.delete(id);
      if (pending.size === 0) worker.unref();
      if (error) job?.reject(error);
      else job?.resolve(digest);
    });
    const fail = (error: Error) => {
      const at = threads.indexOf(thread);
      if (at >= 0) threads.splice(at, 1);
      for (const job of pending.values()) job.reject(error);
      pending.clear();
    };
    worker.on('error', (error) => fail(error as Error));
    worker.on('exit', () => fail(new Error('a worker thread ended')));
    threads.push(thread);
    return thread;
  };

  return {
    /** Returns the digest of the volume; undefined if the volume does not open or the file is too short. */
    run(task: Task): Promise<Bytes | undefined> {
      const { worker, pending } = leastBusy();
      const id = nextId++;
      const job = Promise.withResolvers<Bytes | undefined>();
      pending.set(id, job);
      worker.ref();
      worker.postMessage({ ...task, id } satisfies Job, transferList(task));
      return job.promise;
    },

    async close(): Promise<void> {
      await Promise.all(threads.splice(0).map(({ worker }) => worker.terminate()));
    },
  };
}

/** Transfers plaintext to the worker unless it is part of a larger buffer, which is copied. */
function transferList(task: Task): ArrayBuffer[] {
  if (task.kind !== 'seal' || 'fd' in task.input) return [];
  const { buffer, byteLength } = task.input;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
