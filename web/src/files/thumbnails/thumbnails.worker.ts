/** Thumbnails: made during the upload, stored sealed beside the file, and verified before they are shown. */
import { type Bytes, MOST_THUMBNAIL_BYTES, type RemoteFile, type Thumbnail } from '@szafa/client';
import { limits } from '@szafa/protocol';
import { shownType } from '../preview/types.worker.ts';

/** Larger files without a stored thumbnail get none: downloading them costs more than a tile is worth. */
const MOST_FETCHED = 8 * 1024 * 1024;
/** Larger pictures get no thumbnail: they may take hundreds of megabytes once decoded. */
const MOST_READ = 64 * 1024 * 1024;
/** Number of cached thumbnails, a few kilobytes each. */
const KEPT = 500;
/** Two, so that one batch is decrypted while the next is fetched. */
const REQUESTS_AT_ONCE = 2;
/** Tiles that come into view together send their requests within this time, and share a batch. */
const GATHERING_MS = 5;

/** SVG is excluded because a worker cannot decode it. */
const isPicture = (type: string) => type.startsWith('image/') && type !== 'image/svg+xml';

/** Loads its code with the first picture. */
const shrinkPicture = async (picture: Blob): Promise<Blob | undefined> =>
  (await import('./shrink.worker.ts')).shrinkPicture(picture, MOST_THUMBNAIL_BYTES);

/** The previous job: pictures are decoded one at a time, to limit memory. */
let before: Promise<unknown> = Promise.resolve();

/** Makes the thumbnail to upload with a file; undefined if the browser cannot decode the file as a picture. */
export function thumbnailFor(file: File): Promise<Bytes | undefined> {
  if (!isPicture(shownType(file.name, file.type)) || file.size > MOST_READ) return Promise.resolve(undefined);
  const made = before.then(() => shrinkPicture(file)).catch(() => undefined);
  before = made;
  return made.then((blob) => blob?.bytes() as Promise<Bytes> | undefined);
}

const typeBy = (name: string) => shownType(name, undefined);
/** Whether a file may have a stored thumbnail. Thumbnails of other files are not requested. */
const mayHave = (name: string) => /^(image|video)\//.test(typeBy(name));

type Read = (fileIds: string[]) => Promise<Map<string, Thumbnail>>;
interface ThumbnailRequest {
  fileId: string;
  resolve(bytes: Bytes | undefined): void;
  reject(error: unknown): void;
}

/** Reads stored thumbnails. Tiles ask for one each; the requests are combined into batches. */
export class StoredThumbnails {
  readonly #read: Read;
  #wishes: ThumbnailRequest[] = [];
  #running = 0;
  #gathering: ReturnType<typeof setTimeout> | undefined;

  constructor(read: Read) {
    this.#read = read;
  }

  of(fileId: string): Promise<Bytes | undefined> {
    return new Promise((resolve, reject) => {
      this.#wishes.push({ fileId, resolve, reject });
      this.#gathering ??= setTimeout(() => {
        this.#gathering = undefined;
        this.#ask();
      }, GATHERING_MS);
    });
  }

  #ask(): void {
    while (this.#running < REQUESTS_AT_ONCE && this.#wishes.length > 0) {
      this.#running++;
      void this.#request(this.#wishes.splice(0, limits.thumbnailsPerBatch)).finally(() => {
        this.#running--;
        this.#ask();
      });
    }
  }

  async #request(wishes: ThumbnailRequest[]): Promise<void> {
    try {
      const found = await this.#read(wishes.map(({ fileId }) => fileId));
      for (const { fileId, resolve, reject } of wishes) {
        const { bytes, problem } = found.get(fileId) ?? {};
        if (problem) reject(problem);
        else resolve(bytes);
      }
    } catch (error) {
      for (const { reject } of wishes) reject(error);
    }
  }
}

interface Sources {
  name: string;
  /** Reads the thumbnail stored beside the file. */
  stored(): Promise<Bytes | undefined>;
  open(): Promise<RemoteFile>;
}

/** Caches recently shown thumbnails in compressed form. The page gets decoded pictures and frees them with the tile. */
export class Thumbnails {
  readonly #kept = new Map<string, Promise<Blob | undefined>>();

  /** Returns null if there is no thumbnail and none can be made. */
  async get(fileId: string, { name, stored }: Sources): Promise<ImageBitmap | 'unmade' | null> {
    if (!mayHave(name)) return null;
    const found = await this.#keep(fileId, async () => {
      const bytes = await stored();
      return bytes && new Blob([bytes]);
    });
    if (found) return createImageBitmap(found);
    return isPicture(typeBy(name)) ? 'unmade' : null;
  }

  /** Makes a thumbnail from the whole file, for files uploaded without one. */
  async make(fileId: string, { open }: Sources): Promise<ImageBitmap | null> {
    const made = await this.#keep(`made of ${fileId}`, async () => fromWholeFile(await open()));
    return made ? createImageBitmap(made) : null;
  }

  #keep(key: string, find: () => Promise<Blob | undefined>): Promise<Blob | undefined> {
    const found = this.#kept.get(key) ?? find();
    // Move the entry to the end: the least recently shown thumbnails are evicted first.
    this.#kept.delete(key);
    this.#kept.set(key, found);
    found.catch(() => this.#kept.delete(key));
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
    }
    return found;
  }

  clear(): void {
    this.#kept.clear();
  }
}

async function fromWholeFile(remote: RemoteFile): Promise<Blob | undefined> {
  const { name, type, size } = remote.metadata;
  const shown = shownType(name, type);
  if (!isPicture(shown) || size === 0 || size > MOST_FETCHED) return undefined;
  const parts: BlobPart[] = [];
  for await (const piece of remote.pieces()) parts.push(piece.slice() as Bytes);
  try {
    return await shrinkPicture(new Blob(parts, { type: shown }));
  } catch {
    return undefined; // not a picture that this browser can decode
  }
}
