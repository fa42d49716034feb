/** File requests: schemas, rules and routes. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { routeTable } from '../basics/route.ts';
import { Count, errors, Named, Ok, Text, Time } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { StreamedVolumeSpec } from '../transfers/bodies.ts';
import type { NewTransfer } from '../transfers/init.ts';
import {
  Ended,
  Expires,
  Hash,
  Id,
  ListedId,
  linkAccess,
  NewExpiry,
  Own,
  Sealed,
  SHARE_ID,
  Token,
} from './share-fields.ts';
import { ShareEnded } from './shares.ts';

export const RequestBody = Named('NewRequest', {
  id: Id,
  header: Sealed(
    limits.requestHeaderChars,
    'base64url of the data for visitors, with the public key that they seal for',
  ),
  access: Hash('SHA-256 in hex of the value that visitors send in X-Share-Access'),
  own: Own,
  expires_at: NewExpiry,
  max_files: Type.Integer({
    minimum: 1,
    maximum: limits.requestFiles,
    description: 'maximum number of files, of all visitors together',
  }),
  max_bytes: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'maximum bytes of all their volumes together',
  }),
});
export type RequestBody = Static<typeof RequestBody>;

export const ListedRequest = Named('Request', {
  id: ListedId,
  own: Type.String(),
  created_at: Time(),
  expires_at: Expires,
  max_files: Count('maximum number of files'),
  max_bytes: Count('maximum bytes'),
  delivered: Count('number of delivered files, including those accepted or deleted since'),
  delivered_bytes: Count('their bytes'),
  uploading: Count('number of open uploads; they count until they are cancelled'),
  ended: Ended,
});
export type ListedRequest = Static<typeof ListedRequest>;

const left = {
  files_left: Count('number of files that can still be uploaded'),
  bytes_left: Count('bytes that can still be uploaded'),
};

export const OpenedRequest = Named('OpenedRequest', {
  header: Text('as set by the owner'),
  expires_at: Expires,
  ...left,
});
export type OpenedRequest = Static<typeof OpenedRequest>;

export const UploadBody = Named('NewUpload', {
  upload_token: Token('the bearer token for the transfer of this upload, and for nothing else'),
  chunk_count: Type.Integer({ minimum: 1, maximum: limits.volumesPerFile }),
  chunks: Type.Array(StreamedVolumeSpec, {
    minItems: 1,
    maxItems: limits.volumesPerFile,
    description: `at most one, plus one for every ${limits.requestVolumeBytes} bytes in all`,
  }),
});
export type UploadBody = Static<typeof UploadBody>;

/** Checks rules that a schema cannot express. */
export function checkUpload({ volumes, storedSize }: Pick<NewTransfer, 'volumes' | 'storedSize'>): void {
  if (volumes.length - 1 > storedSize / limits.requestVolumeBytes)
    throw new RuleError(
      `chunks: ${volumes.length} are too many for ${storedSize} bytes; at most one, plus one for every ${limits.requestVolumeBytes} bytes`,
    );
}

export const RequestFull = Named('RequestFull', {
  error: Type.String(),
  ...left,
});

const DELIVERY = new RegExp(`^delivery-(${SHARE_ID})$`);

/** File name of a delivery until the owner accepts it. Set by the server, never by the visitor. */
export const deliveryName = (requestId: string) => `delivery-${requestId}`;

/** Returns the ID of the file request that a file was delivered to; undefined if the file is not a delivery. */
export const deliveredBy = (fileName: string): string | undefined => DELIVERY.exec(fileName)?.[1];

const access = Type.Object(linkAccess);

/** File requests: links that let visitors without an account upload files for the owner. */
export const requestRoutes = routeTable('Requests', 'full', {
  createRequest: {
    at: 'POST /api/requests',
    summary: 'Request files by a link; repeating the request creates nothing new',
    changes: true,
    body: RequestBody,
    responses: { 200: Ok, ...errors(400, 409, 429) },
  },
  listRequests: {
    at: 'GET /api/requests',
    summary: "The caller's file requests, newest first; ended ones are listed for a while",
    responses: { 200: Type.Object({ requests: Type.Array(ListedRequest) }) },
  },
  endRequest: {
    at: 'DELETE /api/requests/{request_id}',
    summary: 'End a file request: nothing can be uploaded any more, and open uploads are soon removed',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  openRequest: {
    at: 'GET /api/requests/{request_id}',
    summary: 'Open a file request with its link; 404 for callers who do not know the link',
    access: 'open',
    headers: access,
    responses: { 200: OpenedRequest, 410: ShareEnded, ...errors(404, 429) },
  },
  beginUpload: {
    at: 'POST /api/requests/{request_id}/uploads',
    summary:
      'Start an upload, which counts: a streamed transfer with volumes of these sizes, for this token only. The same token returns the same transfer',
    access: 'open',
    changes: true,
    headers: access,
    body: UploadBody,
    bodyBytes: limits.jsonBodyBytes,
    responses: {
      200: Type.Object({ transfer_id: Type.String() }),
      409: RequestFull,
      410: ShareEnded,
      ...errors(400, 404, 429, 507),
    },
  },
});
