import type { Delivery } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { type AccountInvocation, withAccount } from '../../lib/account/connection.ts';
import { alignRows, findById, ID_COLUMNS, jsonFields } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural, typedPath } from '../../lib/print/text.ts';
import { checkCanConfirm, confirmRemoval } from '../../lib/select/removal.ts';
import { checkExclusive } from '../../options.ts';

function check(invocation: Invocation): void {
  const { args, flags } = invocation;
  if (flags.dir !== undefined && !flags.take) throw new UsageError('--dir is for --take', 'add --take');
  checkExclusive(flags, 'take', 'drop');
  if (flags.all && !flags.drop) throw new UsageError('--all is for --drop', 'omit it');
  // Without IDs, dropping everything needs --all.
  if (flags.drop && (args.length === 0) !== (flags.all === true))
    throw new UsageError('--drop needs IDs, or --all', 'szafa deliveries shows the IDs');
  if (flags.drop) checkCanConfirm(invocation);
}

/** Selects the deliveries given by ID, or all if no ID is given. */
function chooseDeliveries(all: readonly Delivery[], { args, batch }: Invocation): Set<Delivery> {
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

const fieldsOf = (delivery: Delivery) => ({
  ...{ ...jsonFields(delivery, 'fileId'), request: delivery.requestId },
  ...jsonFields(delivery, 'name', 'size', 'createdAt'),
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

async function takeDeliveries(invocation: AccountInvocation, chosen: Iterable<Delivery>): Promise<void> {
  const { flags, out, batch, signal, szafa } = invocation;
  const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
  const known = { tree: await szafa.tree({ signal }), sealedIds: await szafa.sealedIds({ signal }) };
  const options = { folder, ...known, given: new Set<string>(), signal };
  // One at a time, so that two deliveries of the same name get different numbers.
  await batch.each(chosen, async (delivery) => {
    if (delivery.problem) throw delivery.problem;
    if (folder === undefined && delivery.folder === undefined)
      throw new CliError('no-folder', 'its request is gone', 'give a folder: --take --dir FOLDER');
    const path = await szafa.takeOver(delivery, options);
    const text = `took ${oneLine(path)}  ${formatBytes(delivery.size)}`;
    out.done('taken', { ...fieldsOf(delivery), path }, text);
  });
}

export const deliveries = withAccount({ keys: 'needed', check }, async (invocation) => {
  const { flags, out, batch, signal, szafa } = invocation;
  const all = await szafa.deliveries({ signal });
  if (all.length === 0) out.note('empty', 'there are no new deliveries');
  const chosen = chooseDeliveries(all, invocation);
  if (flags.take) await takeDeliveries(invocation, chosen);
  else if (flags.drop) {
    const what = plural(chosen.size, 'delivery', 'deliveries');
    const names = [...chosen].map(({ name }) => name);
    if (chosen.size > 0) await confirmRemoval(invocation, names, what);
    await batch.each(chosen, async (delivery) => {
      await szafa.dropDelivery(delivery, { signal });
      out.done('dropped', fieldsOf(delivery), `deleted ${oneLine(delivery.name)}`);
    });
  } else {
    show(invocation, chosen);
    batch.done += chosen.size;
  }
});
