import { type DirEntry, type Szafa, Tree } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { shownName } from '../print/text.ts';

const ROOT = 0;

/** Calls `make` at most once and returns the same promise every time. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Falls back to `work` if the token is limited to one directory and the server refused the whole list. */
const ifOutOfScope =
  <T>(work: () => T) =>
  (error: unknown): T => {
    if (explain(error).code !== 'out-of-scope') throw error;
    return work();
  };

export type Lookup = ReturnType<typeof createLookup>;

/** Lists files and folders on the server. Each directory is requested once. */
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
     * Returns the top-level folder of a path, so that an upload does not list the whole account. Always includes the root directory:
     * it holds the files of deleted directories, which keep their old paths.
     */
    async near(path: string): Promise<Tree> {
      const slash = path.indexOf('/');
      const dirId = slash < 0 ? ROOT : ((await findDir(path.slice(0, slash)))?.dirId ?? ROOT);
      const part = parts.get(dirId) ?? listPart(dirId);
      parts.set(dirId, part);
      return part;
    },

    /** Finds a top-level folder that is a directory on the server, because only such a folder can limit a token. */
    async topFolder(name: string): Promise<DirEntry> {
      const found = await findDir(name);
      if (found) return found;
      const hint = 'a token is for a top-level folder; szafa ls shows them, szafa mkdir creates one';
      throw new CliError('no-folder', `there is no folder ${shownName(name)}`, hint);
    },

    /** Returns the name of a top-level folder, or '' if the folder is gone. */
    async topFolderName(dirId: number): Promise<string> {
      return (await dirs()).find((dir) => dir.dirId === dirId)?.name ?? '';
    },
  };
}
