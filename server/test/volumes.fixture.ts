import { createHash, randomBytes } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import type { Volume } from '@szafa/protocol';
import { type Body, streamBody } from '../src/platform/volumes/body.ts';
import type { VolumeStore } from '../src/platform/volumes/store.ts';

/** The engine of a volume store, with what the interface does not show. */
export interface VolumeEngine {
  /** Another store on the same bytes, as another process has one. */
  open(process: string): Promise<VolumeStore>;
  /** What unfinished bodies have left behind. */
  leftovers(): Promise<string[]>;
  destroy(): Promise<void>;
}

export const KIB = 1024;
export const MIB = 1024 * KIB;

export const newId = () => randomBytes(16).toString('hex');

export function volumeOf(bytes: Uint8Array, idx = 1): Volume {
  return { idx, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The bytes as a stream, in pieces of this size. */
export function bodyOf(bytes: Uint8Array, piece = 65_536): Body {
  function* pieces() {
    for (let from = 0; from < bytes.length; from += piece) yield bytes.subarray(from, from + piece);
  }
  return streamBody(Readable.from(pieces(), { objectMode: false }));
}

/** Keeps a copy of what it is given, as a socket does that has sent it. */
export class Collector extends Writable {
  readonly #parts: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    setImmediate(() => {
      this.#parts.push(Buffer.from(chunk));
      done();
    });
  }
}

/** What the store has as that volume, of whatever digest. */
export async function readAll(store: VolumeStore, id: string, idx = 1): Promise<Buffer | undefined> {
  const named = (await store.list(id)).find((one) => one.idx === idx);
  const volume = named && (await store.open(id, named));
  if (!volume) return undefined;
  try {
    const sink = new Collector();
    await volume.send(sink, 0, volume.size);
    return sink.bytes;
  } finally {
    await volume.close();
  }
}
