import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { close, mkdtemp, open, read, rm, write } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Source } from '../upload/source.ts';

const openAsync = promisify(open);
const closeAsync = promisify(close);
const readAsync = promisify(read);
const writeAsync = promisify(write);
const mkdtempAsync = promisify(mkdtemp);
const rmAsync = promisify(rm);

const BLOCK = 1024 * 1024;
const TAG = 16;

export interface SpoolOptions {
  /** Bytes kept in memory; what goes beyond is written to a temporary file. */
  memoryBudget?: number | undefined;
  /** Where that file lies; the system's folder for such files by default. */
  folder?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * A stream of unknown length as a source. The number of volumes is part of every volume's seal, so nothing can
 * be sealed before the end is known: what does not fit into memory waits on disk, encrypted under a key that only
 * this process has, in a file without a name. @public
 */
export async function spool(stream: AsyncIterable<Uint8Array>, options: SpoolOptions = {}): Promise<Source> {
  const spooled = new Spool(options.memoryBudget ?? 64 * BLOCK, options.folder ?? tmpdir());
  try {
    for await (const part of stream) {
      options.signal?.throwIfAborted();
      await spooled.append(part);
    }
    await spooled.flush();
    return spooled;
  } catch (error) {
    await spooled.close();
    throw error;
  }
}

class Spool implements Source {
  size = 0;
  readonly #memoryBlocks: number;
  readonly #folder: string;
  readonly #key = randomBytes(32);
  readonly #blocks: Uint8Array[] = [];
  #current = Buffer.allocUnsafe(BLOCK);
  #filled = 0;
  #count = 0;
  #fd: number | undefined;

  constructor(memory: number, folder: string) {
    this.#memoryBlocks = Math.floor(memory / BLOCK);
    this.#folder = folder;
  }

  async append(part: Uint8Array): Promise<void> {
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + BLOCK - this.#filled);
      this.#current.set(piece, this.#filled);
      this.#filled += piece.length;
      this.size += piece.length;
      at += piece.length;
      if (this.#filled === BLOCK) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.#filled === 0) return;
    const block = this.#current.subarray(0, this.#filled);
    if (this.#count < this.#memoryBlocks) {
      this.#blocks.push(block);
      this.#current = Buffer.allocUnsafe(BLOCK);
    } else {
      await this.#writeBlock(block);
    }
    this.#filled = 0;
    this.#count++;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const number = Math.floor((offset + at) / BLOCK);
      const block = this.#blocks[number] ?? (await this.#readBlock(number));
      const from = offset + at - number * BLOCK;
      const piece = block.subarray(from, from + length - at);
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  async check(): Promise<void> {
    // Nobody else can write to it.
  }

  async close(): Promise<void> {
    this.#blocks.length = 0;
    this.#key.fill(0);
    if (this.#fd === undefined) return;
    const fd = this.#fd;
    this.#fd = undefined;
    await closeAsync(fd);
  }

  #nonce(number: number): Buffer {
    const nonce = Buffer.alloc(12);
    nonce.writeUInt32BE(number, 8);
    return nonce;
  }

  async #writeBlock(block: Uint8Array): Promise<void> {
    this.#fd ??= await openUnnamed(this.#folder);
    const cipher = createCipheriv('aes-256-gcm', this.#key, this.#nonce(this.#count));
    const sealed = Buffer.concat([cipher.update(block), cipher.final(), cipher.getAuthTag()]);
    const position = (this.#count - this.#memoryBlocks) * (BLOCK + TAG);
    for (let at = 0; at < sealed.length; ) {
      at += (await writeAsync(this.#fd, sealed, at, sealed.length - at, position + at)).bytesWritten;
    }
  }

  async #readBlock(number: number): Promise<Uint8Array> {
    const length = Math.min(BLOCK, this.size - number * BLOCK);
    const sealed = Buffer.allocUnsafe(length + TAG);
    const position = (number - this.#memoryBlocks) * (BLOCK + TAG);
    for (let at = 0; at < sealed.length; ) {
      const { bytesRead } = await readAsync(this.#fd!, sealed, at, sealed.length - at, position + at);
      if (bytesRead === 0) throw new Error('the temporary file became shorter');
      at += bytesRead;
    }
    const decipher = createDecipheriv('aes-256-gcm', this.#key, this.#nonce(number));
    decipher.setAuthTag(sealed.subarray(length));
    return Buffer.concat([decipher.update(sealed.subarray(0, length)), decipher.final()]);
  }
}

/** Removed as soon as it is open: whatever happens to the process, nothing stays behind. */
async function openUnnamed(folder: string): Promise<number> {
  const own = await mkdtempAsync(join(folder, 'szafa-'));
  try {
    return await openAsync(join(own, 'spool'), 'wx+', 0o600);
  } finally {
    await rmAsync(own, { recursive: true, force: true });
  }
}
