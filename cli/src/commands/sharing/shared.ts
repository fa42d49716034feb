import type { ReceivedShare } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';
import { RECEIVED, SHOWN, shareOf } from '../../lib/select/by-id.ts';

const TITLE_COLUMNS = 60;

function notes({ madeAt, verified, expiresAt, downloadsLeft, missing, problem }: ReceivedShare): string {
  if (problem) return `not trusted, and not opened: ${oneLine(problem.message)}`;
  return [
    `of ${formatTime(madeAt!)}`,
    ...(verified ? [] : ['keys not compared']),
    ...(expiresAt === null ? [] : [`until ${formatTime(expiresAt)}`]),
    ...(downloadsLeft === null ? [] : [`${plural(downloadsLeft, 'download')} left`]),
    ...(missing === 0 ? [] : [`${missing} deleted or in the trash, and not served`]),
  ].join(', ');
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const all = await connection.szafa.sharedWithMe({ signal });
  const [wanted] = args;
  for (const one of wanted === undefined ? all : [shareOf(all, wanted, RECEIVED)]) {
    const { id, from, title, files, size, missing, problem } = one;
    const fields = {
      ...{ id, from, verified: one.verified, title, files, size, missing },
      ...{ made_at: one.madeAt ?? null, created_at: one.createdAt, expires_at: one.expiresAt },
      ...{ downloads_left: one.downloadsLeft, problem: problem?.code ?? null },
    };
    const row = [
      id.slice(0, SHOWN),
      oneLine(from),
      shorten(oneLine(title) || '-', TITLE_COLUMNS),
      ...(problem ? [] : [`${plural(files, 'file')}, ${formatBytes(size)}`]),
      notes(one),
    ];
    out.answer('shared', fields, row.filter((part) => part !== '').join('  '));
    if (wanted === undefined) continue;
    const opened = await one.open({ signal });
    if (opened.note !== undefined) out.note('says', oneLine(opened.note), { note: opened.note });
    for (const file of opened.files) {
      const gone = file.missing ? '  deleted, or in the trash' : '';
      const { name, size, missing, link } = file;
      const to = link
        ? `  -> ${oneLine(link)}`
        : link === ''
          ? '  (a symbolic link that leads elsewhere)'
          : '';
      const text = `  ${oneLine(name)}  ${formatBytes(size)}${to}${gone}`;
      out.answer('file', { path: name, size, missing, ...(link !== undefined && { link }) }, text);
    }
  }
};
