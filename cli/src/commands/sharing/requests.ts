import type { OwnRequest } from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import type { Invocation } from '../../command.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { showQr } from '../../lib/print/qr.ts';
import { parseCount, parseEnd, parseSize } from '../../lib/print/quantities.ts';
import { findById, ID_COLUMNS, jsonFields, showLinks } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural, shorten, typedPath } from '../../lib/print/text.ts';

const FOLDER_COLUMNS = 60;

const readLimits = ({ flags }: Invocation) => ({
  expires: parseEnd('expires', flags.expires ?? '7d'),
  files: parseCount('files', flags.files ?? '100', limits.requestFiles),
  size: parseSize('size', flags.size ?? '10G'),
});

export const request = withAccount({ keys: 'needed', check: readLimits }, async (invocation) => {
  const { args, flags, out, signal, szafa } = invocation;
  const folder = typedPath(args[0]!);
  const { expires, files, size } = readLimits(invocation);
  const options = { folder, files, size, note: flags.note, expiresAt: new Date(expires), signal };
  const { id, link } = await szafa.requestLink(options);
  out.answer('request', { id, link, folder, files, size, expires_at: expires }, link);
  if (out.json) return;
  showQr(out, link);
  const limit = `${plural(files, 'file')}, ${formatBytes(size)} in total, until ${formatTime(expires)}`;
  const where = oneLine(folder) || 'the root folder';
  const message = `anyone with this link can upload ${limit}; szafa deliveries shows uploads for ${where}; end the request with: szafa unrequest ${id.slice(0, ID_COLUMNS)}`;
  out.note('requested', message);
});

function notes(request: OwnRequest): string {
  const { files, bytes, delivered, deliveredBytes, uploading, expiresAt, ended, problem } = request;
  if (problem) return `not as you created it: ${oneLine(problem.message)}`;
  return [
    ...(ended === null ? [] : [ended]),
    `${delivered} of ${plural(files, 'file')}`,
    `${formatBytes(deliveredBytes)} of ${formatBytes(bytes)}`,
    ...(uploading === 0 ? [] : [`${uploading} uploading`]),
    ...(expiresAt === null ? [] : [`expires ${formatTime(expiresAt)}`]),
  ].join(', ');
}

export const requests = withAccount('needed', async (invocation) => {
  const { args, signal, szafa } = invocation;
  const all = await szafa.requests({ signal });
  const chosen = args[0] === undefined ? all : [findById(all, args[0], 'request')];
  showLinks(invocation, 'request', chosen, (one) => ({
    columns: [one.id.slice(0, ID_COLUMNS), shorten(oneLine(one.folder) || '/', FOLDER_COLUMNS), notes(one)],
    fields: {
      ...jsonFields(one, 'id', 'link', 'folder', 'note', 'createdAt', 'expiresAt', 'files', 'bytes'),
      ...jsonFields(one, 'delivered', 'deliveredBytes', 'uploading', 'ended'),
      problem: one.problem?.code ?? null,
    },
  }));
});

export const unrequest = withAccount('useful', async ({ args, out, batch, signal, szafa }) => {
  const all = await szafa.requests({ signal });
  await batch.each(args, async (arg) => {
    const { id, folder } = findById(all, arg, 'request');
    await szafa.endRequest(id, { signal });
    out.done('unrequested', { id, folder }, `the request for ${oneLine(folder) || id} has ended`);
  });
});
