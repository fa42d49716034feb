import { parentPort } from 'node:worker_threads';
import { type Digests, openInPlace, sealInPlace } from './volume-cipher.ts';

export interface Job {
  id: number;
  kind: 'seal' | 'open';
  key: Uint8Array<ArrayBuffer>;
  aad: Uint8Array<ArrayBuffer>;
  memory: SharedArrayBuffer;
  /** Of plaintext to seal, of ciphertext to open. */
  length: number;
  file?: { fd: number; offset: number } | undefined;
  plainDigest?: boolean | undefined;
}

export interface JobResult {
  id: number;
  digests?: Digests | undefined;
  error?: Error;
}

parentPort?.on('message', (job: Job) => {
  const { id, kind, length, memory } = job;
  let result: JobResult;
  try {
    const digests =
      kind === 'seal'
        ? sealInPlace(job, new Uint8Array(memory), length, job)
        : openInPlace(job, new Uint8Array(memory, 0, length));
    result = { id, digests };
  } catch (error) {
    result = { id, error: error as Error };
  }
  parentPort!.postMessage(result);
});
