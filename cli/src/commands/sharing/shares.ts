import type { OwnLink } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { drawn } from '../../lib/print/qr.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';
import { SHOWN, shareOf } from '../../lib/select/by-id.ts';

const TITLE_COLUMNS = 60;

function notes(link: OwnLink): string {
  const { to, downloads, downloaded, expiresAt, missing, ended, hasPassphrase, problem } = link;
  if (problem) return `not as you made it: ${oneLine(problem.message)}`;
  const times =
    downloads === null ? plural(downloaded, 'download') : `${downloaded} of ${plural(downloads, 'download')}`;
  return [
    ...(to === undefined ? [] : [`with ${oneLine(to)}`]),
    ...(ended === null ? [] : [ended]),
    times,
    ...(expiresAt === null ? [] : [`until ${formatTime(expiresAt)}`]),
    ...(hasPassphrase ? ['passphrase'] : []),
    ...(missing === 0 ? [] : [`${missing} deleted or in the trash, and not served`]),
  ].join(', ');
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const all = await connection.szafa.links({ signal });
  const [wanted] = args;
  const links = wanted === undefined ? all : [shareOf(all, wanted)];
  for (const one of links) {
    const { id, link, to, title, note, files, size, problem } = one;
    const fields = {
      ...{
        id,
        link: link ?? null,
        to: to ?? null,
        title,
        note: note ?? null,
        files,
        size,
        created_at: one.createdAt,
      },
      ...{ expires_at: one.expiresAt, downloads: one.downloads, downloaded: one.downloaded },
      ...{
        missing: one.missing,
        ended: one.ended,
        passphrase: one.hasPassphrase,
        problem: problem?.code ?? null,
      },
    };
    const row = [
      id.slice(0, SHOWN),
      shorten(oneLine(title) || '-', TITLE_COLUMNS),
      `${plural(files, 'file')}, ${formatBytes(size)}`,
      notes(one),
    ];
    out.answer('link', fields, wanted === undefined || !link ? row.join('  ') : `${row.join('  ')}\n${link}`);
    if (wanted !== undefined && link && out.terminal && !out.json && !out.quiet) {
      for (const line of drawn(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
    }
  }
};
