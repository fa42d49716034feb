/** The table of routes. One file for those of the specification, in its order. */

import { factorRoutes } from './accounts/factors.ts';
import { passkeyRoutes } from './accounts/passkeys.ts';
import { accountRoutes } from './accounts/routes.ts';
import { headers, limits } from './basics/limits.ts';
import { pageOf, withHeaders } from './basics/pages.ts';
import {
  Changes,
  CompleteBody,
  DetailBody,
  Directory,
  DirNameBody,
  DirTarget,
  Done,
  ErrorBody,
  errors,
  FileRecord,
  InitBody,
  NamesBody,
  NewDir,
  NotDone,
  NotRenamed,
  PullBody,
  PullProgress,
  Quota,
  Received,
  ServiceInfo,
  StreamedInitBody,
} from './basics/resources.ts';
import type { DeclaredRoute } from './basics/route.ts';
import { Type } from './basics/type.ts';
import { digestAnswers } from './files/digests.ts';
import { thumbnailRoutes } from './files/thumbnails.ts';
import { trashRoutes } from './files/trash.ts';
import { adminRoutes } from './operator/routes.ts';
import { requestRoutes } from './sharing/requests.ts';
import { shareRoutes } from './sharing/shares.ts';
import { batchRoutes } from './transfers/batch.ts';

const ok = Type.Literal(true);

const table = {
  ...accountRoutes,
  ...factorRoutes,
  ...passkeyRoutes,
  quota: {
    method: 'GET',
    path: '/api/quota',
    summary: 'Space used and space left',
    tag: 'Quota',
    access: 'any',
    folder: [],
    responses: { 200: Quota },
  },
  createDir: {
    method: 'POST',
    path: '/api/dirs',
    summary: 'Create a directory; an account has at most 10,000 of them (409)',
    tag: 'Directories',
    access: 'append',
    changes: true,
    body: NewDir,
    responses: { 200: Type.Object({ ok, dir_id: Type.Integer(), name: Type.String() }), ...errors(400, 409) },
  },
  listDirs: {
    method: 'GET',
    path: '/api/dirs',
    summary: "The caller's directories",
    tag: 'Directories',
    access: 'any',
    folder: ['list'],
    responses: { 200: Type.Object({ dirs: Type.Array(Directory) }) },
  },
  renameDir: {
    method: 'PUT',
    path: '/api/dirs/{dir_id}/name',
    summary: 'Rename a directory',
    tag: 'Directories',
    access: 'full',
    changes: true,
    body: DirNameBody,
    responses: {
      200: Type.Object({ ok, dir_id: Type.Integer(), name: Type.String() }),
      ...errors(400, 404, 409, 412),
    },
  },
  deleteDir: {
    method: 'DELETE',
    path: '/api/dirs/{dir_id}',
    summary: 'Delete a directory; its files move to the root',
    tag: 'Directories',
    access: 'full',
    changes: true,
    responses: { 200: Type.Object({ ok, dir_id: Type.Integer() }), 404: ErrorBody },
  },
  listFiles: {
    method: 'GET',
    path: '/api/files',
    summary: "The caller's files, newest first: all of them, or in pages with limit and cursor",
    tag: 'Files',
    access: 'any',
    folder: ['list'],
    query: Type.Object({
      ...pageOf('files a page', '^[0-9]{1,16}$'),
      dir_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}$', description: '0 is the root' })),
      ...withHeaders,
    }),
    responses: {
      200: Type.Object({
        files: Type.Array(FileRecord),
        next_cursor: Type.Optional(Type.String({ description: 'only with limit, when there are more' })),
      }),
      400: ErrorBody,
    },
  },
  deleteFile: {
    method: 'DELETE',
    path: '/api/files/{file_id}',
    summary: 'Delete a file and its volumes',
    tag: 'Files',
    access: 'full',
    folder: ['file'],
    changes: true,
    responses: { 200: Type.Object({ ok, file_id: Type.String() }), 403: DetailBody, ...errors(404, 409) },
  },
  moveFile: {
    method: 'PUT',
    path: '/api/files/{file_id}/move',
    summary: 'Move a file to another directory',
    tag: 'Files',
    access: 'full',
    folder: ['file', 'target'],
    changes: true,
    body: DirTarget,
    optionalBody: true,
    responses: {
      200: Type.Object({
        ok,
        file_id: Type.String(),
        dir_id: Type.Union([Type.Integer(), Type.Null()]),
      }),
      403: Type.Union([DetailBody, ErrorBody]),
      ...errors(400, 404),
    },
  },
  renameFiles: {
    method: 'POST',
    path: '/api/files/names',
    summary:
      'Change names, enc_params and directories of files: all of them, or none if one has changed in the meantime',
    tag: 'Files',
    access: 'full',
    changes: true,
    body: NamesBody,
    bodyBytes: limits.namesBodyBytes,
    responses: { 200: Type.Object({ ok }), 412: NotRenamed, ...errors(400, 403, 507) },
  },
  ...trashRoutes,
  changes: {
    method: 'GET',
    path: '/api/changes',
    summary: 'Whether anything has changed since the last call; cheap enough to poll every few seconds',
    tag: 'Files',
    access: 'any',
    folder: [],
    responses: { 200: Changes },
  },
  cloneFile: {
    method: 'POST',
    path: '/api/files/{file_id}/clone',
    summary: 'Copy a file with all its volumes to a directory',
    tag: 'Files',
    access: 'full',
    folder: ['file', 'target'],
    changes: true,
    body: DirTarget,
    optionalBody: true,
    responses: {
      200: Type.Object({ ok, file_id: Type.String() }),
      403: Type.Union([DetailBody, ErrorBody]),
      ...errors(400, 404, 409, 507),
    },
  },
  readVolume: {
    method: 'GET',
    path: '/api/files/{file_id}/chunk/{idx}',
    summary: 'One volume; supports Range and If-None-Match',
    tag: 'Files',
    access: 'read',
    folder: ['file'],
    responses: {
      200: 'raw bytes of the volume, with X-Enc-Params, X-Chunk-Count and an ETag made from its digest',
      206: 'the range asked for',
      304: 'the ETag still matches',
      403: DetailBody,
      ...errors(404, 416),
    },
  },
  readHeader: {
    method: 'HEAD',
    path: '/api/files/{file_id}/chunk/{idx}',
    summary: 'The headers of one volume, without its bytes',
    tag: 'Files',
    access: 'any',
    folder: ['file'],
    responses: {
      200: 'X-Enc-Params, X-Chunk-Count, Content-Length and an ETag made from its digest',
      304: 'the ETag still matches',
      403: DetailBody,
      404: ErrorBody,
    },
  },
  readDigests: {
    method: 'GET',
    path: '/api/files/{file_id}/digests',
    summary:
      'The SHA-256 of every volume of a file, 32 bytes each, in order; supports Range and If-None-Match',
    tag: 'Files',
    access: 'read',
    folder: ['file'],
    responses: { ...digestAnswers, 403: DetailBody },
  },
  ...thumbnailRoutes,
  init: {
    method: 'POST',
    path: '/api/transfer/init',
    summary: 'Start an upload; with "streamed": true without digests, or even without the length',
    tag: 'Transfers',
    access: 'append',
    folder: ['target'],
    changes: true,
    body: Type.Union([InitBody, StreamedInitBody]),
    responses: { 200: Type.Object({ transfer_id: Type.String() }), ...errors(400, 403, 413, 429, 507) },
  },
  received: {
    method: 'GET',
    path: '/api/transfer/{transfer_id}/chunks',
    summary: 'Numbers of the volumes accepted so far, ascending',
    tag: 'Transfers',
    access: 'append',
    folder: ['transfer'],
    visitors: true,
    responses: { 200: Received, 404: ErrorBody },
  },
  writeVolume: {
    method: 'PUT',
    path: '/api/transfer/{transfer_id}/chunk/{idx}',
    summary: 'Send one volume; 200 once it is verified and durable',
    tag: 'Transfers',
    access: 'append',
    folder: ['transfer'],
    visitors: true,
    changes: true,
    rawBody: true,
    headers: Type.Object({
      [headers.contentDigest]: Type.Optional(
        Type.String({
          description: 'sha-256=:BASE64: (RFC 9530), of a streamed transfer; otherwise it is ignored',
        }),
      ),
    }),
    responses: { 200: Type.Object({ ok }), ...errors(400, 404, 409, 411, 429, 507) },
  },
  writeFile: {
    method: 'PUT',
    path: '/api/transfer/{transfer_id}/file',
    summary:
      'Upload a single-volume file in one request: X-Init has the body of init in base64, the body is the volume, and the client chooses the transfer_id',
    tag: 'Transfers',
    access: 'append',
    folder: ['target'],
    changes: true,
    rawBody: true,
    headers: Type.Object({
      [headers.init]: Type.Optional(
        Type.String({ description: 'base64 of what init takes; without it 400' }),
      ),
    }),
    responses: { 200: Done, ...errors(400, 403, 409, 429, 507) },
  },
  ...batchRoutes,
  pull: {
    method: 'POST',
    path: '/api/transfer/{transfer_id}/pull',
    summary: "Have the server fetch the volumes from the client's temporary HTTP server",
    tag: 'Transfers',
    access: 'append',
    folder: ['transfer'],
    changes: true,
    body: PullBody,
    responses: {
      200: Type.Object({ ok, pulled: Type.Integer(), total: Type.Integer() }),
      ...errors(400, 404, 409, 429, 500, 507),
    },
  },
  pullStatus: {
    method: 'GET',
    path: '/api/transfer/{transfer_id}/pull-status',
    summary: 'The number of complete volumes',
    tag: 'Transfers',
    access: 'append',
    folder: ['transfer'],
    responses: { 200: PullProgress, 404: ErrorBody },
  },
  complete: {
    method: 'POST',
    path: '/api/transfer/{transfer_id}/complete',
    summary: 'Turn the transfer into a file; repeating it returns the same file_id',
    tag: 'Transfers',
    access: 'append',
    folder: ['transfer'],
    visitors: true,
    changes: true,
    body: CompleteBody,
    optionalBody: true,
    checkedLater: true,
    responses: { 200: Done, 409: Type.Union([NotDone, ErrorBody]), ...errors(400, 404, 507) },
  },
  cancel: {
    method: 'DELETE',
    path: '/api/transfer/{transfer_id}',
    summary: 'Cancel an upload, as its creator',
    tag: 'Transfers',
    access: 'append',
    folder: ['own transfer'],
    visitors: true,
    changes: true,
    responses: { 200: Type.Object({ ok }), ...errors(403, 404, 409) },
  },
  ...shareRoutes,
  ...requestRoutes,
  service: {
    method: 'GET',
    path: '/api/service',
    summary: 'The id and the features of this server',
    tag: 'Service',
    access: 'open',
    responses: { 200: ServiceInfo, 503: ErrorBody },
  },
  healthz: {
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the process is up',
    tag: 'Service',
    access: 'open',
    responses: { 200: Type.Object({ ok }) },
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether both stores answer',
    tag: 'Service',
    access: 'open',
    responses: { 200: Type.Object({ ok }), 503: ErrorBody },
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    summary: "The node's metrics for Prometheus; needs the system token",
    tag: 'Service',
    access: 'system',
    responses: { 200: 'text in the Prometheus format', ...errors(403, 503) },
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This API as an OpenAPI document',
    tag: 'Service',
    access: 'open',
    responses: { 200: 'the OpenAPI document' },
  },
  docs: {
    method: 'GET',
    path: '/docs',
    summary: 'This API as a page to read',
    tag: 'Service',
    access: 'open',
    responses: { 200: 'an HTML page' },
  },
  ...adminRoutes,
} satisfies Record<string, DeclaredRoute>;

export type RouteName = keyof typeof table;
export const routes: { readonly [name in RouteName]: (typeof table)[name] } = table;

/** The path of a route with its parameters filled in, each percent-encoded. */
export function pathOf(name: RouteName, params: Record<string, string | number> = {}): string {
  return routes[name].path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = params[key];
    if (value === undefined) throw new TypeError(`route ${name} needs ${key}`);
    // An id that a hostile service has made of half a character is none.
    return encodeURIComponent(String(value).toWellFormed());
  });
}
