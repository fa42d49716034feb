import { headers, limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import { ErrorBody, errors, Ok, ok, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { FilesDone } from './batch.ts';
import {
  CompleteBody,
  Done,
  InitBody,
  NotDone,
  PullBody,
  PullProgress,
  Received,
  StreamedInitBody,
} from './bodies.ts';

export const transferRoutes = routeTable('Transfers', 'append', {
  init: {
    at: 'POST /api/transfer/init',
    summary: 'Start an upload; with "streamed": true without digests, or even without the length',
    folder: ['target'],
    changes: true,
    body: Type.Union([InitBody, StreamedInitBody]),
    responses: { 200: Type.Object({ transfer_id: Type.String() }), ...errors(400, 413, 429, 507) },
  },
  received: {
    at: 'GET /api/transfer/{transfer_id}/chunks',
    summary: 'Numbers of the volumes accepted so far, ascending',
    folder: ['transfer'],
    visitors: true,
    responses: { 200: Received, ...errors(404) },
  },
  writeVolume: {
    at: 'PUT /api/transfer/{transfer_id}/chunk/{idx}',
    summary: 'Send one volume; 200 once it is verified and durable',
    folder: ['transfer'],
    visitors: true,
    changes: true,
    rawBody: true,
    headers: Type.Object({
      [headers.contentDigest]: Type.Optional(
        Text('sha-256=:BASE64: (RFC 9530), of a streamed transfer; otherwise it is ignored'),
      ),
    }),
    responses: { 200: Ok, ...errors(400, 404, 409, 411, 429, 507) },
  },
  writeFile: {
    at: 'PUT /api/transfer/{transfer_id}/file',
    summary:
      'Upload a single-volume file in one request: X-Init has the body of init in base64, the body is the volume, and the client chooses the transfer_id',
    folder: ['target'],
    changes: true,
    rawBody: true,
    headers: Type.Object({
      [headers.init]: Type.Optional(Text('base64 of what init takes; without it 400')),
    }),
    responses: { 200: Done, ...errors(400, 409, 429, 507) },
  },
  writeFiles: {
    at: 'POST /api/transfer/files',
    summary: `Upload up to ${limits.batchFiles} files of one volume each in one request; each has its own result`,
    folder: ['targets'],
    changes: true,
    rawBody:
      'one line of JSON, `{files: [{transfer_id: string, init: string, size: integer}, …]}`, then the raw bytes of their volumes',
    responses: { 200: FilesDone, ...errors(400, 409, 413, 429, 507) },
  },
  pull: {
    at: 'POST /api/transfer/{transfer_id}/pull',
    summary: "Have the server fetch the volumes from the client's temporary HTTP server",
    folder: ['transfer'],
    changes: true,
    body: PullBody,
    responses: {
      200: Type.Object({ ok, pulled: Type.Integer(), total: Type.Integer() }),
      ...errors(400, 404, 409, 429, 500, 507),
    },
  },
  pullStatus: {
    at: 'GET /api/transfer/{transfer_id}/pull-status',
    summary: 'The number of complete volumes',
    folder: ['transfer'],
    responses: { 200: PullProgress, ...errors(404) },
  },
  complete: {
    at: 'POST /api/transfer/{transfer_id}/complete',
    summary: 'Turn the transfer into a file; repeating it returns the same file_id',
    folder: ['transfer'],
    visitors: true,
    changes: true,
    body: CompleteBody,
    optionalBody: true,
    checkedLater: true,
    responses: { 200: Done, 409: Type.Union([NotDone, ErrorBody]), ...errors(400, 404, 507) },
  },
  cancel: {
    at: 'DELETE /api/transfer/{transfer_id}',
    summary: 'Cancel an upload, as its creator',
    folder: ['own transfer'],
    visitors: true,
    changes: true,
    responses: { 200: Ok, ...errors(404, 409) },
  },
});
