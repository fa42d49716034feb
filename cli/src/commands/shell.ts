import type { Folder } from '@szafa/client/node';
import type { Command, CommandTable } from '../command.ts';
import { completionScript } from '../completion.ts';
import { UsageError } from '../errors.ts';
import { connect } from '../lib/account/connection.ts';
import { sessionStore } from '../lib/account/session-store.ts';
import { Output } from '../lib/print/output.ts';
import { oneLine, typedPath } from '../lib/print/text.ts';
import { createLookup } from '../lib/select/lookup.ts';

/** Takes the command table as a parameter: importing it would be circular. */
export function completionCommand(commands: CommandTable): Command {
  return async ({ args, out }) => {
    const [shell = ''] = args;
    const script = completionScript(shell, commands);
    if (script === undefined)
      throw new UsageError(`no completion for "${shell}"`, 'there is one for bash, zsh and fish');
    out.answer('completion', { shell, script }, script.trimEnd());
  };
}

/** Time limit: the user is waiting after pressing Tab. */
const LIMIT_MS = 2000;
const MOST_PATHS = 1000;

/** Returns the paths that begin with the typed text, up to the next slash. Folders end in a slash. */
export function completePath(
  tree: { folder(path: string): Folder | undefined },
  typed: string,
  foldersOnly: boolean,
): string[] {
  const slash = typed.lastIndexOf('/') + 1;
  const before = typed.slice(0, slash);
  const folder = tree.folder(typedPath(before));
  if (!folder) return [];
  const names = [
    ...folder.folders.map(({ name }) => `${name}/`),
    ...(foldersOnly ? [] : folder.files.map(({ name }) => name)),
  ];
  return names
    .filter((name) => name.startsWith(typed.slice(slash)))
    .slice(0, MOST_PATHS)
    .map((name) => before + name);
}

/**
 * Prints the paths on the server that begin with the typed text, for the completion scripts. Shows no errors or questions, because it
 * runs inside a shell prompt. Needs a stored session: a login would take too long.
 */
export const complete: Command = async ({ args: [kind, typed = ''], ...invocation }) => {
  const { settings, signal } = invocation;
  const out = new Output({ json: false, quiet: true });
  try {
    if (!(await sessionStore({ settings, out }).load())) return;
    const limited = {
      ...invocation,
      ...{ args: [], out },
      settings: { ...settings, retrySeconds: 0 },
      signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    };
    await using szafa = await connect(limited, 'useful');
    const tree = await createLookup(szafa, limited.signal).tree();
    for (const path of completePath(tree, typed, kind === 'path-folder')) {
      // Skip paths with control characters: the shell could not insert them as they are.
      if (oneLine(path) === path) out.answer('path', { path }, path);
    }
  } catch {
    // An error message would garble the prompt.
  }
};
