import type { Entry } from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError } from '../errors.ts';
import { isFatal } from '../explain.ts';
import { Lookup } from '../lookup.ts';
import { canAsk, confirm } from '../question.ts';
import { oneLine, plural, shorten } from '../text.ts';

const PARALLEL = 4;

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  if (!flags.yes && !canAsk()) {
    throw new CliError(
      'not-confirmed',
      'nothing was deleted: there is no terminal to ask on',
      'use --yes to delete without a question',
    );
  }
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const lookup = new Lookup(szafa, signal);
  const batch = new Batch(out);
  const found = new Map<string, Entry>();
  for (const arg of args) {
    try {
      const entry = await lookup.file(arg, flags.dir, 'refuse', out);
      found.set(entry.fileId, entry);
    } catch (error) {
      if (signal.aborted || isFatal(error)) throw error;
      batch.fail(error, arg);
    }
  }
  if (found.size > 0 && !flags.yes) {
    const names = [...found.values()].map(({ name }) => shorten(oneLine(name), 60));
    const shown = names.length > 5 ? `${names.slice(0, 5).join(', ')}, …` : names.join(', ');
    if (!(await confirm(`delete ${plural(found.size, 'file')} for good: ${shown}?`, signal))) {
      throw new CliError('kept', 'nothing was deleted', 'answer y, or use --yes');
    }
  }
  const options = { out, signal, parallel: PARALLEL, about: ({ name }: Entry) => name };
  await batch.run(found.values(), options, async ({ fileId, name }) => {
    await szafa.remove(fileId, { signal });
    out.done('removed', { file_id: fileId, name }, `deleted ${oneLine(name)}`);
  });
  batch.finish();
};
