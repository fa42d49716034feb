/** Asks for small pictures, a few at a time, only for tiles that are in sight: those that left it before their turn are not asked for. */
import { call } from './core.ts';

const AT_ONCE = 6;

interface Wish {
  fileId: string;
  use(picture: ImageBitmap): void;
}

const waiting = new Set<Wish>();
let asking = 0;

function next(): void {
  while (asking < AT_ONCE) {
    const [wish] = waiting;
    if (!wish) return;
    waiting.delete(wish);
    asking++;
    void ask(wish).finally(() => {
      asking--;
      next();
    });
  }
}

async function ask({ fileId, use }: Wish): Promise<void> {
  try {
    const picture = await call('thumbnail', fileId);
    if (picture) use(picture);
  } catch {
    // It stays without; whoever opens the file hears why.
  }
}

/** `use` gets the picture, if there is one, unless what is returned was called before. */
export function wishThumbnail(fileId: string, use: (picture: ImageBitmap) => void): () => void {
  let wanted = true;
  const wish: Wish = {
    fileId,
    use: (picture) => (wanted ? use(picture) : picture.close()),
  };
  waiting.add(wish);
  next();
  return () => {
    wanted = false;
    waiting.delete(wish);
  };
}
