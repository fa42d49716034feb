import { join } from 'node:path';
import {
  abandonDownload,
  downloadClaim,
  fileJournal,
  type Szafa,
  type Unfinished,
  type UnfinishedDownload,
  unfinishedDownloads,
} from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';
import { shownName, typedPath } from '../../lib/select/paths.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { uploadClaim } from '../../lib/transfer/put/all.ts';

/** What was begun from this machine and has not come to its end. */
type Transfer = (Unfinished & { kind: 'upload' }) | (UnfinishedDownload & { kind: 'download' });

type Journal = ReturnType<typeof fileJournal>;

async function unfinished(szafa: Szafa, journal: Journal, signal: AbortSignal): Promise<Transfer[]> {
  const uploads = await szafa.unfinished(journal, { signal });
  const downloads = await unfinishedDownloads(journal);
  return [
    ...uploads.map((one): Transfer => ({ ...one, kind: 'upload' })),
    ...downloads.map((one): Transfer => ({ ...one, kind: 'download' })),
  ];
}

const ends = (one: Transfer) =>
  one.kind === 'upload' ? { from: one.place, to: one.path } : { from: one.path, to: one.target };

function show({ out }: Invocation, one: Transfer): void {
  const { kind, size, stored } = one;
  const { from, to } = ends(one);
  const part = stored === undefined ? 'begins anew' : `${formatBytes(stored)} of ${formatBytes(size)}`;
  const verb = kind === 'upload' ? 'put' : 'get';
  const text = `${verb}  ${part.padStart(24)}  ${oneLine(from)} -> ${oneLine(to)}`;
  out.answer('transfer', { kind, from, to, size, stored: stored ?? null }, text);
}

/** Nobody else may be at work on it. */
async function cancel(szafa: Szafa, journal: Journal, one: Transfer, signal: AbortSignal): Promise<void> {
  const claim = one.kind === 'upload' ? uploadClaim(szafa, one.path) : downloadClaim(one.part);
  const taken = await journal.claims.take([claim]);
  if (taken.size === 0) {
    throw new CliError('busy', 'another szafa is at work on it', 'end that one first');
  }
  try {
    if (one.kind === 'upload') await szafa.abandon(journal, one, { signal });
    else await abandonDownload(journal, one);
  } finally {
    await journal.claims.release(taken);
  }
}

export const command: Command = async (invocation) => {
  const { args, flags, out, settings, signal } = invocation;
  const [what, ...names] = args;
  if (what !== undefined && what !== 'cancel') {
    throw new UsageError(`there is no "transfers ${oneLine(what)}"`, 'see szafa transfers --help');
  }
  if (what === 'cancel' && names.length === 0 && !flags.all) {
    throw new UsageError('transfers cancel needs PATH…, or --all', 'szafa transfers shows them');
  }
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const journal = fileJournal(join(settings.config, 'journal'));
  const all = await unfinished(szafa, journal, signal);
  if (what === undefined) {
    for (const one of all) show(invocation, one);
    if (all.length === 0) out.note('empty', 'no transfer is unfinished');
    return;
  }
  const batch = new Batch(out);
  const wanted = new Set(names);
  const isWanted = (one: Transfer) => {
    const { from, to } = ends(one);
    return [...wanted].filter((name) => [from, to].includes(name) || one.path === typedPath(name));
  };
  const chosen = flags.all ? all : all.filter((one) => isWanted(one).length > 0);
  const found = new Set(chosen.flatMap(isWanted));
  for (const name of wanted) {
    if (found.has(name) || flags.all) continue;
    const hint = 'szafa transfers shows them, with their paths';
    batch.fail(new CliError('no-transfer', `no unfinished transfer is of ${shownName(name)}`, hint), name);
  }
  await batch.run(chosen, { out, signal, parallel: 1, about: ({ path }) => path }, async (one) => {
    await cancel(szafa, journal, one, signal);
    const { from, to } = ends(one);
    out.done('cancelled', { kind: one.kind, from, to }, `cancelled ${oneLine(from)} -> ${oneLine(to)}`);
  });
  batch.finish();
};
