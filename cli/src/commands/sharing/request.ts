import { limits } from '@szafa/protocol';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { drawn } from '../../lib/print/qr.ts';
import { parseCount, parseEnd, parseSize } from '../../lib/print/quantities.ts';
import { formatBytes, formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { SHOWN } from '../../lib/select/by-id.ts';
import { typedPath } from '../../lib/select/paths.ts';

const USUAL = { expires: '7d', files: '100', size: '10G' };

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const folder = typedPath(args[0]!);
  const expires = parseEnd('expires', flags.expires ?? USUAL.expires);
  const files = parseCount('files', flags.files ?? USUAL.files, limits.requestFiles);
  const size = parseSize('size', flags.size ?? USUAL.size);
  await using connection = await connect(invocation, { keys: 'needed' });
  const { id, link } = await connection.szafa.requestLink({
    ...{ folder, files, size, note: flags.note, expiresAt: new Date(expires), signal },
  });
  out.answer('request', { id, link, folder, files, size, expires_at: expires }, link);
  if (out.json || out.quiet) return;
  if (out.terminal) for (const line of drawn(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
  const message = `whoever has this link can upload ${plural(files, 'file')}, ${formatBytes(size)} in all, until ${formatTime(expires)}; szafa deliveries shows what came, for ${oneLine(folder) || 'the top'}; end it with: szafa unrequest ${id.slice(0, SHOWN)}`;
  out.note('requested', message);
};
