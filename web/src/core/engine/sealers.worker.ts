import { type BlobSource, type SealedSegments, SzafaError, type VolumeKey } from '@szafa/client';
import { sealedSize } from '@szafa/format';
import type { SealAnswer, SealJob, SealResult } from '../../sealer/main.ts';
import sealerUrl from '../../sealer/main.ts?worker&url';
import { scriptPolicy } from '../bridge/scripts.ts';

const MOST_SEALERS = 4;
/** Number of buffers kept for reuse. */
const MOST_FREE = 8;

interface Sealer {
  worker: Worker;
  /** By job id. */
  waiting: Map<number, PromiseWithResolvers<SealResult>>;
}

/** Workers that seal volumes. All of them start with the first volume. */
export class Sealers {
  readonly count = Math.min(MOST_SEALERS, globalThis.navigator.hardwareConcurrency);
  #sealers: Sealer[] = [];
  readonly #free: ArrayBuffer[] = [];
  /** Kept because a Trusted Types policy can be created only once. */
  #url: string | undefined;
  #last = 0;

  async seal(
    key: VolumeKey,
    source: BlobSource,
    { offset, length }: { offset: number; length: number },
  ): Promise<SealedSegments> {
    const size = sealedSize(length);
    const plain = await source.readInto(this.#memory(size), offset, length);
    const { memory, digest } = await this.#run({ key, memory: plain, length, size });
    let held = true;
    const release = () => {
      if (held && this.#free.length < MOST_FREE) this.#free.push(memory);
      held = false;
    };
    return { bytes: new Uint8Array(memory, 0, size), digest, release };
  }

  #memory(size: number): ArrayBuffer {
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= size);
    return at < 0 ? new ArrayBuffer(size) : this.#free.splice(at, 1)[0]!;
  }

  async #run(job: Omit<SealJob, 'id'>): Promise<SealResult> {
    if (this.#sealers.length === 0) this.#start();
    const { worker, waiting } = this.#sealers.reduce((least, one) =>
      one.waiting.size < least.waiting.size ? one : least,
    );
    const id = ++this.#last;
    const sealed = Promise.withResolvers<SealResult>();
    waiting.set(id, sealed);
    worker.postMessage({ id, ...job }, [job.memory]);
    return sealed.promise;
  }

  #start(): void {
    this.#url ??= scriptPolicy(sealerUrl)(sealerUrl);
    const url = this.#url;
    this.#sealers = Array.from({ length: this.count }, () => {
      const worker = new Worker(url, { type: 'module' });
      const waiting: Sealer['waiting'] = new Map();
      worker.onmessage = ({ data }: MessageEvent<SealAnswer>) => {
        if ('error' in data) waiting.get(data.id)?.reject(new Error(data.error));
        else waiting.get(data.id)?.resolve(data);
        waiting.delete(data.id);
      };
      // The script is fetched with the first upload; by then the server may be away or run another version.
      worker.onerror = () => {
        this.#sealers = [];
        for (const { reject } of waiting.values()) {
          reject(new SzafaError('part-missing', 'the script that seals volumes could not be loaded'));
        }
      };
      return { worker, waiting };
    });
  }
}
