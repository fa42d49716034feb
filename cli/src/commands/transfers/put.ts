import { join } from 'node:path';
import { checkPath, fileJournal, joinPath } from '@szafa/client/node';
import { layoutOf } from '@szafa/format';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { parseSize } from '../../lib/print/quantities.ts';
import { versionsAt } from '../../lib/select/existing.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { Origins } from '../../lib/select/origin.ts';
import { typedPath } from '../../lib/select/paths.ts';
import { collect, folderOf, type Planned } from '../../lib/select/plan.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { lanesFor, summarize } from '../../lib/transfer/concurrency.ts';
import { Progress } from '../../lib/transfer/progress/progress.ts';
import { pullPlan } from '../../lib/transfer/pull.ts';
import { putAll } from '../../lib/transfer/put/all.ts';
import type { Put } from '../../lib/transfer/put/context.ts';
import { removeDuplicates } from '../../lib/transfer/put/duplicates.ts';
import { Hardlinks } from '../../lib/transfer/put/hardlinks.ts';
import { putToRequest } from '../../lib/transfer/put/request.ts';
import { send } from '../../lib/transfer/put/send.ts';
import { standardInput } from '../../lib/transfer/put/stdin.ts';

const STDIN = '-';

/** A folder that is not empty is no item of its own: what it has in it is. */
const isTold = (file: Planned) => file.kind !== 'folder' || file.isEmpty;

function checkUsage(invocation: Invocation): void {
  const { args, flags } = invocation;
  const several = args.length > 1;
  if (args.includes(STDIN)) {
    if (several)
      throw new UsageError(
        'standard input (-) cannot be combined with files',
        'upload the files with a second command',
      );
    if (pullPlan(flags)) {
      throw new UsageError(
        'the server cannot pull standard input: it can be read only once',
        'omit --pull, or upload a file',
      );
    }
    if (flags.name === undefined) throw new UsageError('standard input needs a name', 'give it with --name');
  }
  if (flags.name !== undefined && several) {
    throw new UsageError('--name is for one file', 'upload the files one by one, or omit --name');
  }
  if (flags.checksum && flags.force) {
    throw new UsageError('--force uploads everything, so there is nothing to compare', 'omit --checksum');
  }
  const answers = (['force', 'skip-existing', 'both'] as const).filter((name) => flags[name]);
  if (answers.length > 1) {
    const both = answers.map((name) => `--${name}`).join(' and ');
    throw new UsageError(`${both} are two answers to one question`, 'give one of them');
  }
  if (flags.name !== undefined) {
    const name = typedPath(flags.name);
    if (name === '') throw new UsageError('--name is empty', 'give a name');
    checkPath(name);
  }
  // Refuses what no file could be cut into.
  if (flags['volume-size'] !== undefined) layoutOf(0, parseSize('volume-size', flags['volume-size']));
  folderOf(invocation);
}

async function putStdin(put: Put): Promise<void> {
  const { invocation, szafa, lookup } = put;
  const to = joinPath(folderOf(invocation), typedPath(invocation.flags.name!));
  const file: Planned = { kind: 'file', path: STDIN, to, size: 0 };
  put.progress.expect(1, 0);
  const [newest] = await versionsAt(szafa, to, await lookup.near(to), invocation.signal);
  await send(put, standardInput(), file, { mtime: Date.now(), after: newest?.metadata.gen });
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  if (flags.to !== undefined) return putToRequest(invocation, flags.to);
  checkUsage(invocation);
  const pull = pullPlan(flags);
  const began = performance.now();
  const batch = new Batch(out);
  const fromStdin = args[0] === STDIN;
  const files = fromStdin ? [] : await collect(invocation, batch);
  if (!fromStdin && files.length === 0) {
    if (batch.failed === 0) out.note('empty', 'there is nothing to upload');
    return batch.finish();
  }
  const lanes = lanesFor(invocation, files);
  const transfers = pull?.oneAtATime ? 1 : lanes.files;
  await using connection = await connect(invocation, { keys: 'needed', transfers });
  const { szafa } = connection;
  const progress = new Progress(out);
  const put: Put = {
    invocation,
    szafa,
    journal: fileJournal(join(invocation.settings.config, 'journal')),
    lookup: new Lookup(szafa, signal),
    paths: new Set(files.map(({ to }) => to)),
    origins: new Origins(szafa, out),
    progress,
    parallel: lanes.volumes,
    pull,
    hardlinks: new Hardlinks(),
    tally: { files: 0, bytes: 0, skipped: 0 },
    batch,
    uploaded: [],
    duplicates: 0,
  };
  try {
    if (fromStdin) {
      const options = { out, signal, parallel: 1, about: () => 'standard input' };
      await batch.run([STDIN], options, () => putStdin(put));
    } else {
      const told = files.filter(isTold);
      progress.expect(
        told.length,
        told.reduce((sum, { size }) => sum + size, 0),
      );
      await putAll(put, files, batch, transfers);
      await removeDuplicates(put);
    }
  } finally {
    progress.close();
  }
  summarize(out, flags['dry-run'] ? 'would put' : 'put', put.tally, began);
  batch.finish();
};
