import { checkPath, joinPath } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { oneLine, plural, typedPath } from '../print/text.ts';
import { exclusionsFrom } from './exclude.ts';
import { type SourceFolder, sealedSource } from './origin.ts';
import { type FileKind, type LocalFile, walk } from './walk.ts';

/** A file to upload and its path on the server. */
export type PlannedFile = FileKind & {
  path: string;
  size: number;
  /** Path on the server. */
  to: string;
  /** The uploaded folder that contains the file; absent if the file was named itself. */
  from?: SourceFolder;
  /** The result of `sealedSource`. Absent for standard input. */
  origin?: string;
};

/** Returns the folder given with --dir; '' is the root folder. */
export function uploadFolder({ flags: { dir = '' } }: Invocation): string {
  const folder = typedPath(dir);
  return folder === '' ? '' : checkPath(folder);
}

/** Collects the files of all arguments. A file that cannot be read is reported and does not stop the others. */
export async function collectFiles(invocation: Invocation): Promise<PlannedFile[]> {
  const { args, flags, out, batch, signal } = invocation;
  const planned: PlannedFile[] = [];
  const taken = new Map<string, string>();
  const exclusions = exclusionsFrom(flags);
  const into = uploadFolder(invocation);
  let excluded = 0;
  const handlers = {
    fail: (error: unknown, path: string) => batch.fail(error, path),
    skip: (path: string, what: string) =>
      out.note('skipped', `skipping ${oneLine(path)}: it is ${what}`, { path }),
    exclude: (path: string) => {
      excluded++;
      if (flags['dry-run']) out.note('excluded', `excluding ${oneLine(path)}`, { path });
    },
  };
  for (const arg of new Set(args)) {
    try {
      for await (const file of walk(arg, exclusions, handlers)) {
        signal.throwIfAborted();
        if (flags.name !== undefined && file.folder !== undefined) {
          throw new UsageError('--name is for one file, not a folder', 'omit --name');
        }
        const plan = planFile(file, into, flags.name);
        const other = taken.get(plan.to);
        // Folders of the same name are merged, with the attributes of the first.
        if (other !== undefined && file.kind === 'folder') continue;
        if (other !== undefined) {
          const message = `would have the same path as ${oneLine(other)}`;
          batch.fail(new CliError('same-name', message, 'upload it with another --dir'), file.path);
          continue;
        }
        taken.set(plan.to, file.path);
        planned.push(plan);
      }
    } catch (error) {
      if (error instanceof UsageError || signal.aborted) throw error;
      batch.fail(error, arg);
    }
  }
  if (excluded > 0 && !flags['dry-run']) {
    const message = `excluded ${plural(excluded, 'file or folder', 'files and folders')}`;
    out.note('excluded', message, { excluded });
  }
  return planned;
}

/** Works out the path on the server. A folder keeps its name, as with `cp -r`. */
function planFile(file: LocalFile, into: string, given: string | undefined): PlannedFile {
  const { folder, root, name, ...rest } = file;
  const top = folder === undefined ? into : joinPath(into, folder);
  const to = joinPath(top, given === undefined ? name : typedPath(given));
  const from = root === undefined ? undefined : { path: root, prefix: `${top}/` };
  return { ...rest, to, origin: sealedSource(file.path, to), ...(from && { from }) };
}
