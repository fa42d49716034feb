import { createHash } from 'node:crypto';
import { ApiError } from '../platform/http/api-error.ts';

/** What a request wants the keys of an account to be. */
export interface KeysCondition {
  /** Whether keys with this tag (undefined: none) may be replaced. */
  fits: (tag: string | undefined) => boolean;
  /** It says nothing about the keys that are there. */
  isMissing: boolean;
}

export const tagOf = (keys: string) => `"${createHash('sha256').update(keys).digest('hex')}"`;

/** Suite and MAC stand before the text of a key bag. */
const BEFORE_TEXT = 33;
/** Stands for the bag of an account that has none: reading it takes as long as reading one. */
const NO_BAG = Buffer.from(
  `${' '.repeat(BEFORE_TEXT)}${JSON.stringify({ profile: 1, entries: ['a'.repeat(900)] })}`,
).toString('base64url');

/** The KDF profile that a key bag names; 1 where there is no bag, or none that says so. */
export function profileIn(keys: string = NO_BAG): number {
  try {
    const text = Buffer.from(keys, 'base64url').subarray(BEFORE_TEXT).toString();
    const profile = (JSON.parse(text) as { profile?: unknown } | null)?.profile;
    return Number.isSafeInteger(profile) && (profile as number) >= 0 ? (profile as number) : 1;
  } catch {
    return 1; // a bag of another kind of client
  }
}

export const otherKeys = (present: string | undefined) =>
  new ApiError(
    412,
    present === undefined ? 'this account has no keys' : 'this account has other keys by now',
  );

export const conditionMissing = (orElse = '') =>
  new ApiError(428, `If-Match with the ETag of the present keys${orElse} is needed`);
