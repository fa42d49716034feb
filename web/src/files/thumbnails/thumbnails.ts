/** Requests thumbnails for visible tiles. A tile that scrolls away before its turn drops its request. */
import { call } from '../../core/call.ts';

/** Many, because the worker combines them into few requests to the server. */
const STORED_AT_ONCE = 100;
/** Few, because each one downloads a whole file. */
const MADE_AT_ONCE = 4;

interface ThumbnailRequest {
  fileId: string;
  use(picture: ImageBitmap): void;
}

/** Requests that wait for their turn. */
class Queue {
  readonly #most: number;
  readonly #ask: (wish: ThumbnailRequest) => Promise<void>;
  readonly #waiting = new Set<ThumbnailRequest>();
  #asking = 0;

  constructor(most: number, ask: (wish: ThumbnailRequest) => Promise<void>) {
    this.#most = most;
    this.#ask = ask;
  }

  add(wish: ThumbnailRequest): void {
    this.#waiting.add(wish);
    this.#next();
  }

  drop(wish: ThumbnailRequest): void {
    this.#waiting.delete(wish);
  }

  #next(): void {
    for (const wish of this.#waiting) {
      if (this.#asking >= this.#most) return;
      this.#waiting.delete(wish);
      this.#asking++;
      // After an error the tile has no picture; opening the file shows why.
      void this.#ask(wish)
        .catch(() => {})
        .finally(() => {
          this.#asking--;
          this.#next();
        });
    }
  }
}

const made = new Queue(MADE_AT_ONCE, async ({ fileId, use }) => {
  const picture = await call('makeThumbnail', fileId);
  if (picture) use(picture);
});
const stored = new Queue(STORED_AT_ONCE, async (wish) => {
  const found = await call('thumbnail', wish.fileId);
  if (found === 'unmade') {
    if (wanted.has(wish)) made.add(wish);
  } else if (found) wish.use(found);
});
const wanted = new Set<ThumbnailRequest>();

/** Calls `use` with the picture, if there is one, unless the returned function was called before. */
export function requestThumbnail(fileId: string, use: (picture: ImageBitmap) => void): () => void {
  const wish: ThumbnailRequest = {
    fileId,
    use: (picture) => (wanted.has(wish) ? use(picture) : picture.close()),
  };
  wanted.add(wish);
  stored.add(wish);
  return () => {
    wanted.delete(wish);
    stored.drop(wish);
    made.drop(wish);
  };
}
