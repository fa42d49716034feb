/** Fields that shares and file requests have in common. */
import { headers, limits } from '../basics/limits.ts';
import { Nullable, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

/** Base64url of 16 bytes. The last character encodes only two bits, so four values are possible. */
export const SHARE_ID = '[A-Za-z0-9_-]{21}[AQgw]';
const IS_ID = new RegExp(`^${SHARE_ID}$`);

/** Whether a text has the form of a share or file request ID. */
export const isShareId = (text: string) => IS_ID.test(text);

export const Id = Type.String({
  pattern: IS_ID.source,
  description: 'chosen at random by the client: base64url of 16 bytes, 22 characters',
});
/** An ID in a list. Less strict than `Id`, so that one bad share does not make the whole list unreadable. */
export const ListedId = Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' });
export const Hash = (description: string) =>
  Type.String({ pattern: '^[0-9a-f]{64}$', description, examples: ['0'.repeat(64)] });
export const NewExpiry = Type.Optional(
  Nullable(Type.String(), 'ISO 8601, in the future; null or absent: it does not expire'),
);
export const Expires = Nullable(Type.String(), 'ISO 8601, UTC; null: it does not expire');
export const Sealed = (maxLength: number, description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength, description });
export const Token = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description: `chosen at random by the visitor: base64url of 32 bytes, 43 characters; ${description}`,
  });

export const Own = Sealed(
  limits.shareOwnChars,
  'base64url of data for the owner, sealed by the client; returned in lists',
);

/** Why a share or a file request has ended. */
export const endings = ['expired', 'used up', 'ended'] as const;
export type Ending = (typeof endings)[number];
export const Ended = Type.Unsafe<Ending | null>(
  Nullable(Type.String(), `why it has ended: ${endings.join(', ')}; null while it is open`),
);
/** The header with which a visitor proves to have the link. */
export const linkAccess = {
  [headers.shareAccess]: Type.Optional(
    Text('proves that the caller knows the link; without it the answer is 404'),
  ),
};
