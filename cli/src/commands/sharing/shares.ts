import type { OwnLink, ReceivedShare } from '@szafa/client/node';
import { withAccount } from '../../lib/account/connection.ts';
import { alignRows, findById, ID_COLUMNS, jsonFields, showLinks } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';

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

const sizeColumn = ({ files, size }: OwnLink | ReceivedShare) =>
  `${plural(files, 'file')}, ${formatBytes(size)}`;

export const shares = withAccount('needed', async (invocation) => {
  const { args, signal, szafa } = invocation;
  const all = await szafa.links({ signal });
  const links = args[0] === undefined ? all : [findById(all, args[0], 'share')];
  showLinks(invocation, 'link', links, (one) => ({
    columns: [one.id.slice(0, ID_COLUMNS), shownTitle(one.title), sizeColumn(one), ownNotes(one)],
    fields: {
      ...jsonFields(one, 'id', 'link', 'to', 'title', 'note', 'files', 'size', 'createdAt', 'expiresAt'),
      ...jsonFields(one, 'downloads', 'downloaded', 'missing', 'ended'),
      ...{ passphrase: one.hasPassphrase, problem: one.problem?.code ?? null },
    },
  }));
});

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

export const shared = withAccount('needed', async ({ args, out, signal, szafa }) => {
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
        : [sizeColumn(one), receivedNotes(one)]),
    ]),
  );
  for (const [at, one] of received.entries()) {
    const fields = {
      ...jsonFields(one, 'id', 'from', 'verified', 'title', 'files', 'size', 'missing', 'madeAt'),
      ...jsonFields(one, 'createdAt', 'expiresAt', 'downloadsLeft'),
      problem: one.problem?.code ?? null,
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
});

function describeEnded(share: OwnLink | ReceivedShare): string {
  const title = oneLine(share.title) || share.id;
  if ('from' in share) return `${title} from ${oneLine(share.from)} is removed from your list`;
  return share.to === undefined
    ? `the link to ${title} has ended`
    : `${title} is not shared with ${oneLine(share.to)} any more`;
}

export const unshare = withAccount('useful', async ({ args, out, batch, signal, szafa }) => {
  const own = await szafa.links({ signal });
  let received: Promise<ReceivedShare[]> | undefined;
  await batch.each(args, async (arg) => {
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
});
