import { type DirEntry, type Entry, type Szafa, Tree } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { shownName } from './paths.ts';

const ROOT = 0;

/** Lists the server, each part once. */
export class Lookup {
  readonly #szafa: Szafa;
  readonly #signal: AbortSignal;
  readonly #parts = new Map<number, Promise<Tree>>();
  #tree: Promise<Tree> | undefined;
  #inRoot: Promise<Entry[]> | undefined;
  #dirs: Promise<DirEntry[]> | undefined;

  constructor(szafa: Szafa, signal: AbortSignal) {
    this.#szafa = szafa;
    this.#signal = signal;
  }

  tree(): Promise<Tree> {
    this.#tree ??= this.#szafa.tree({ signal: this.#signal }).catch((error) => this.#visibleTree(error));
    return this.#tree;
  }

  /**
   * The part of the tree that a path is in: an upload need not list the whole account. Always includes the root directory, which has
   * the files of deleted directories, whatever their paths.
   */
  async near(path: string): Promise<Tree> {
    const slash = path.indexOf('/');
    const dir = slash < 0 ? undefined : await this.#dir(path.slice(0, slash));
    const dirId = dir?.dirId ?? ROOT;
    const part = this.#parts.get(dirId) ?? this.#part(dirId);
    this.#parts.set(dirId, part);
    return part;
  }

  async #part(dirId: number): Promise<Tree> {
    const own = dirId === ROOT ? [] : this.#list(dirId);
    const [entries, inRoot, dirs] = await Promise.all([own, this.#root(), this.#allDirs()]);
    return new Tree([...entries, ...inRoot], dirs);
  }

  /** Empty for a token that is limited to another directory. */
  #root(): Promise<Entry[]> {
    this.#inRoot ??= this.#list(ROOT).catch((error) => {
      if (explain(error).code !== 'out-of-scope') throw error;
      return [];
    });
    return this.#inRoot;
  }

  /** A top-level folder that is a directory on the server: a token can be limited to it. */
  async topFolder(name: string): Promise<DirEntry> {
    const found = await this.#dir(name);
    if (found) return found;
    const hint = 'a token is for a top-level folder; szafa ls shows them, szafa mkdir creates one';
    throw new CliError('no-folder', `there is no folder ${shownName(name)}`, hint);
  }

  /** The name of the folder that a token is limited to; '' if it is gone. */
  async topFolderName(dirId: number): Promise<string> {
    return (await this.#allDirs()).find((dir) => dir.dirId === dirId)?.name ?? '';
  }

  /** Prefers a sealed directory to a plain one of the same name. */
  async #dir(name: string): Promise<DirEntry | undefined> {
    const found = (await this.#allDirs()).filter((dir) => dir.name === name);
    return found.find((dir) => dir.verified) ?? found[0];
  }

  #allDirs(): Promise<DirEntry[]> {
    this.#dirs ??= this.#szafa.dirs({ signal: this.#signal });
    return this.#dirs;
  }

  #list(dirId: number): Promise<Entry[]> {
    return this.#szafa.list({ dirId, signal: this.#signal });
  }

  /** A token for one folder sees only that. */
  async #visibleTree(error: unknown): Promise<Tree> {
    if (explain(error).code !== 'out-of-scope') throw error;
    const dirs = await this.#allDirs();
    const lists = await Promise.all(dirs.map(({ dirId }) => this.#list(dirId)));
    return new Tree(lists.flat(), dirs);
  }
}
