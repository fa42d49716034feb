/** A worker thread: seals and opens volumes. */
import { parentPort } from 'node:worker_threads';
import type { Bytes, VolumeKey } from '@szafa/format';
import { discard, openInPlace, type PlainInput, sealInto } from './volume-cipher.ts';

/** A volume to seal or open. `memory` is shared; sealing without it computes only the digest. */
export type Task = { key: VolumeKey } & (
  | { kind: 'seal'; input: PlainInput; memory: Uint8Array | undefined }
  | { kind: 'open'; memory: Uint8Array }
);

export type Job = Task & { id: number };

export interface JobResult {
  id: number;
  digest?: Bytes | undefined;
  error?: Error;
}

parentPort?.on('message', (job: Job) => {
  const { id, key } = job;
  let result: JobResult;
  try {
    const digest = job.kind === 'seal' ? sealInto(key, job.input, job.memory) : openInPlace(key, job.memory);
    result = { id, digest };
  } catch (error) {
    result = { id, error: error as Error };
  }
  if (job.kind === 'seal' && !('fd' in job.input)) discard(job.input);
  parentPort!.postMessage(result);
});
