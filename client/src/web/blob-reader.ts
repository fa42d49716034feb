import { FileChangedError } from '../errors.ts';

/** Streams being read. Chromium collects a stream that only its reader refers to, and reads then never finish. */
const reading = new Set<ReadableStream>();

/** A BYOB reader with `min`. Browsers that do not support `min` may return fewer bytes. */
interface Reader {
  read(
    view: Uint8Array<ArrayBuffer>,
    options: { min: number },
  ): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>>;
  releaseLock(): void;
}

interface Opened {
  stream: ReadableStream;
  reader: Reader;
  /** Offset in the blob at which the stream continues. */
  position: number;
}

/**
 * Reads parts of a blob into reused memory. Keeps one stream open as long as each part starts where the previous one ended: allocating
 * memory for every volume, and opening a pipe to the browser's process for every stream, costs as much as sealing. @public
 */
export class BlobReader {
  readonly #blob: Blob;
  #opened: Opened | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  /**
   * Reads to the beginning of `memory` and returns it. The passed buffer is detached, so use the returned one. Concurrent calls are
   * queued.
   */
  read(offset: number, length: number, memory: ArrayBuffer): Promise<ArrayBuffer> {
    const turn = this.#last.then(() => this.#read(offset, length, memory));
    this.#last = turn.catch(() => this.close());
    return turn;
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    this.#opened = undefined;
    reading.delete(opened.stream);
    opened.reader.releaseLock();
    await opened.stream.cancel();
  }

  async #read(offset: number, length: number, memory: ArrayBuffer): Promise<ArrayBuffer> {
    const opened = await this.#openAt(offset);
    if (!opened) {
      const bytes = new Uint8Array(await this.#blob.slice(offset, offset + length).arrayBuffer());
      if (bytes.length !== length) throw new FileChangedError();
      new Uint8Array(memory).set(bytes);
      return memory;
    }
    let filled = memory;
    for (let at = 0; at < length; ) {
      const left = length - at;
      const { value, done } = await opened.reader.read(new Uint8Array(filled, at, left), { min: left });
      if (done) throw new FileChangedError();
      filled = value.buffer;
      at += value.length;
    }
    opened.position += length;
    if (opened.position === this.#blob.size) await this.close();
    return filled;
  }

  /** Returns undefined if the browser cannot read blobs into given memory. */
  async #openAt(offset: number): Promise<Opened | undefined> {
    if (this.#opened?.position === offset) return this.#opened;
    await this.close();
    const stream = this.#blob.slice(offset).stream();
    let reader: Reader;
    try {
      reader = stream.getReader({ mode: 'byob' }) as Reader;
    } catch (error) {
      await stream.cancel();
      if (error instanceof TypeError) return undefined;
      throw error;
    }
    reading.add(stream);
    this.#opened = { stream, reader, position: offset };
    return this.#opened;
  }
}
