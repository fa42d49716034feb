/** The key bag of an account: text that only its clients can read. A client must know the current key bag to replace it. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../platform/http/api-error.ts';

/** The precondition of a request that replaces the keys. */
export type KeysCondition = ReturnType<typeof keysCondition>;

/** Reads If-Match or If-None-Match: *. Without a precondition, a client could overwrite keys stored by another device. */
export function keysCondition(headers: IncomingHttpHeaders) {
  const match = headers['if-match'];
  const first = headers['if-none-match']?.trim() === '*';
  // Strong comparison: our tags are never weak.
  const tags = match?.split(',').map((tag) => tag.trim());
  return {
    /** The request has no precondition. */
    isMissing: match === undefined && !first,
    /** Throws if these keys (undefined: none) may not be replaced. */
    check: (keys: string | undefined): void => {
      const fits =
        keys === undefined ? !tags : !first && (!tags || tags.includes('*') || tags.includes(tagOf(keys)));
      if (!fits) throw keysChanged(keys);
    },
  };
}

/** The ETag of a key bag. */
export const tagOf = (keys: string) => `"${createHash('sha256').update(keys).digest('hex')}"`;

/** Bytes of suite and MAC before the JSON text of a key bag. */
const TEXT_OFFSET = 33;
/** Parsed in place of a missing key bag, so that the answer takes equally long. */
const NO_BAG = Buffer.from(
  `${' '.repeat(TEXT_OFFSET)}${JSON.stringify({ profile: 1, entries: ['a'.repeat(900)] })}`,
).toString('base64url');

/** The KDF profile that a key bag names; 1 if there is none. */
export function profileIn(keys: string = NO_BAG): number {
  try {
    const text = Buffer.from(keys, 'base64url').subarray(TEXT_OFFSET).toString();
    const profile = (JSON.parse(text) as { profile?: unknown } | null)?.profile;
    return Number.isSafeInteger(profile) && (profile as number) >= 0 ? (profile as number) : 1;
  } catch {
    return 1; // written by a client with another format
  }
}

export const keysChanged = (present: string | undefined) =>
  new ApiError(
    412,
    present === undefined
      ? 'this account has no keys'
      : 'the keys of this account have been changed; read them again',
  );

export const conditionMissing = (orElse = '') =>
  new ApiError(428, `If-Match with the ETag of the present keys${orElse} is needed`);
