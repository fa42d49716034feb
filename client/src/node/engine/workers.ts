import { Worker } from 'node:worker_threads';
import type { Digests } from './volume-cipher.ts';
import type { Job, JobResult, Task } from './worker.ts';

interface Pending {
  resolve(digests: Digests | undefined): void;
  reject(error: Error): void;
}

interface Member {
  worker: Worker;
  pending: Map<number, Pending>;
}

/** Worker threads that start with the first volume and never keep the process alive. */
export class Workers {
  readonly #url: URL;
  readonly #count: number;
  readonly #members: Member[] = [];
  #next = 0;

  constructor(url: URL, count: number) {
    this.#url = url;
    this.#count = count;
  }

  /** Undefined when the volume did not open or the file was too short. */
  run(task: Task): Promise<Digests | undefined> {
    const member = this.#idlest();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      member.pending.set(id, { resolve, reject });
      member.worker.ref();
      member.worker.postMessage({ ...task, id } satisfies Job, transferOf(task));
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.splice(0).map(({ worker }) => worker.terminate()));
  }

  #idlest(): Member {
    const idle = this.#members.find((member) => member.pending.size === 0);
    if (idle) return idle;
    if (this.#members.length < this.#count) return this.#start();
    return this.#members.reduce((a, b) => (b.pending.size < a.pending.size ? b : a));
  }

  #start(): Member {
    const worker = new Worker(this.#url, { name: 'szafa-volumes' });
    const member: Member = { worker, pending: new Map() };
    worker.unref();
    worker.on('message', ({ id, digests, error }: JobResult) => {
      const pending = member.pending.get(id);
      member.pending.delete(id);
      if (member.pending.size === 0) worker.unref();
      if (error) pending?.reject(error);
      else pending?.resolve(digests);
    });
    const fail = (error: Error) => {
      const at = this.#members.indexOf(member);
      if (at >= 0) this.#members.splice(at, 1);
      for (const pending of member.pending.values()) pending.reject(error);
      member.pending.clear();
    };
    worker.on('error', (error) => fail(error as Error));
    worker.on('exit', () => fail(new Error('a worker thread ended')));
    this.#members.push(member);
    return member;
  }
}

/** Plaintext that has its memory to itself moves to the worker; a part of something larger is copied. */
function transferOf(task: Task): ArrayBuffer[] {
  if (task.kind !== 'seal' || 'fd' in task.input) return [];
  const { buffer, byteLength } = task.input;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
