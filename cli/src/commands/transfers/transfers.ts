import {
  abandonDownload,
  downloadLock,
  type Szafa,
  type Unfinished,
  type UnfinishedDownload,
  unfinishedDownloads,
} from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError, unknownSubcommand } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { shownName, typedPath } from '../../lib/select/paths.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { uploadLock } from '../../lib/transfer/put/all.ts';
import { openJournal } from '../../lib/transfer/run.ts';

/** An unfinished transfer of this machine. */
type Transfer = (Unfinished & { kind: 'upload' }) | (UnfinishedDownload & { kind: 'download' });

type Journal = ReturnType<typeof openJournal>;

async function findUnfinished(szafa: Szafa, journal: Journal, signal: AbortSignal): Promise<Transfer[]> {
  const uploads = await szafa.unfinished(journal, { signal });
  const downloads = await unfinishedDownloads(journal);
  return [
    ...uploads.map((one): Transfer => ({ ...one, kind: 'upload' })),
    ...downloads.map((one): Transfer => ({ ...one, kind: 'download' })),
  ];
}

const endsOf = (one: Transfer) =>
  one.kind === 'upload' ? { from: one.place, to: one.path } : { from: one.path, to: one.target };

function show({ out }: Invocation, one: Transfer): void {
  const { kind, size, stored } = one;
  const { from, to } = endsOf(one);
  const part = stored === undefined ? 'starts again' : `${formatBytes(stored)} of ${formatBytes(size)}`;
  const verb = kind === 'upload' ? 'put' : 'get';
  const text = `${verb}  ${part.padStart(24)}  ${oneLine(from)} -> ${oneLine(to)}`;
  out.answer('transfer', { kind, from, to, size, stored: stored ?? null }, text);
}

/** Takes the lock first: no other command may be working on it. */
async function cancel(szafa: Szafa, journal: Journal, one: Transfer, signal: AbortSignal): Promise<void> {
  const lock = one.kind === 'upload' ? uploadLock(szafa, one.path) : downloadLock(one.part);
  const taken = await journal.locks.take([lock]);
  if (taken.size === 0) {
    throw new CliError('busy', 'another szafa is working on it', 'end that one first');
  }
  try {
    if (one.kind === 'upload') await szafa.abandon(journal, one, { signal });
    else await abandonDownload(journal, one);
  } finally {
    await journal.locks.release(taken);
  }
}

export const transfers: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [what, ...names] = args;
  if (what !== undefined && what !== 'cancel') throw unknownSubcommand('transfers', what);
  if (what === 'cancel' && names.length === 0 && !flags.all) {
    throw new UsageError('transfers cancel needs PATH…, or --all', 'szafa transfers shows them');
  }
  await using szafa = await connect(invocation, { keys: 'needed' });
  const journal = openJournal(invocation);
  const all = await findUnfinished(szafa, journal, signal);
  if (what === undefined) {
    for (const one of all) show(invocation, one);
    if (all.length === 0) out.note('empty', 'no transfer is unfinished');
    return;
  }
  const batch = new Batch(out);
  const isNamed = (one: Transfer, name: string) => {
    const { from, to } = endsOf(one);
    return [from, to].includes(name) || one.path === typedPath(name);
  };
  for (const name of flags.all ? [] : new Set(names)) {
    if (all.some((one) => isNamed(one, name))) continue;
    const hint = 'szafa transfers shows them, with their paths';
    batch.fail(
      new CliError('no-transfer', `there is no unfinished transfer of ${shownName(name)}`, hint),
      name,
    );
  }
  const chosen = flags.all ? all : all.filter((one) => names.some((name) => isNamed(one, name)));
  await batch.run(chosen, { signal, about: ({ path }) => path }, async (one) => {
    await cancel(szafa, journal, one, signal);
    const { from, to } = endsOf(one);
    out.done('cancelled', { kind: one.kind, from, to }, `cancelled ${oneLine(from)} -> ${oneLine(to)}`);
  });
  batch.finish();
};
