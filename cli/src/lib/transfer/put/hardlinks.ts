import { randomBytes } from 'node:crypto';
import type { FileSource } from '@szafa/client/node';

/** The ids that names of one file share, for one run of put. Names that are put at once wait for each other. */
export class Hardlinks {
  readonly #ids = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #last = new Map<string, Promise<void>>();

  /** What a name has to have; `kept`: what it has on the server. By its identity, so that a file that changes in between is another one. */
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

  /** One name of a file after the other. */
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
