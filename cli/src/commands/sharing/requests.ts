import type { OwnRequest } from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { showQr } from '../../lib/print/qr.ts';
import { parseCount, parseEnd, parseSize } from '../../lib/print/quantities.ts';
import { alignRows } from '../../lib/print/tables.ts';
import { formatBytes, formatTime, oneLine, plural, shorten } from '../../lib/print/text.ts';
import { findById, ID_COLUMNS } from '../../lib/select/by-id.ts';
import { typedPath } from '../../lib/select/paths.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const DEFAULTS = { expires: '7d', files: '100', size: '10G' };
const FOLDER_COLUMNS = 60;

export const request: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const folder = typedPath(args[0]!);
  const expires = parseEnd('expires', flags.expires ?? DEFAULTS.expires);
  const files = parseCount('files', flags.files ?? DEFAULTS.files, limits.requestFiles);
  const size = parseSize('size', flags.size ?? DEFAULTS.size);
  await using szafa = await connect(invocation, { keys: 'needed' });
  const options = { folder, files, size, note: flags.note, expiresAt: new Date(expires), signal };
  const { id, link } = await szafa.requestLink(options);
  out.answer('request', { id, link, folder, files, size, expires_at: expires }, link);
  if (out.json) return;
  showQr(out, link);
  const limit = `${plural(files, 'file')}, ${formatBytes(size)} in total, until ${formatTime(expires)}`;
  const where = oneLine(folder) || 'the root folder';
  const message = `anyone with this link can upload ${limit}; szafa deliveries shows uploads for ${where}; end the request with: szafa unrequest ${id.slice(0, ID_COLUMNS)}`;
  out.note('requested', message);
};

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

export const requests: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'needed' });
  const all = await szafa.requests({ signal });
  const [wanted] = args;
  const chosen = wanted === undefined ? all : [findById(all, wanted, 'request')];
  const rows = alignRows(
    chosen.map((one) => [
      one.id.slice(0, ID_COLUMNS),
      shorten(oneLine(one.folder) || '/', FOLDER_COLUMNS),
      notes(one),
    ]),
  );
  for (const [at, one] of chosen.entries()) {
    const { id, link, folder, note, problem } = one;
    const fields = {
      ...{ id, link: link ?? null, folder, note: note ?? null, created_at: one.createdAt },
      ...{ expires_at: one.expiresAt, files: one.files, bytes: one.bytes, delivered: one.delivered },
      ...{ delivered_bytes: one.deliveredBytes, uploading: one.uploading, ended: one.ended },
      problem: problem?.code ?? null,
    };
    out.answer('request', fields, wanted === undefined ? rows[at]! : `${rows[at]}\n${link ?? ''}`);
    if (wanted !== undefined && link) showQr(out, link);
  }
};

export const unrequest: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const all = await szafa.requests({ signal });
  const batch = new Batch(out);
  await batch.run(args, { signal, about: (arg) => arg }, async (arg) => {
    const { id, folder } = findById(all, arg, 'request');
    await szafa.endRequest(id, { signal });
    out.done('unrequested', { id, folder }, `the request for ${oneLine(folder) || id} has ended`);
  });
  batch.finish();
};
