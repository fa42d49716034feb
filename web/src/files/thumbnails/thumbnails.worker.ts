/** Small pictures of pictures: made at the upload, sealed beside the file, and shown in grids when they were verified. */
import { type Bytes, MOST_THUMBNAIL_BYTES, type RemoteFile, type Thumbnail } from '@szafa/client';
import { limits } from '@szafa/protocol';
import { shownType } from '../preview/types.worker.ts';

/** Larger ones, of files that came without a thumbnail, would cost more to fetch than a look at a tile is worth. */
const MOST_FETCHED = 8 * 1024 * 1024;
/** A picture of this size may take hundreds of megabytes once it is decoded. */
const MOST_READ = 64 * 1024 * 1024;
/** Each has a few kilobytes. */
const KEPT = 500;
/** One is opened while the next is on its way. */
const REQUESTS_AT_ONCE = 2;
/** Tiles that come into sight together ask within a few messages. */
const GATHERING_MS = 5;

/** Browsers draw SVG only in a page. */
const isPicture = (type: string) => type.startsWith('image/') && type !== 'image/svg+xml';

/** Loaded with the first picture. */
const shrinkPicture = async (picture: Blob): Promise<Blob | undefined> =>
  (await import('./shrink.worker.ts')).shrinkPicture(picture, MOST_THUMBNAIL_BYTES);

/** One picture is decoded at a time. */
let before: Promise<unknown> = Promise.resolve();

/** The thumbnail to upload with a file; undefined if this browser cannot read it as a picture. */
export function thumbnailFor(file: File): Promise<Bytes | undefined> {
  if (!isPicture(shownType(file.name, file.type)) || file.size > MOST_READ) return Promise.resolve(undefined);
  const made = before.then(() => shrinkPicture(file)).catch(() => undefined);
  before = made;
  return made.then((blob) => blob?.bytes() as Promise<Bytes> | undefined);
}

const typeBy = (name: string) => shownType(name, undefined);
/** Whether a file may have a thumbnail: others are not requested. */
const mayHave = (name: string) => /^(image|video)\//.test(typeBy(name));

type Read = (fileIds: string[]) => Promise<Map<string, Thumbnail>>;
interface ThumbnailRequest {
  fileId: string;
  resolve(bytes: Bytes | undefined): void;
  reject(error: unknown): void;
}

/** Stored thumbnails. Tiles ask one by one; wishes that come while requests are running form one more request. */
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
  /** The thumbnail that lies beside the file. */
  stored(): Promise<Bytes | undefined>;
  open(): Promise<RemoteFile>;
}

/** Thumbnails that were shown lately, compressed; the page gets pixels and frees them with the tile. */
export class Thumbnails {
  readonly #kept = new Map<string, Promise<Blob | undefined>>();

  /** Null where there is none, and none can be made; a file that fails its check has none either. */
  async get(fileId: string, { name, stored }: Sources): Promise<ImageBitmap | 'unmade' | null> {
    if (!mayHave(name)) return null;
    const found = await this.#keep(fileId, async () => {
      const bytes = await stored();
      return bytes && new Blob([bytes]);
    });
    if (found) return createImageBitmap(found);
    return isPicture(typeBy(name)) ? 'unmade' : null;
  }

  /** Makes one from the whole of a file that was uploaded without. */
  async make(fileId: string, { open }: Sources): Promise<ImageBitmap | null> {
    const made = await this.#keep(`made of ${fileId}`, async () => fromWholeFile(await open()));
    return made ? createImageBitmap(made) : null;
  }

  #keep(key: string, find: () => Promise<Blob | undefined>): Promise<Blob | undefined> {
    const found = this.#kept.get(key) ?? find();
    // The ones that were looked at last are kept.
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
    return undefined; // not a picture that this browser knows
  }
}
