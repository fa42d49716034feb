import type { OwnLink, ReceivedShare } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { showQr } from '../../lib/print/qr.ts';
import { alignRows } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';
import { findById, ID_COLUMNS } from '../../lib/select/by-id.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const TITLE_COLUMNS = 60;

const missingNote = (missing: number) => (missing === 0 ? [] : [`${missing} deleted or in the trash`]);
const expiryNote = (expiresAt: string | null) =>
  expiresAt === null ? [] : [`expires ${formatTime(expiresAt)}`];
const shownTitle = (title: string) => shorten(oneLine(title) || '-', TITLE_COLUMNS);

function ownNotes(link: OwnLink): string {
  const { to, downloads, downloaded, expiresAt, missing, ended, hasPassphrase, problem } = link;
  if (problem) return `not as you created it: ${oneLine(problem.message)}`;
  const limit =
    downloads === null ? plural(downloaded, 'download') : `${downloaded} of ${plural(downloads, 'download')}`;
  return [
    ...(to === undefined ? [] : [`with ${oneLine(to)}`]),
    ...(ended === null ? [] : [ended]),
    limit,
    ...expiryNote(expiresAt),
    ...(hasPassphrase ? ['passphrase'] : []),
    ...missingNote(missing),
  ].join(', ');
}

export const shares: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const all = await szafa.links({ signal });
  const [wanted] = args;
  const links = wanted === undefined ? all : [findById(all, wanted, 'share')];
  const rows = alignRows(
    links.map((one) => [
      one.id.slice(0, ID_COLUMNS),
      shownTitle(one.title),
      `${plural(one.files, 'file')}, ${formatBytes(one.size)}`,
      ownNotes(one),
    ]),
  );
  for (const [at, one] of links.entries()) {
    const { id, link, to, title, note, files, size, problem } = one;
    const fields = {
      ...{ id, link: link ?? null, to: to ?? null, title, note: note ?? null, files, size },
      ...{ created_at: one.createdAt, expires_at: one.expiresAt, downloads: one.downloads },
      ...{ downloaded: one.downloaded, missing: one.missing, ended: one.ended },
      ...{ passphrase: one.hasPassphrase, problem: problem?.code ?? null },
    };
    const isOne = wanted !== undefined && link;
    out.answer('link', fields, isOne ? `${rows[at]}\n${link}` : rows[at]!);
    if (isOne) showQr(out, link);
  }
};

function receivedNotes(share: ReceivedShare): string {
  const { madeAt, verified, expiresAt, downloadsLeft, missing } = share;
  return [
    `shared ${formatTime(madeAt!)}`,
    ...(verified ? [] : ['keys not verified']),
    ...expiryNote(expiresAt),
    ...(downloadsLeft === null ? [] : [`${plural(downloadsLeft, 'download')} left`]),
    ...missingNote(missing),
  ].join(', ');
}

export const shared: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const all = await szafa.sharedWithMe({ signal });
  const [wanted] = args;
  const received = wanted === undefined ? all : [findById(all, wanted, 'received')];
  const rows = alignRows(
    received.map((one) => [
      one.id.slice(0, ID_COLUMNS),
      oneLine(one.from),
      shownTitle(one.title),
      ...(one.problem
        ? [`not trusted, and not opened: ${oneLine(one.problem.message)}`]
        : [`${plural(one.files, 'file')}, ${formatBytes(one.size)}`, receivedNotes(one)]),
    ]),
  );
  for (const [at, one] of received.entries()) {
    const { id, from, title, files, size, missing, problem } = one;
    const fields = {
      ...{ id, from, verified: one.verified, title, files, size, missing },
      ...{ made_at: one.madeAt ?? null, created_at: one.createdAt, expires_at: one.expiresAt },
      ...{ downloads_left: one.downloadsLeft, problem: problem?.code ?? null },
    };
    out.answer('shared', fields, rows[at]!);
    if (wanted === undefined) continue;
    const opened = await one.open({ signal });
    if (opened.note !== undefined) out.note('says', oneLine(opened.note), { note: opened.note });
    for (const { name, size, missing, link } of opened.files) {
      const target = link ? `  -> ${oneLine(link)}` : '  (a symbolic link that leads elsewhere)';
      const text = `  ${oneLine(name)}  ${formatBytes(size)}${link === undefined ? '' : target}`;
      const gone = missing ? '  deleted, or in the trash' : '';
      out.answer('file', { path: name, size, missing, ...(link !== undefined && { link }) }, text + gone);
    }
  }
};

function describeEnded(share: OwnLink | ReceivedShare): string {
  const title = oneLine(share.title) || share.id;
  if ('from' in share) return `${title} from ${oneLine(share.from)} is removed from your list`;
  return share.to === undefined
    ? `the link to ${title} has ended`
    : `${title} is not shared with ${oneLine(share.to)} any more`;
}

export const unshare: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const own = await szafa.links({ signal });
  let received: Promise<ReceivedShare[]> | undefined;
  const batch = new Batch(out);
  await batch.run(args, { signal, about: (arg) => arg }, async (arg) => {
    let share: OwnLink | ReceivedShare;
    try {
      share = findById(own, arg, 'share');
    } catch (error) {
      received ??= szafa.sharedWithMe({ signal });
      const [theirs, second] = (await received).filter(({ id }) => arg !== '' && id.startsWith(arg));
      if (!theirs || second) throw error;
      share = theirs;
    }
    const { id, title } = share;
    await ('from' in share ? szafa.endReceived(id, { signal }) : szafa.endShare(id, { signal }));
    out.done('unshared', { id, title }, describeEnded(share));
  });
  batch.finish();
};
