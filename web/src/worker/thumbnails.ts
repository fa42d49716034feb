/** Small pictures of pictures, for grids. They are made here, off the page, of bytes that were verified. */
import type { RemoteFile } from '@szafa/client';
import { shownType } from './types.ts';

/** The longer side, in pixels: sharp in a tile, and a quarter of a megabyte in memory at most. */
const SIDE = 256;
/** Larger ones would cost more to fetch than a look at a tile is worth. */
const MOST_BYTES = 8 * 1024 * 1024;
const QUALITY = 0.8;
/** Of a few kilobytes each. */
const KEPT = 500;

/** Browsers draw SVG only in a page. */
const isPicture = (type: string) => type.startsWith('image/') && type !== 'image/svg+xml';

async function shrunk(picture: Blob): Promise<Blob> {
  const whole = await createImageBitmap(picture);
  const { width, height } = whole;
  const scale = Math.min(1, SIDE / Math.max(width, height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(width * scale)),
    Math.max(1, Math.round(height * scale)),
  );
  const pen = canvas.getContext('2d')!;
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(whole, 0, 0, canvas.width, canvas.height);
  whole.close();
  return canvas.convertToBlob({ type: 'image/webp', quality: QUALITY });
}

/** Those that were made lately, compressed; the page gets pixels, and gives them up with the tile. */
export class Thumbnails {
  readonly #made = new Map<string, Promise<Blob | undefined>>();

  /** Null where there is none; a file that fails its check has none either. */
  async of(fileId: string, open: () => Promise<RemoteFile>): Promise<ImageBitmap | null> {
    const made = this.#made.get(fileId) ?? this.#make(open);
    // The ones that were looked at last are kept.
    this.#made.delete(fileId);
    this.#made.set(fileId, made);
    made.catch(() => this.#made.delete(fileId));
    for (const oldest of this.#made.keys()) {
      if (this.#made.size <= KEPT) break;
      this.#made.delete(oldest);
    }
    const blob = await made;
    return blob ? createImageBitmap(blob) : null;
  }

  async #make(open: () => Promise<RemoteFile>): Promise<Blob | undefined> {
    const remote = await open();
    const { name, type, size } = remote.metadata;
    const shown = shownType(name, type);
    if (!isPicture(shown) || size === 0 || size > MOST_BYTES) return undefined;
    const parts: BlobPart[] = [];
    for await (const piece of remote.pieces()) parts.push(piece.slice() as Uint8Array<ArrayBuffer>);
    try {
      return await shrunk(new Blob(parts, { type: shown }));
    } catch {
      return undefined; // not a picture that this browser knows
    }
  }

  clear(): void {
    this.#made.clear();
  }
}
