import { randomBytes } from 'node:crypto';
import type { FileSource } from '@szafa/client/node';

/** The IDs that several names of one file share, for one run of put. */
export class Hardlinks {
  readonly #ids = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #last = new Map<string, Promise<void>>();

  /** The ID for a name; `kept` is its ID on the server. By identity, so that a file that is replaced in between counts as another. */
  idOf(source: Pick<FileSource, 'isLinked' | 'identity'>, kept: string | undefined): string | undefined {
    if (!source.isLinked) return undefined;
    const known = this.#ids.get(source.identity);
    if (known !== undefined) return known;
    const isFree = kept !== undefined && !this.#used.has(kept);
    const id = isFree ? kept : randomBytes(16).toString('base64url');
    this.#ids.set(source.identity, id);
    this.#used.add(id);
    return id;
  }

  /** Works on the names of one file one at a time. */
  async inOrder(inode: string | undefined, work: () => Promise<void>): Promise<void> {
    if (inode === undefined) return work();
    const before = this.#last.get(inode);
    const now = before ? before.then(work) : work();
    this.#last.set(
      inode,
      now.catch(() => {}),
    );
    await now;
  }
}
