import { checkPath, joinPath } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { oneLine, plural } from '../print/text.ts';
import type { Batch } from '../transfer/batch.ts';
import { Exclusions } from './exclude.ts';
import { type Source, sealedSource } from './origin.ts';
import { typedPath } from './paths.ts';
import { type Found, type Kind, walk } from './walk.ts';

/** Something to upload, and where it goes. */
export type Planned = Kind & {
  path: string;
  size: number;
  /** Its path on the server. */
  to: string;
  /** The folder that it was found in. */
  from?: Source;
  /** See `sealedSource`; standard input has none. */
  origin?: string;
};

/** The folder that everything goes into; '' is the top. */
export function folderOf({ flags: { dir = '' } }: Invocation): string {
  const folder = typedPath(dir);
  return folder === '' ? '' : checkPath(folder);
}

/** All that is behind the arguments. What cannot be read is a failure of its own. */
export async function collect(invocation: Invocation, batch: Batch): Promise<Planned[]> {
  const { args, flags, out, signal } = invocation;
  const found: Planned[] = [];
  const taken = new Map<string, string>();
  const exclusions = Exclusions.of(flags);
  const into = folderOf(invocation);
  let excluded = 0;
  const handlers = {
    fail: (error: unknown, path: string) => batch.fail(error, path),
    skip: (path: string, what: string) =>
      out.note('skipped', `skipping ${oneLine(path)}: it is ${what}`, { path }),
    exclude: (path: string) => {
      excluded++;
      if (flags['dry-run']) out.note('excluded', `leaving out ${oneLine(path)}`, { path });
    },
  };
  for (const arg of new Set(args)) {
    try {
      for await (const file of walk(arg, exclusions, handlers)) {
        signal.throwIfAborted();
        if (flags.name !== undefined && file.folder !== undefined) {
          throw new UsageError('--name is for one file, not a folder', 'omit --name');
        }
        const planned = placeOf(file, into, flags.name);
        const other = taken.get(planned.to);
        // Folders of one name become one: the first says what it is.
        if (other !== undefined && file.kind === 'folder') continue;
        if (other !== undefined) {
          const message = `would have the same path as ${oneLine(other)}`;
          batch.fail(new CliError('same-name', message, 'upload it with another --dir'), file.path);
          continue;
        }
        taken.set(planned.to, file.path);
        found.push(planned);
      }
    } catch (error) {
      if (error instanceof UsageError || signal.aborted) throw error;
      batch.fail(error, arg);
    }
  }
  if (excluded > 0 && !flags['dry-run']) {
    out.note('excluded', `left out ${plural(excluded, 'file or folder', 'files and folders')} by pattern`, {
      excluded,
    });
  }
  return found;
}

/** A folder keeps its name, as `cp -r` does. */
function placeOf(file: Found, into: string, given: string | undefined): Planned {
  const { folder, root, name, ...rest } = file;
  const top = folder === undefined ? into : joinPath(into, folder);
  const to = joinPath(top, given === undefined ? name : typedPath(given));
  return {
    ...rest,
    to,
    origin: sealedSource(file.path, to),
    ...(root !== undefined && { from: { path: root, prefix: `${top}/` } }),
  };
}
