/** A small sealed picture of a file, which lies beside its volumes. */
import { headers, limits } from './limits.ts';
import { DetailBody, ErrorBody } from './resources.ts';
import type { Route } from './route.ts';
import { Type } from './type.ts';

const ok = Type.Literal(true);

export const thumbnailRoutes = {
  writeThumbnail: {
    method: 'PUT',
    path: '/api/files/{file_id}/thumbnail',
    summary:
      'Give a file its thumbnail, once; 200 when it is verified and durable. The same again is 200 too, another one 409',
    tag: 'Files',
    access: 'append',
    folder: ['own file'],
    changes: true,
    rawBody: true,
    bodyBytes: limits.thumbnailBytes,
    headers: Type.Object({
      [headers.contentDigest]: Type.Optional(
        Type.String({ description: 'sha-256=:BASE64: (RFC 9530), of the body; without it 400' }),
      ),
    }),
    responses: {
      200: Type.Object({ ok }),
      400: ErrorBody,
      403: Type.Union([DetailBody, ErrorBody]),
      404: ErrorBody,
      409: ErrorBody,
      413: ErrorBody,
      507: ErrorBody,
    },
  },
  readThumbnail: {
    method: 'GET',
    path: '/api/files/{file_id}/thumbnail',
    summary: 'The thumbnail of a file; Range and If-None-Match work too',
    tag: 'Files',
    access: 'read',
    folder: ['file'],
    responses: {
      200: 'raw bytes of the thumbnail, with an ETag made from its digest',
      206: 'the range asked for',
      304: 'the ETag still matches',
      403: DetailBody,
      404: ErrorBody,
      416: ErrorBody,
    },
  },
} satisfies Record<string, Route>;
