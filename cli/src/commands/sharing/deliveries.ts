import type { Delivery } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { alignRows } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { findById, ID_COLUMNS } from '../../lib/select/by-id.ts';
import { typedPath } from '../../lib/select/paths.ts';
import { checkCanConfirm, confirmRemoval } from '../../lib/select/removal.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { checkExclusive } from '../../options.ts';

const about = ({ name }: Delivery) => name;

function checkUsage({ args, flags }: Invocation): void {
  if (flags.dir !== undefined && !flags.take) throw new UsageError('--dir is for --take', 'add --take');
  checkExclusive(flags, 'take', 'drop');
  if (flags.all && !flags.drop) throw new UsageError('--all is for --drop', 'omit it');
  // Never everything by mistake.
  if (flags.drop && (args.length === 0) !== (flags.all === true))
    throw new UsageError('--drop needs IDs, or --all', 'szafa deliveries shows the IDs');
}

/** The deliveries with these IDs; without IDs, all. */
function chooseDeliveries(all: readonly Delivery[], { args }: Invocation, batch: Batch): Set<Delivery> {
  if (args.length === 0) return new Set(all);
  const byId = all.map((delivery) => ({ id: delivery.fileId, delivery }));
  const found = new Set<Delivery>();
  for (const arg of args) {
    try {
      found.add(findById(byId, arg, 'delivery').delivery);
    } catch (error) {
      batch.fail(error, arg);
    }
  }
  return found;
}

const fieldsOf = ({ fileId, requestId, name, size, createdAt }: Delivery) => ({
  ...{ file_id: fileId, request: requestId, name, size, created_at: createdAt },
});

function show({ out }: Invocation, deliveries: Iterable<Delivery>): void {
  const all = [...deliveries];
  const rows = alignRows(
    all.map(({ fileId, name, size, createdAt, folder, problem }) => [
      fileId.slice(0, ID_COLUMNS),
      formatTime(createdAt),
      formatBytes(size).padStart(9),
      oneLine(name),
      problem ? `cannot be read: ${oneLine(problem.message)}` : `for ${oneLine(folder ?? '?') || '/'}`,
    ]),
  );
  for (const [at, delivery] of all.entries()) {
    const { folder = null, problem } = delivery;
    out.answer('delivery', { ...fieldsOf(delivery), folder, problem: problem?.code ?? null }, rows[at]!);
  }
}

export const deliveries: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  checkUsage(invocation);
  if (flags.drop) checkCanConfirm(invocation);
  await using szafa = await connect(invocation, { keys: 'needed' });
  const all = await szafa.deliveries({ signal });
  if (all.length === 0) out.note('empty', 'there are no new deliveries');
  const batch = new Batch(out);
  const chosen = chooseDeliveries(all, invocation, batch);
  // One at a time: two of one name get two numbers.
  const run = (work: (delivery: Delivery) => Promise<void>) => batch.run(chosen, { signal, about }, work);
  if (flags.take) {
    const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
    const known = { tree: await szafa.tree({ signal }), sealedIds: await szafa.sealedIds({ signal }) };
    const options = { folder, ...known, given: new Set<string>(), signal };
    await run(async (delivery) => {
      if (delivery.problem) throw delivery.problem;
      if (folder === undefined && delivery.folder === undefined)
        throw new CliError('no-folder', 'its request is gone', 'give a folder: --take --dir FOLDER');
      const path = await szafa.takeOver(delivery, options);
      const text = `took ${oneLine(path)}  ${formatBytes(delivery.size)}`;
      out.done('taken', { ...fieldsOf(delivery), path }, text);
    });
  } else if (flags.drop) {
    const what = plural(chosen.size, 'delivery', 'deliveries');
    if (chosen.size > 0) await confirmRemoval(invocation, [...chosen].map(about), what);
    await run(async (delivery) => {
      await szafa.dropDelivery(delivery, { signal });
      out.done('dropped', fieldsOf(delivery), `deleted ${oneLine(delivery.name)}`);
    });
  } else {
    show(invocation, chosen);
    batch.done += chosen.size;
  }
  batch.finish();
};
