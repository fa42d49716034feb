import {
  type BlobSource,
  FileChangedError,
  type SealedVolume,
  TAG_BYTES,
  type VolumeKey,
} from '@szafa/client';
import { scriptPolicy } from '../scripts.ts';
import type { SealAnswer, SealJob } from '../sealer/main.ts';
import sealerUrl from '../sealer/main.ts?worker&url';

const MOST_SEALERS = 4;
/** Memory of volumes that were sent, for the next ones. */
const MOST_FREE = 8;

interface Sealer {
  worker: Worker;
  busy: number;
}
type Waiting = (answer: SealAnswer) => void;

/** Workers that read and seal volumes, started when the first one is needed. */
export class Sealers {
  /** One waits for its file while the others have the processor. */
  readonly count = Math.min(MOST_SEALERS, globalThis.navigator.hardwareConcurrency + 1);
  #sealers: Sealer[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #free: ArrayBuffer[] = [];
  #last = 0;

  async seal(
    keys: VolumeKey,
    source: BlobSource,
    { offset, length }: { offset: number; length: number },
  ): Promise<SealedVolume> {
    const part = source.blob.slice(offset, offset + length);
    const answer = await this.#run({ keys, part, memory: this.#memory(length + TAG_BYTES) });
    if ('error' in answer) throw new FileChangedError(answer.error);
    const { memory, digest } = answer;
    let held = true;
    const release = () => {
      if (held && this.#free.length < MOST_FREE) this.#free.push(memory);
      held = false;
    };
    return { bytes: new Uint8Array(memory, 0, length + TAG_BYTES), digest, release };
  }

  #memory(size: number): ArrayBuffer {
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= size);
    return at < 0 ? new ArrayBuffer(size) : this.#free.splice(at, 1)[0]!;
  }

  async #run(job: Omit<SealJob, 'id'>): Promise<SealAnswer> {
    if (this.#sealers.length === 0) this.#start();
    const sealer = this.#sealers.reduce((least, one) => (one.busy < least.busy ? one : least));
    const id = ++this.#last;
    sealer.busy++;
    try {
      return await new Promise<SealAnswer>((resolve) => {
        this.#waiting.set(id, resolve);
        sealer.worker.postMessage({ id, ...job }, [job.memory]);
      });
    } finally {
      sealer.busy--;
    }
  }

  #start(): void {
    const url = scriptPolicy(sealerUrl)(sealerUrl);
    this.#sealers = Array.from({ length: this.count }, () => {
      const worker = new Worker(url, { type: 'module' });
      worker.onmessage = ({ data }: MessageEvent<SealAnswer>) => {
        this.#waiting.get(data.id)?.(data);
        this.#waiting.delete(data.id);
      };
      return { worker, busy: 0 };
    });
  }
}
