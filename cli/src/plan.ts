import { cleanDirName } from '@szafa/protocol';
import type { Batch } from './batch.ts';
import type { Invocation } from './command.ts';
import { CliError, UsageError } from './errors.ts';
import { ROOT } from './lookup.ts';
import { sealedSource, type Tree } from './origin.ts';
import { oneLine } from './text.ts';
import { type Found, walk } from './walk.ts';

/** A file, and where it goes. */
export interface Planned {
  path: string;
  size: number;
  /** Its name on the service. */
  name: string;
  /** The directory; without one the root. */
  folder?: string;
  /** The folder that it was found in. */
  tree?: Tree;
  /** See `sealedSource`; standard input has none. */
  origin?: string;
}

/** All files behind the arguments. What cannot be read is a failure of its own. */
export async function collect({ args, flags, out, signal }: Invocation, batch: Batch): Promise<Planned[]> {
  const found: Planned[] = [];
  const names = new Map<string, string>();
  const handlers = {
    fail: (error: unknown, path: string) => batch.fail(error, path),
    skip: (path: string, what: string) =>
      out.note('skipped', `skipping ${oneLine(path)}: it is ${what}`, { path }),
  };
  for (const arg of new Set(args)) {
    try {
      for await (const file of walk(arg, handlers)) {
        signal.throwIfAborted();
        if (flags.name !== undefined && file.folder !== undefined) {
          throw new UsageError('--name is for one file, not a folder', 'omit --name');
        }
        const planned = placeOf(file, flags.dir, flags.name);
        const key = keyOf(planned);
        const other = names.get(key);
        if (other !== undefined) {
          const message = `would have the same name as ${oneLine(other)}`;
          batch.fail(new CliError('same-name', message, 'upload it with another --dir'), file.path);
          continue;
        }
        names.set(key, file.path);
        found.push(planned);
      }
    } catch (error) {
      if (error instanceof UsageError || signal.aborted) throw error;
      batch.fail(error, arg);
    }
  }
  return found;
}

/** Tells files of one command apart: by where they go. */
export const keyOf = ({ folder, name }: Pick<Planned, 'folder' | 'name'>) => `${folder ?? ''}/${name}`;

/** A folder is a directory of its name; with --dir its name goes before those of its files, as `cp -r` does. */
function placeOf(file: Found, dir: string | undefined, given: string | undefined): Planned {
  const { path, size, root } = file;
  const prefix = dir === undefined || file.folder === undefined ? '' : `${file.folder}/`;
  const into = dir === undefined ? file.folder : dir === ROOT ? undefined : cleanDirName(dir);
  const name = given ?? `${prefix}${file.name}`;
  return {
    path,
    size,
    name,
    origin: sealedSource(path, name),
    ...(into !== undefined && { folder: into }),
    ...(root !== undefined && { tree: { path: root, prefix } }),
  };
}
