/** Small pictures of pictures: made at the upload, sealed beside the file, and shown in grids when they were verified. */
import { type Bytes, MOST_THUMBNAIL_BYTES, type RemoteFile } from '@szafa/client';
import { shownType } from './types.ts';

/** The longer side, in pixels: sharp in a tile, and a quarter of a megabyte in memory at most. */
const SIDE = 256;
/** Larger ones, of files that came without a thumbnail, would cost more to fetch than a look at a tile is worth. */
const MOST_FETCHED = 8 * 1024 * 1024;
/** A picture of this size may take hundreds of megabytes once it is decoded. */
const MOST_READ = 64 * 1024 * 1024;
/** The first that the browser can write, and that is small enough. */
const FORMS = [
  { type: 'image/webp', quality: 0.8 },
  { type: 'image/jpeg', quality: 0.8 },
  { type: 'image/jpeg', quality: 0.4 },
];
/** Of a few kilobytes each. */
const KEPT = 500;

/** Browsers draw SVG only in a page. */
const isPicture = (type: string) => type.startsWith('image/') && type !== 'image/svg+xml';

async function shrunk(picture: Blob): Promise<Blob | undefined> {
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
  for (const form of FORMS) {
    if (form.type === 'image/jpeg') {
      // It knows no transparency, which would become black.
      pen.globalCompositeOperation = 'destination-over';
      pen.fillStyle = '#fff';
      pen.fillRect(0, 0, canvas.width, canvas.height);
    }
    const made = await canvas.convertToBlob(form);
    if (made.type === form.type && made.size <= MOST_THUMBNAIL_BYTES) return made;
  }
  return undefined;
}

/** One picture is decoded at a time. */
let before: Promise<unknown> = Promise.resolve();

/** What is uploaded with a file; undefined where it is no picture that this browser knows. */
export function thumbnailFor(file: File): Promise<Bytes | undefined> {
  if (!isPicture(shownType(file.name, file.type)) || file.size > MOST_READ) return Promise.resolve(undefined);
  const made = before.then(() => shrunk(file)).catch(() => undefined);
  before = made;
  return made.then((blob) => blob?.bytes() as Promise<Bytes> | undefined);
}

/** What a tile may have a picture of; others are not asked for. */
const mayHave = (name: string) => /^(image|video)\//.test(shownType(name, undefined));

interface Sources {
  name: string;
  /** The thumbnail that lies beside the file. */
  stored(): Promise<Bytes | undefined>;
  open(): Promise<RemoteFile>;
}

/** Those that were made lately, compressed; the page gets pixels, and gives them up with the tile. */
export class Thumbnails {
  readonly #made = new Map<string, Promise<Blob | undefined>>();

  /** Null where there is none; a file that fails its check has none either. */
  async of(fileId: string, sources: Sources): Promise<ImageBitmap | null> {
    if (!mayHave(sources.name)) return null;
    const made = this.#made.get(fileId) ?? this.#make(sources);
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

  async #make({ stored, open }: Sources): Promise<Blob | undefined> {
    const found = await stored();
    if (found) return new Blob([found]);
    const remote = await open();
    const { name, type, size } = remote.metadata;
    const shown = shownType(name, type);
    if (!isPicture(shown) || size === 0 || size > MOST_FETCHED) return undefined;
    const parts: BlobPart[] = [];
    for await (const piece of remote.pieces()) parts.push(piece.slice() as Bytes);
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
