/** Thumbnails: a small encrypted picture of a file, stored beside its volumes. */
import type { Static } from 'typebox';
import { headers, limits } from '../basics/limits.ts';
import { DetailBody, ErrorBody, errors } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';

const ok = Type.Literal(true);

export const ThumbnailsBody = Type.Object(
  {
    files: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limits.thumbnailsPerBatch,
      description: 'ids of files',
    }),
  },
  { $id: 'ThumbnailsWanted' },
);
export type ThumbnailsBody = Static<typeof ThumbnailsBody>;

export const ReadThumbnail = Type.Object(
  {
    file_id: Type.String(),
    enc_params: Type.String({ description: `the value of ${headers.encParams}` }),
    thumbnail: Type.Union([Type.String(), Type.Null()], {
      description: 'base64; null if the file has none, or it cannot be read now',
    }),
  },
  { $id: 'ReadThumbnail' },
);
export type ReadThumbnail = Static<typeof ReadThumbnail>;

export const thumbnailRoutes = {
  writeThumbnail: {
    method: 'PUT',
    path: '/api/files/{file_id}/thumbnail',
    summary:
      'Set the thumbnail of a file, once; 200 when it is verified and durable. Repeating it is 200, a different one 409',
    tag: 'Files',
    access: 'append',
    folder: ['own file'],
    changes: true,
    rawBody: true,
    bodyBytes: limits.thumbnailBytes,
    headers: Type.Object({
      [headers.contentDigest]: Type.Optional(
        Type.String({ description: 'sha-256=:BASE64: (RFC 9530) of the body; required' }),
      ),
    }),
    responses: {
      200: Type.Object({ ok }),
      403: Type.Union([DetailBody, ErrorBody]),
      ...errors(400, 404, 409, 413, 507),
    },
  },
  readThumbnail: {
    method: 'GET',
    path: '/api/files/{file_id}/thumbnail',
    summary: 'The thumbnail of a file; supports Range and If-None-Match',
    tag: 'Files',
    access: 'read',
    folder: ['file'],
    responses: {
      200: 'raw bytes of the thumbnail, with an ETag made from its digest',
      206: 'the range asked for',
      304: 'the ETag still matches',
      403: DetailBody,
      ...errors(404, 416),
    },
  },
  readThumbnails: {
    method: 'POST',
    path: '/api/files/thumbnails',
    summary:
      'The thumbnails of several files, with the enc_params that decrypt them. Files that the caller does not have are left out',
    tag: 'Files',
    access: 'read',
    folder: ['files'],
    changes: false,
    body: ThumbnailsBody,
    responses: { 200: Type.Object({ thumbnails: Type.Array(ReadThumbnail) }), 400: ErrorBody },
  },
} satisfies Record<string, Route>;
