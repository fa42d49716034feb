import { type BlobSource, type SealedVolume, TAG_BYTES, type VolumeKey } from '@szafa/client';
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

/** Workers that seal volumes, started when the first one is needed. */
export class Sealers {
  readonly count = Math.min(MOST_SEALERS, globalThis.navigator.hardwareConcurrency);
  #sealers: Sealer[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #free: ArrayBuffer[] = [];
  #last = 0;

  async seal(
    keys: VolumeKey,
    source: BlobSource,
    { offset, length }: { offset: number; length: number },
  ): Promise<SealedVolume> {
    const size = length + TAG_BYTES;
    const plain = await source.readInto(this.#memory(size), offset, length);
    const { memory, digest } = await this.#run({ keys, memory: plain, length: size });
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
