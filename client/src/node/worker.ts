import { parentPort } from 'node:worker_threads';
import type { VolumeKey } from '../format/engine.ts';
import { type Digests, discard, openInPlace, type PlainInput, sealInto } from './volume-cipher.ts';

export type Task = { key: VolumeKey; memory: SharedArrayBuffer } & (
  | { kind: 'seal'; input: PlainInput }
  | { kind: 'open'; size: number }
);

export type Job = Task & { id: number };

export interface JobResult {
  id: number;
  digests?: Digests | undefined;
  error?: Error;
}

parentPort?.on('message', (job: Job) => {
  const { id, key, memory } = job;
  let result: JobResult;
  try {
    const digests =
      job.kind === 'seal'
        ? sealInto(key, job.input, new Uint8Array(memory))
        : openInPlace(key, new Uint8Array(memory, 0, job.size));
    result = { id, digests };
  } catch (error) {
    result = { id, error: error as Error };
  }
  if (job.kind === 'seal' && !('fd' in job.input)) discard(job.input);
  parentPort!.postMessage(result);
});
