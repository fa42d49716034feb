import { createHash } from 'node:crypto';
import { ServiceError } from '../errors.ts';

/** What a request wants the keys of an account to be. */
export interface KeysCondition {
  /** Whether keys with this tag (undefined: none) may be replaced. */
  fits: (tag: string | undefined) => boolean;
  /** It says nothing about the keys that are there. */
  isMissing: boolean;
}

export const tagOf = (keys: string) => `"${createHash('sha256').update(keys).digest('hex')}"`;

export const otherKeys = (present: string | undefined) =>
  new ServiceError(
    412,
    present === undefined ? 'this account has no keys' : 'this account has other keys by now',
  );

export const conditionMissing = (orElse = '') =>
  new ServiceError(428, `If-Match with the ETag of the present keys${orElse} is needed`);
