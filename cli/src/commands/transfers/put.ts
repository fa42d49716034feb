import { checkPath, joinPath } from '@szafa/client/node';
import { layoutOf } from '@szafa/format';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { parseSize } from '../../lib/print/quantities.ts';
import { typedPath } from '../../lib/print/text.ts';
import { versionsAt } from '../../lib/select/existing.ts';
import { createLookup } from '../../lib/select/lookup.ts';
import { createOrigins } from '../../lib/select/origin.ts';
import { collectFiles, type PlannedFile, uploadFolder } from '../../lib/select/plan.ts';
import { pullPlan } from '../../lib/transfer/pull.ts';
import { putAll } from '../../lib/transfer/put/all.ts';
import { createHardlinks, type Put } from '../../lib/transfer/put/context.ts';
import { removeDuplicates } from '../../lib/transfer/put/duplicates.ts';
import { send, standardInput } from '../../lib/transfer/put/send.ts';
import { putToRequest } from '../../lib/transfer/put/to-request.ts';
import { concurrencyFor, TransferRun } from '../../lib/transfer/run.ts';
import { checkExclusive } from '../../options.ts';

const STDIN = '-';

function checkUsage(invocation: Invocation): void {
  const { args, flags } = invocation;
  const isSeveral = args.length > 1;
  if (args.includes(STDIN)) {
    if (isSeveral) {
      const hint = 'upload the files with a second command';
      throw new UsageError('standard input (-) cannot be combined with files', hint);
    }
    if (pullPlan(flags)) {
      const message = 'the server cannot pull standard input: it can be read only once';
      throw new UsageError(message, 'omit --pull, or upload a file');
    }
    if (flags.name === undefined) throw new UsageError('standard input needs a name', 'give it with --name');
  }
  if (flags.name !== undefined && isSeveral) {
    throw new UsageError('--name is for one file', 'upload the files one by one, or omit --name');
  }
  checkExclusive(flags, 'checksum', 'force');
  checkExclusive(flags, 'force', 'skip-existing', 'both');
  if (flags.name !== undefined) {
    const name = typedPath(flags.name);
    if (name === '') throw new UsageError('--name is empty', 'give a name');
    checkPath(name);
  }
  // Throws if the volume size is out of range.
  if (flags['volume-size'] !== undefined) layoutOf(0, parseSize('volume-size', flags['volume-size']));
  uploadFolder(invocation);
}

async function putStdin(put: Put): Promise<void> {
  const { run, szafa, lookup } = put;
  const { invocation } = run;
  const to = joinPath(uploadFolder(invocation), typedPath(invocation.flags.name!));
  const file: PlannedFile = { kind: 'file', path: STDIN, to, size: 0 };
  const [newest] = await versionsAt(szafa, to, await lookup.near(to), invocation.signal);
  await send(put, standardInput(), file, { mtime: Date.now(), after: newest?.metadata.gen });
}

export const put: Command = async (invocation) => {
  const { args, flags, out, batch, signal } = invocation;
  if (flags.to !== undefined) return putToRequest(invocation, flags.to);
  checkUsage(invocation);
  const pull = pullPlan(flags);
  const isStdin = args[0] === STDIN;
  const files = isStdin ? [] : await collectFiles(invocation);
  if (!isStdin && files.length === 0) {
    if (batch.failed === 0) out.note('empty', 'there is nothing to upload');
    return;
  }
  const atOnce = pull?.oneAtATime ? 1 : concurrencyFor(invocation, files).files;
  await using szafa = await connect(invocation, 'needed', atOnce);
  using run = new TransferRun(invocation, files);
  const context: Put = {
    ...{ run, szafa, pull, lookup: createLookup(szafa, signal) },
    ...{ paths: new Set(files.map(({ to }) => to)), origins: createOrigins(szafa, invocation) },
    ...{ hardlinks: createHardlinks(), uploaded: [], duplicates: 0 },
  };
  if (isStdin) {
    run.progress.expect([{ size: 0 }]);
    await batch.each(['standard input'], () => putStdin(context));
  } else {
    // Count only empty folders; the others are represented by their files.
    run.progress.files = files.filter((file) => file.kind !== 'folder' || file.isEmpty).length;
    await putAll(context, files, atOnce);
    await removeDuplicates(context);
  }
  run.finish('put', 'would put');
};
