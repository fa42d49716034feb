import type { OwnRequest } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { drawn } from '../../lib/print/qr.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';
import { ASKED, SHOWN, shareOf } from '../../lib/select/by-id.ts';

const FOLDER_COLUMNS = 60;

function notes(request: OwnRequest): string {
  const { files, bytes, delivered, deliveredBytes, uploading, expiresAt, ended, problem } = request;
  if (problem) return `not as you made it: ${oneLine(problem.message)}`;
  return [
    ...(ended === null ? [] : [ended]),
    `${delivered} of ${plural(files, 'file')}`,
    `${formatBytes(deliveredBytes)} of ${formatBytes(bytes)}`,
    ...(uploading === 0 ? [] : [`${uploading} on their way`]),
    ...(expiresAt === null ? [] : [`until ${formatTime(expiresAt)}`]),
  ].join(', ');
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const all = await connection.szafa.requests({ signal });
  const [wanted] = args;
  for (const one of wanted === undefined ? all : [shareOf(all, wanted, ASKED)]) {
    const { id, link, folder, note, problem } = one;
    const fields = {
      ...{ id, link: link ?? null, folder, note: note ?? null, created_at: one.createdAt },
      ...{ expires_at: one.expiresAt, files: one.files, bytes: one.bytes, delivered: one.delivered },
      ...{ delivered_bytes: one.deliveredBytes, uploading: one.uploading, ended: one.ended },
      problem: problem?.code ?? null,
    };
    const row = [id.slice(0, SHOWN), shorten(oneLine(folder) || '/', FOLDER_COLUMNS), notes(one)].join('  ');
    out.answer('request', fields, wanted === undefined ? row : `${row}\n${link ?? ''}`);
    if (wanted !== undefined && link && out.terminal && !out.json && !out.quiet) {
      for (const line of drawn(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
    }
  }
};
