/** File requests: schemas, rules and routes. */
import type { Static } from 'typebox';
import { headers, limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { ErrorBody, errors, StreamedVolumeSpec } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';
import type { NewTransfer } from '../transfers/init.ts';
import { type Ending, Expiry, endings, Hash, Id, ListedId, Sealed, SHARE_ID, Token } from './share-fields.ts';
import { ShareEnded } from './shares.ts';

const Count = (description: string) => Type.Integer({ description });

export const RequestBody = Type.Object(
  {
    id: Id,
    header: Sealed(
      limits.requestHeaderChars,
      'base64url of the data for visitors, with the public key that they seal for',
    ),
    access: Hash('SHA-256 in hex of the value that visitors send in X-Share-Access'),
    own: Sealed(
      limits.shareOwnChars,
      'base64url of data for the owner, sealed by the client; returned in lists',
    ),
    expires_at: Type.Optional(Expiry('ISO 8601, in the future; null or absent: it does not expire')),
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
  },
  { $id: 'NewRequest' },
);
export type RequestBody = Static<typeof RequestBody>;

export const ListedRequest = Type.Object(
  {
    id: ListedId,
    own: Type.String(),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: Expiry('ISO 8601, UTC; null: it does not expire'),
    max_files: Count('maximum number of files'),
    max_bytes: Count('maximum bytes'),
    delivered: Count('number of delivered files, including those accepted or deleted since'),
    delivered_bytes: Count('their bytes'),
    uploading: Count('number of open uploads; they count until they are cancelled'),
    ended: Type.Unsafe<Ending | null>(
      Type.Union([Type.String(), Type.Null()], {
        description: `why it has ended: ${endings.join(', ')}; null while it is open`,
      }),
    ),
  },
  { $id: 'Request' },
);
export type ListedRequest = Static<typeof ListedRequest>;

export const OpenedRequest = Type.Object(
  {
    header: Type.String({ description: 'as set by the owner' }),
    expires_at: Expiry('ISO 8601, UTC; null: it does not expire'),
    files_left: Count('number of files that can still be uploaded'),
    bytes_left: Count('bytes that can still be uploaded'),
  },
  { $id: 'OpenedRequest' },
);
export type OpenedRequest = Static<typeof OpenedRequest>;

export const UploadBody = Type.Object(
  {
    upload_token: Token('the bearer token for the transfer of this upload, and for nothing else'),
    chunk_count: Type.Integer({ minimum: 1, maximum: limits.volumesPerFile }),
    chunks: Type.Array(StreamedVolumeSpec, {
      minItems: 1,
      maxItems: limits.volumesPerFile,
      description: `at most one, plus one for every ${limits.requestVolumeBytes} bytes in all`,
    }),
  },
  { $id: 'NewUpload' },
);
export type UploadBody = Static<typeof UploadBody>;

/** Checks rules that the schema cannot express. */
export function checkUpload({ volumes, storedSize }: Pick<NewTransfer, 'volumes' | 'storedSize'>): void {
  if (volumes.length - 1 > storedSize / limits.requestVolumeBytes)
    throw new RuleError(
      `chunks: ${volumes.length} are too many for ${storedSize} bytes; at most one, plus one for every ${limits.requestVolumeBytes} bytes`,
    );
}

export const RequestFull = Type.Object(
  {
    error: Type.String(),
    files_left: Count('number of files that can still be uploaded'),
    bytes_left: Count('bytes that can still be uploaded'),
  },
  { $id: 'RequestFull' },
);

const DELIVERY = new RegExp(`^delivery-(${SHARE_ID})$`);

/** The name of a visitor's file until its owner accepts it; set by the server, never by the visitor. */
export const deliveryName = (requestId: string) => `delivery-${requestId}`;

/** The id of the request that a file was delivered by; undefined for other names. */
export const deliveredBy = (fileName: string): string | undefined => DELIVERY.exec(fileName)?.[1];

const ok = Type.Literal(true);
const access = Type.Object({
  [headers.shareAccess]: Type.Optional(
    Type.String({ description: 'proves that the caller knows the link; without it the answer is 404' }),
  ),
});

/** File requests: links by which visitors, who have no account, upload files for an owner. */
export const requestRoutes = {
  createRequest: {
    method: 'POST',
    path: '/api/requests',
    summary: 'Request files by a link; repeating the request creates nothing new',
    tag: 'Requests',
    access: 'full',
    changes: true,
    body: RequestBody,
    responses: { 200: Type.Object({ ok }), ...errors(400, 403, 409, 429) },
  },
  listRequests: {
    method: 'GET',
    path: '/api/requests',
    summary: "The caller's file requests, newest first; ended ones are listed for a while",
    tag: 'Requests',
    access: 'full',
    responses: { 200: Type.Object({ requests: Type.Array(ListedRequest) }) },
  },
  endRequest: {
    method: 'DELETE',
    path: '/api/requests/{request_id}',
    summary: 'End a file request: nothing can be uploaded any more, and open uploads are soon removed',
    tag: 'Requests',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), 404: ErrorBody },
  },
  openRequest: {
    method: 'GET',
    path: '/api/requests/{request_id}',
    summary: 'Open a file request with its link; 404 for callers who do not know the link',
    tag: 'Requests',
    access: 'open',
    headers: access,
    responses: { 200: OpenedRequest, 410: ShareEnded, ...errors(404, 429) },
  },
  beginUpload: {
    method: 'POST',
    path: '/api/requests/{request_id}/uploads',
    summary:
      'Start an upload, which counts: a streamed transfer with volumes of these sizes, for this token only. The same token returns the same transfer',
    tag: 'Requests',
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
} satisfies Record<string, Route>;
