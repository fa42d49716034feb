import type { Delivery } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { CAME, SHOWN, shareOf } from '../../lib/select/by-id.ts';
import { typedPath } from '../../lib/select/paths.ts';
import { checkCanConfirm, confirmFinal } from '../../lib/select/removal.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const about = ({ name }: Delivery) => name;

function checkUsage({ args, flags }: Invocation): void {
  if (flags.dir !== undefined && !flags.take)
    throw new UsageError('--dir says where files go that are taken over', 'add --take');
  if (flags.take && flags.drop)
    throw new UsageError('--take and --drop do not go together', 'give one of them');
  if (flags.all && !flags.drop) throw new UsageError('--all is for --drop', 'omit it');
  // Never everything by mistake.
  if (flags.drop && (args.length === 0) !== (flags.all === true))
    throw new UsageError('which deliveries?', 'give their IDs, or --all, and not both');
}

/** Those that are meant by IDs, or by the beginnings of them; all where there are none. */
function chosen(all: readonly Delivery[], { args }: Invocation, batch: Batch): Set<Delivery> {
  if (args.length === 0) return new Set(all);
  const byId = all.map((delivery) => ({ id: delivery.fileId, delivery }));
  const found = new Set<Delivery>();
  for (const arg of args) {
    try {
      found.add(shareOf(byId, arg, CAME).delivery);
    } catch (error) {
      batch.fail(error, arg);
    }
  }
  return found;
}

const fieldsOf = ({ fileId, requestId, name, size, createdAt }: Delivery) => ({
  ...{ file_id: fileId, request: requestId, name, size, created_at: createdAt },
});

function show({ out }: Invocation, delivery: Delivery): void {
  const { fileId, name, size, createdAt, folder, problem } = delivery;
  const to = oneLine(folder ?? '?') || '/';
  const told = problem ? `cannot be read: ${oneLine(problem.message)}` : `for ${to}`;
  const row = [fileId.slice(0, SHOWN), formatTime(createdAt), formatBytes(size), oneLine(name), told];
  const fields = { ...fieldsOf(delivery), folder: folder ?? null, problem: problem?.code ?? null };
  out.answer('delivery', fields, row.join('  '));
}

export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  checkUsage(invocation);
  if (flags.drop) checkCanConfirm(invocation);
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const all = await szafa.deliveries({ signal });
  if (all.length === 0) out.note('empty', 'nothing has been delivered that you have not taken over');
  const batch = new Batch(out);
  const deliveries = chosen(all, invocation, batch);
  // One after the other: two of one name get two numbers.
  const run = (work: (delivery: Delivery) => Promise<void>) =>
    batch.run(deliveries, { out, signal, parallel: 1, about }, work);
  if (flags.take) {
    const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
    const known = { tree: await szafa.tree({ signal }), sealedIds: await szafa.sealedIds({ signal }) };
    const options = { folder, ...known, given: new Set<string>(), signal };
    await run(async (delivery) => {
      if (delivery.problem) throw delivery.problem;
      if (folder === undefined && delivery.folder === undefined)
        throw new CliError('no-folder', 'its request is gone', 'say where it goes: --take --dir FOLDER');
      const path = await szafa.takeOver(delivery, options);
      const text = `took ${oneLine(path)}  ${formatBytes(delivery.size)}`;
      out.done('taken', { ...fieldsOf(delivery), path }, text);
    });
  } else if (flags.drop) {
    const what = plural(deliveries.size, 'delivery', 'deliveries');
    if (deliveries.size > 0) await confirmFinal(invocation, [...deliveries].map(about), what);
    await run(async (delivery) => {
      await szafa.dropDelivery(delivery, { signal });
      out.done('dropped', fieldsOf(delivery), `deleted ${oneLine(delivery.name)}`);
    });
  } else await run(async (delivery) => show(invocation, delivery));
  batch.finish();
};
