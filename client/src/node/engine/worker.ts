import { parentPort } from 'node:worker_threads';
import type { VolumeKey } from '@szafa/format';
import { type Digests, discard, openInPlace, type PlainInput, sealInto } from './volume-cipher.ts';

/** `memory`: shared, for the sealed volume; absent where its digest is enough. */
export type Task = { key: VolumeKey } & (
  | { kind: 'seal'; input: PlainInput; memory: Uint8Array | undefined }
  | { kind: 'open'; memory: Uint8Array }
);

export type Job = Task & { id: number };

export interface JobResult {
  id: number;
  digests?: Digests | undefined;
  error?: Error;
}

parentPort?.on('message', (job: Job) => {
  const { id, key } = job;
  let result: JobResult;
  try {
    const digests = job.kind === 'seal' ? sealInto(key, job.input, job.memory) : openInPlace(key, job.memory);
    result = { id, digests };
  } catch (error) {
    result = { id, error: error as Error };
  }
  if (job.kind === 'seal' && !('fd' in job.input)) discard(job.input);
  parentPort!.postMessage(result);
});
