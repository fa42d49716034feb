import { type DirEntry, type Szafa, Tree } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { shownName } from '../print/text.ts';

const ROOT = 0;

/** Makes something at the first call, and returns it at every call. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Handles the refusal of a token that is limited to one directory. */
const ifOutOfScope =
  <T>(work: () => T) =>
  (error: unknown): T => {
    if (explain(error).code !== 'out-of-scope') throw error;
    return work();
  };

export type Lookup = ReturnType<typeof createLookup>;

/** Lists the server, each part once. */
export function createLookup(szafa: Szafa, signal: AbortSignal) {
  const parts = new Map<number, Promise<Tree>>();
  const list = (dirId: number) => szafa.list({ dirId, signal });
  const dirs = once(() => szafa.dirs({ signal }));
  const root = once(() => list(ROOT).catch(ifOutOfScope(() => [])));

  /** Prefers a sealed directory to a plain one of the same name. */
  async function findDir(name: string): Promise<DirEntry | undefined> {
    const found = (await dirs()).filter((dir) => dir.name === name);
    return found.find((dir) => dir.verified) ?? found[0];
  }

  async function listPart(dirId: number): Promise<Tree> {
    const own = dirId === ROOT ? [] : list(dirId);
    const [entries, inRoot, all] = await Promise.all([own, root(), dirs()]);
    return new Tree([...entries, ...inRoot], all);
  }

  async function visibleTree(): Promise<Tree> {
    const lists = await Promise.all((await dirs()).map(({ dirId }) => list(dirId)));
    return new Tree(lists.flat(), await dirs());
  }

  return {
    tree: once(() => szafa.tree({ signal }).catch(ifOutOfScope(visibleTree))),

    /**
     * The part of the tree that a path is in: an upload need not list the whole account. Always includes the root directory, which has
     * the files of deleted directories, whatever their paths.
     */
    async near(path: string): Promise<Tree> {
      const slash = path.indexOf('/');
      const dirId = slash < 0 ? ROOT : ((await findDir(path.slice(0, slash)))?.dirId ?? ROOT);
      const part = parts.get(dirId) ?? listPart(dirId);
      parts.set(dirId, part);
      return part;
    },

    /** A top-level folder that is a directory on the server: a token can be limited to it. */
    async topFolder(name: string): Promise<DirEntry> {
      const found = await findDir(name);
      if (found) return found;
      const hint = 'a token is for a top-level folder; szafa ls shows them, szafa mkdir creates one';
      throw new CliError('no-folder', `there is no folder ${shownName(name)}`, hint);
    },

    /** The name of the folder that a token is limited to; '' if it is gone. */
    async topFolderName(dirId: number): Promise<string> {
      return (await dirs()).find((dir) => dir.dirId === dirId)?.name ?? '';
    },
  };
}
