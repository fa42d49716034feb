/**
 * Where sealed volumes wait between the two passes of an upload: in a file of the browser that no page but ours sees (OPFS). It
 * holds ciphertext only. Memory stays flat, nothing is sealed twice, and the browser sends straight from the file.
 */
import type { KeptVolume, SealedVolume, Shelf } from '@szafa/client';
import { uploadLock } from '../bridge.ts';
import { rememberPieces } from './pieces.ts';

const FOLDER = 'spool';
/** Of what the browser would give us, for each upload; volumes beyond it are sealed a second time. */
const SHARE = 1 / 4;
/** For a longer write Linux looks for memory in longer stretches, and may take five times as long. */
const WRITE_BYTES = 1024 ** 2;
const MOST_BYTES = 4 * 1024 ** 3;

interface SyncFile {
  read(bytes: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  close(): void;
}
type SyncHandle = FileSystemFileHandle & { createSyncAccessHandle(): Promise<SyncFile> };

async function folder(): Promise<FileSystemDirectoryHandle> {
  return (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create: true });
}

export class Spool implements Shelf {
  readonly #id: string;
  readonly #handle: SyncHandle;
  readonly #room: number;
  #open: SyncFile | undefined;
  #file: Promise<File> | undefined;
  /** The file once it is whole, open to be read from. */
  #whole: SyncFile | undefined;
  #piece = new Uint8Array(0);
  #length = 0;

  private constructor(id: string, handle: SyncHandle, open: SyncFile, room: number) {
    this.#id = id;
    this.#handle = handle;
    this.#open = open;
    this.#room = room;
  }

  /** Undefined where the browser has no such files, as in some private windows. */
  static async start(id: string): Promise<Spool | undefined> {
    try {
      const { quota = 0, usage = 0 } = await navigator.storage.estimate();
      const handle = (await (await folder()).getFileHandle(id, { create: true })) as SyncHandle;
      const room = Math.min(MOST_BYTES, (quota - usage) * SHARE);
      return new Spool(id, handle, await handle.createSyncAccessHandle(), room);
    } catch {
      return undefined; // volumes are kept in memory then, as many as fit
    }
  }

  /** Removes what uploads left behind whose tab was closed. */
  static async sweep(): Promise<void> {
    const { held = [] } = await navigator.locks.query();
    const busy = new Set(held.map(({ name }) => name));
    const all = await folder();
    for await (const id of all.keys()) {
      if (!busy.has(uploadLock(id))) await all.removeEntry(id);
    }
  }

  async keep(_idx: number, { bytes, release }: SealedVolume): Promise<KeptVolume | undefined> {
    const at = this.#length;
    if (!this.#open || at + bytes.length > this.#room) return undefined;
    const end = at + bytes.length;
    try {
      for (let from = 0; from < bytes.length; from += WRITE_BYTES) {
        const piece = bytes.subarray(from, from + WRITE_BYTES);
        if (this.#open.write(piece, { at: at + from }) !== piece.length) return undefined;
      }
    } catch {
      return undefined; // there was less room than the browser said
    }
    this.#length = end;
    release();
    return { body: () => this.#body(at, end), release: () => {} };
  }

  async remove(): Promise<void> {
    this.#close();
    this.#whole?.close();
    try {
      await (await folder()).removeEntry(this.#id);
    } catch {
      // Still being read, by a request that was broken off: the next visit sweeps it away.
    }
  }

  async #body(start: number, end: number): Promise<Blob> {
    this.#file ??= this.#finish();
    const blob = (await this.#file).slice(start, end);
    const whole = this.#whole;
    if (!whole) return blob;
    return rememberPieces(blob, (at, length) => {
      if (this.#piece.length < length) this.#piece = new Uint8Array(length);
      const piece = this.#piece.subarray(0, length);
      if (whole.read(piece, { at: start + at }) !== length)
        throw new Error('the spool is shorter than it was');
      return piece;
    });
  }

  /** The browser reads a file only as it was when asked for: from here on nothing is written. */
  async #finish(): Promise<File> {
    this.#close();
    const file = await this.#handle.getFile();
    try {
      this.#whole = await this.#handle.createSyncAccessHandle();
    } catch {
      // Then the browser reads it.
    }
    return file;
  }

  #close(): void {
    this.#open?.close();
    this.#open = undefined;
  }
}
