import { FileChangedError } from '../errors.ts';

/** Being read. Chromium collects a stream that only its own reader knows of, and what waits for it then waits forever. */
const reading = new Set<ReadableStream>();

/** Waits until at least `min` bytes are there, where the browser can; others give what they have. */
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
  /** Where in the blob the stream goes on. */
  position: number;
}

/**
 * Reads parts of a blob into memory that is used again, in one stream for as long as each begins where the one before ended: new
 * memory for every volume, and a pipe to the browser's process for every stream, cost as much as sealing does. @public
 */
export class BlobReader {
  readonly #blob: Blob;
  #opened: Opened | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  /** Reads to the beginning of the memory and gives it back; the buffer that was handed in is gone then. Calls take turns. */
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

  /** Undefined in a browser whose blobs cannot be read into given memory. */
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
