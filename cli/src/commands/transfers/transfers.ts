import type { Unfinished, UnfinishedDownload } from '@szafa/client/node';
import { abandonDownload, downloadLock, unfinishedDownloads } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError, unknownSubcommand } from '../../errors.ts';
import { type AccountInvocation, withAccount } from '../../lib/account/connection.ts';
import { formatBytes, oneLine, shownName, typedPath } from '../../lib/print/text.ts';
import { uploadLock } from '../../lib/transfer/put/all.ts';
import { openJournal } from '../../lib/transfer/run.ts';

/** An unfinished transfer in the journal of this machine. */
type Transfer = (Unfinished & { kind: 'upload' }) | (UnfinishedDownload & { kind: 'download' });

type Journal = ReturnType<typeof openJournal>;

async function findUnfinished({ szafa, signal }: AccountInvocation, journal: Journal): Promise<Transfer[]> {
  const uploads = await szafa.unfinished(journal, { signal });
  const downloads = await unfinishedDownloads(journal);
  return [
    ...uploads.map((one) => ({ ...one, kind: 'upload' as const })),
    ...downloads.map((one) => ({ ...one, kind: 'download' as const })),
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

/** Takes the lock of the transfer first, so that no running command loses its data. */
async function cancel({ szafa, signal }: AccountInvocation, journal: Journal, one: Transfer): Promise<void> {
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

function check({ args: [what, ...names], flags }: Invocation): void {
  if (what !== undefined && what !== 'cancel') throw unknownSubcommand('transfers', what);
  if (what === undefined || names.length > 0 || flags.all) return;
  throw new UsageError('transfers cancel needs PATH…, or --all', 'szafa transfers shows them');
}

export const transfers = withAccount({ keys: 'needed', check }, async (invocation) => {
  const { args, flags, out, batch } = invocation;
  const [what, ...names] = args;
  const journal = openJournal(invocation);
  const all = await findUnfinished(invocation, journal);
  if (what === undefined) {
    for (const one of all) show(invocation, one);
    if (all.length === 0) out.note('empty', 'no transfer is unfinished');
    return;
  }
  const isNamed = (one: Transfer, name: string) => {
    const { from, to } = endsOf(one);
    return [from, to].includes(name) || one.path === typedPath(name);
  };
  for (const name of flags.all ? [] : new Set(names)) {
    if (all.some((one) => isNamed(one, name))) continue;
    const message = `there is no unfinished transfer of ${shownName(name)}`;
    const hint = 'szafa transfers shows them, with their paths';
    batch.fail(new CliError('no-transfer', message, hint), name);
  }
  const chosen = flags.all ? all : all.filter((one) => names.some((name) => isNamed(one, name)));
  await batch.each(chosen, async (one) => {
    await cancel(invocation, journal, one);
    const { from, to } = endsOf(one);
    out.done('cancelled', { kind: one.kind, from, to }, `cancelled ${oneLine(from)} -> ${oneLine(to)}`);
  });
});
