import type { Static } from 'typebox';
import type { NewTransfer } from './init.ts';
import { limits } from './limits.ts';
import { RuleError } from './names.ts';
import { StreamedVolumeSpec } from './resources.ts';
import { At, type Ending, endings, Hash, Id, ListedId, Sealed, SHARE_ID, Token } from './share-parts.ts';
import { Type } from './type.ts';

const Files = (description: string) => Type.Integer({ description });
const Bytes = (description: string) => Type.Integer({ description });

export const RequestBody = Type.Object(
  {
    id: Id,
    header: Sealed(limits.requestHeaderChars, 'base64url of what visitors get: the key that they seal for'),
    access: Hash('SHA-256 of what visitors send in X-Share-Access, in hex'),
    own: Sealed(
      limits.shareOwnChars,
      'base64url of what the owner gets back in the list: the client seals it',
    ),
    expires_at: Type.Optional(At('ISO 8601, in the future; null or absent: it does not expire')),
    max_files: Type.Integer({
      minimum: 1,
      maximum: limits.requestFiles,
      description: 'how many visitors may upload, all together',
    }),
    max_bytes: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'how many bytes, of all their volumes together',
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
    expires_at: At('ISO 8601, UTC; null: it does not expire'),
    max_files: Files('how many may come'),
    max_bytes: Bytes('how many bytes may come'),
    delivered: Files('how many have come; those that were taken over or deleted since count, too'),
    delivered_bytes: Bytes('how many bytes they were'),
    uploading: Files('how many are on their way; they count, until they are given up'),
    ended: Type.Unsafe<Ending | null>(
      Type.Union([Type.String(), Type.Null()], {
        description: `why nobody uploads by it any more: ${endings.join(', ')}; null while somebody may`,
      }),
    ),
  },
  { $id: 'Request' },
);
export type ListedRequest = Static<typeof ListedRequest>;

export const OpenedRequest = Type.Object(
  {
    header: Type.String({ description: 'as the owner gave it' }),
    expires_at: At('ISO 8601, UTC; null: it does not expire'),
    files_left: Files('how many may still be begun'),
    bytes_left: Bytes('how many bytes they may have together'),
  },
  { $id: 'OpenedRequest' },
);
export type OpenedRequest = Static<typeof OpenedRequest>;

export const UploadBody = Type.Object(
  {
    upload_token: Token(
      'by which this upload, and nothing else, is done: the bearer token of the routes of its transfer',
    ),
    chunk_count: Type.Integer({ minimum: 1, maximum: limits.volumesPerFile }),
    chunks: Type.Array(StreamedVolumeSpec, {
      minItems: 1,
      maxItems: limits.volumesPerFile,
      description: `at most one, and one more for every ${limits.requestVolumeBytes} bytes of all together`,
    }),
  },
  { $id: 'NewUpload' },
);
export type UploadBody = Static<typeof UploadBody>;

/** What a schema cannot say. */
export function checkUpload({ volumes, storedSize }: Pick<NewTransfer, 'volumes' | 'storedSize'>): void {
  if (volumes.length - 1 > storedSize / limits.requestVolumeBytes)
    throw new RuleError(
      `chunks: ${volumes.length} are too many for ${storedSize} bytes; one more for every ${limits.requestVolumeBytes}`,
    );
}

export const RequestFull = Type.Object(
  {
    error: Type.String(),
    files_left: Files('how many may still be begun'),
    bytes_left: Bytes('how many bytes they may have together'),
  },
  { $id: 'RequestFull' },
);

const DELIVERY = new RegExp(`^delivery-(${SHARE_ID})$`);

/** What a file is called that a visitor has uploaded, until its owner takes it over: the service names it, never the visitor. */
export const deliveryName = (requestId: string) => `delivery-${requestId}`;

/** The request by which such a file came; undefined for any other name. */
export const deliveredBy = (fileName: string): string | undefined => DELIVERY.exec(fileName)?.[1];
