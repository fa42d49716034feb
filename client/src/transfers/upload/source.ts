import type { ByteSource } from '@szafa/format';
import { FileChangedError } from '../../errors.ts';
import { BlobReader } from '../../web/blob-reader.ts';

/** Bytes of known length that can be read at any place, as often as needed, and always the same. @public */
export interface Source extends ByteSource {
  readonly size: number;
  /**
   * Names the content without reading it (for a file: device, inode, size, times). An upload is resumed
   * only for an equal identity; without one it cannot be resumed.
   */
  readonly identity?: string | undefined;
  /** Where it is from (a path, a file's name): with the name and the directory it finds an unfinished upload. */
  readonly place?: string | undefined;
  /** Called before anything else when an upload begins: size and identity are those of this moment from now on. */
  begin?(): void;
  /** Exactly `length` bytes at `offset`, in memory that the caller may keep or give away; a FileChangedError when they are not there any more. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Throws a FileChangedError, which says how, when the source is no longer what it was when it was opened. */
  check(): Promise<void>;
  /** Whether a source of this identity can be the beginning of this one: the same file, shorter. */
  extends?(identity: string): boolean;
  close?(): Promise<void>;
}

/** Bytes in memory, which must not change. @public */
export function bytesSource(bytes: Uint8Array): Source {
  return {
    size: bytes.length,
    // A copy, whatever kind of array it is: `slice` of Node's Buffer gives the caller's own memory away.
    read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)),
    check: async () => {},
  };
}

/** The same with zeros behind it, up to this size. */
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

/** A Blob, or a File of a browser: its name, size and time tell whether an upload may go on. @public */
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

  /** The same, to the beginning of this memory, which is given back as another buffer; cheapest from beginning to end. */
  async readInto(memory: ArrayBuffer, offset: number, length: number): Promise<ArrayBuffer> {
    try {
      return await this.#reader.read(offset, length, memory);
    } catch (cause) {
      throw Object.assign(new FileChangedError(), { cause });
    }
  }

  async check(): Promise<void> {
    // Browsers compare a file with what they were given when they begin to read, and only then.
    if (this.size > 0) await this.read(this.size - 1, 1);
  }

  async close(): Promise<void> {
    await this.#reader.close();
  }
}

/** What a browser gives when a file is chosen or dropped. @public */
export function blobSource(blob: Blob): BlobSource {
  return new BlobSource(blob);
}
