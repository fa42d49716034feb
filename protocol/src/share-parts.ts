/** What shares and requests have in common. */
import { Type } from './type.ts';

/** Base64url of 16 bytes: of the last character only two bits count, and the others are zero. */
export const SHARE_ID = '[A-Za-z0-9_-]{21}[AQgw]';
const IS_ID = new RegExp(`^${SHARE_ID}$`);

/** Of a share, or of a request. */
export const isShareId = (text: string) => IS_ID.test(text);

export const Id = Type.String({
  pattern: IS_ID.source,
  description: '22 characters that the client draws at random: base64url of 16 bytes',
});
/** Of a share or request in a list: one that is no such id is found out with its share, not with the list. */
export const ListedId = Type.String({ pattern: '^[A-Za-z0-9_-]{22}$' });
export const Hash = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });
export const At = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
export const Sealed = (maxLength: number, description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength, description });
export const Token = (description: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description: `43 characters that the visitor draws at random, base64url of 32 bytes: ${description}`,
  });

/** Why a link opens nothing any more. */
export const endings = ['expired', 'used up', 'ended'] as const;
export type Ending = (typeof endings)[number];
