import type { ByteSource } from '@szafa/format';
import { FileChangedError } from '../../errors.ts';
import { BlobReader } from '../../web/blob-reader.ts';

/** Bytes of known length that can be read at any offset and do not change. @public */
export interface Source extends ByteSource {
  readonly size: number;
  /**
   * Identifies the content without reading it (for a file: device, inode, size, times). An upload is resumed only if the identity is the
   * same; without one it cannot be resumed.
   */
  readonly identity?: string | undefined;
  /** A path or file name. Together with the target path it identifies an unfinished upload. */
  readonly place?: string | undefined;
  /** Called when an upload starts: fixes size and identity. */
  begin?(): void;
  /** Reads exactly `length` bytes into memory that the caller may keep. @throws FileChangedError if they can no longer be read */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** @throws FileChangedError, with the kind of change, if the source has changed since `begin` or, without it, since it was opened */
  check(): Promise<void>;
  /** Whether the source with this identity may be the beginning of this one: the same file, but shorter. */
  extends?(identity: string): boolean;
  close?(): Promise<void>;
}

/** A source of bytes in memory, which must not change. @public */
export function bytesSource(bytes: Uint8Array): Source {
  return {
    size: bytes.length,
    // Always copies: `slice` of Node's Buffer would expose the caller's memory.
    read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
    check: async () => {},
  };
}

/** Appends zeros up to the padded size. */
export function paddedSource(source: Source, padded: number): Source {
  if (padded === source.size) return source;
  return {
    size: padded,
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      const end = Math.min(source.size, offset + length);
      if (end > offset) bytes.set(await source.read(offset, end - offset));
      return bytes;
    },
    check: () => source.check(),
  };
}

/** A Blob or a browser's File. A File can be resumed: its name, size and time identify it. @public */
export class BlobSource implements Source {
  readonly blob: Blob;
  readonly identity: string | undefined;
  readonly place: string | undefined;
  readonly #reader: BlobReader;

  constructor(blob: Blob) {
    const { name, lastModified = 0 } = blob as Partial<File>;
    this.blob = blob;
    this.identity = name === undefined ? undefined : `file:${name}:${blob.size}:${lastModified}`;
    this.place = name;
    this.#reader = new BlobReader(blob);
  }

  get size(): number {
    return this.blob.size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    let bytes: Uint8Array;
    try {
      bytes = new Uint8Array(await this.blob.slice(offset, offset + length).arrayBuffer());
    } catch (cause) {
      throw Object.assign(new FileChangedError(), { cause });
    }
    if (bytes.length !== length) throw new FileChangedError();
    return bytes;
  }

  /** Reads into `memory`, which is detached and returned as a new buffer. Fastest if offsets are in order. */
  async readInto(memory: ArrayBuffer, offset: number, length: number): Promise<ArrayBuffer> {
    try {
      return await this.#reader.read(offset, length, memory);
    } catch (cause) {
      throw Object.assign(new FileChangedError(), { cause });
    }
  }

  async check(): Promise<void> {
    // Browsers detect a change only when a read starts.
    if (this.size > 0) await this.read(this.size - 1, 1);
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }
}

/** Wraps a file that was chosen or dropped in a browser. @public */
export function blobSource(blob: Blob): BlobSource {
  return new BlobSource(blob);
}
