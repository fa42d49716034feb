import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { Lookup, ROOT } from '../lookup.ts';
import { canAsk, confirm } from '../question.ts';
import { oneLine, plural } from '../text.ts';

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const given = args[0]!;
  if (given === ROOT) throw new UsageError('the root cannot be removed', 'name a directory');
  await using connection = await connect(invocation, { keys: 'useful' });
  const lookup = new Lookup(connection.szafa, signal);
  const { dirId, name, fileCount } = await lookup.dir(given.replace(/\/$/, ''));
  const moved = `its ${plural(fileCount, 'file')} will move to the root`;
  if (fileCount > 0 && !flags.yes) {
    const shown = oneLine(name);
    if (!canAsk())
      throw new CliError(
        'not-empty',
        `${shown}/ is not empty: ${moved}`,
        'use --yes if that is what you want',
      );
    if (!(await confirm(`remove ${shown}/? ${moved}.`, signal))) {
      throw new CliError('kept', `${shown}/ was kept`, 'nothing was changed');
    }
  }
  const { szafa } = connection;
  if (fileCount > 0 && szafa.keys.unlocked) {
    const inside = await lookup.list(dirId);
    const moves = inside.map((entry) => ({ entry, path: entry.name }));
    await szafa.rename(moves, { asVersion: true, signal });
  }
  await szafa.api.deleteDir(dirId, { signal });
  out.done('removed', { dir_id: dirId, name, files_moved: fileCount }, `removed ${oneLine(name)}/`);
};
