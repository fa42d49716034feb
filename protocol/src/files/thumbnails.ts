/** Thumbnails: small encrypted pictures, stored next to the volumes of their files. */
import type { Static } from 'typebox';
import { headers, limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import {
  bytesOf,
  DetailBody,
  DetailOrError,
  errors,
  FileIds,
  Named,
  Nullable,
  Ok,
  Text,
} from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

export const ThumbnailsBody = Named('ThumbnailsWanted', {
  files: FileIds(limits.thumbnailsPerBatch),
});
export type ThumbnailsBody = Static<typeof ThumbnailsBody>;

export const ReadThumbnail = Named('ReadThumbnail', {
  file_id: Type.String(),
  enc_params: Text(`the value of ${headers.encParams}`),
  thumbnail: Nullable(Type.String(), 'base64; null if the file has none, or it cannot be read now'),
});
export type ReadThumbnail = Static<typeof ReadThumbnail>;

export const thumbnailRoutes = routeTable('Files', 'read', {
  writeThumbnail: {
    at: 'PUT /api/files/{file_id}/thumbnail',
    summary:
      'Set the thumbnail of a file, once; 200 when it is verified and durable. Repeating it is 200, a different one 409',
    access: 'append',
    folder: ['own file'],
    changes: true,
    rawBody: true,
    bodyBytes: limits.thumbnailBytes,
    headers: Type.Object({
      [headers.contentDigest]: Type.Optional(Text('sha-256=:BASE64: (RFC 9530) of the body; required')),
    }),
    responses: { 200: Ok, 403: DetailOrError, ...errors(400, 404, 409, 413, 507) },
  },
  readThumbnail: {
    at: 'GET /api/files/{file_id}/thumbnail',
    summary: 'The thumbnail of a file; supports Range and If-None-Match',
    folder: ['file'],
    responses: {
      ...bytesOf('raw bytes of the thumbnail, with an ETag made from its digest'),
      403: DetailBody,
    },
  },
  readThumbnails: {
    at: 'POST /api/files/thumbnails',
    summary:
      'The thumbnails of several files, with the enc_params that decrypt them. Files that the caller does not have are left out',
    folder: ['files'],
    changes: false,
    body: ThumbnailsBody,
    responses: { 200: Type.Object({ thumbnails: Type.Array(ReadThumbnail) }), ...errors(400) },
  },
});
