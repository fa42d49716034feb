/** Errors of the format; the SDK re-exports them. */

/** Base of all errors that szafa throws on purpose. `code` is stable; the message is for people. @public */
export class SzafaError extends Error {
  override name = 'SzafaError';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Stages at which a check of the account's keys, or of the server itself, can fail. */
const KEY_STAGES = [
  'service',
  'no-bag',
  'bag',
  'profile',
  'owner',
  'rollback',
  'entry',
  'bag-mac',
  'masters',
] as const;

/** The check that failed; docs/format.md and the vectors use the same names. @public */
export type Stage =
  | (typeof KEY_STAGES)[number]
  | 'suite'
  // Files.
  | 'params'
  | 'version'
  | 'header'
  | 'epoch'
  | 'mac'
  | 'file-key'
  | 'metadata'
  | 'record'
  | 'digests'
  | 'volume'
  | 'digest'
  | 'name'
  | 'journal'
  | 'rev'
  | 'thumbnail'
  // Sharing.
  | 'link'
  | 'link-key'
  | 'share'
  | 'public-key'
  | 'request'
  | 'delivery'
  | 'identity'
  | 'signature'
  | 'letter';

/** The server returned data that the owner of the keys did not store. @public */
export class TamperedError extends SzafaError {
  override name = 'TamperedError';
  readonly stage: Stage;

  constructor(stage: Stage, message: string, options?: ErrorOptions) {
    super('tampered', message, options);
    this.stage = stage;
  }

  /** Whether the failure concerns the account's keys or the server itself, and so affects every file. */
  get aboutKeys(): boolean {
    return KEY_STAGES.some((stage) => stage === this.stage);
  }
}

/** A format, or a version of it, that this client does not support. @public */
export class UnsupportedError extends SzafaError {
  override name = 'UnsupportedError';
  readonly stage: Stage;

  constructor(stage: Stage, message: string) {
    super('unsupported', message);
    this.stage = stage;
  }
}

/** The key bag does not open: the password is wrong, or the server replaced the bag. @public */
export class WrongPasswordError extends SzafaError {
  override name = 'WrongPasswordError';
  readonly stage: Stage = 'entry';

  constructor(message = 'the password does not open the keys of this account', options?: ErrorOptions) {
    super('wrong-password', message, options);
  }
}

/** A link needs a passphrase. `given` is true if a passphrase was given but is wrong. @public */
export class PassphraseError extends SzafaError {
  override name = 'PassphraseError';
  readonly given: boolean;

  constructor(given: boolean) {
    const needed = 'this link needs a passphrase';
    super(given ? 'wrong-passphrase' : 'passphrase-needed', given ? 'the passphrase is wrong' : needed);
    this.given = given;
  }
}

/** The text is not a recovery key. @public */
export class RecoveryKeyError extends SzafaError {
  override name = 'RecoveryKeyError';

  constructor(message: string) {
    super('recovery-key', message);
  }
}

/** A name that the format cannot store. @public */
export class NameError extends SzafaError {
  override name = 'NameError';

  constructor(message: string) {
    super('name', message);
  }
}

/** Refuses an unknown suite. The first byte of a document names its suite: which keys, MACs and seals it uses. */
export function requireSuite(suite: unknown, known = 1): void {
  if (suite === known) return;
  // `JSON.stringify` returns undefined for a missing value.
  const shown = JSON.stringify(suite)?.slice(0, 20);
  throw new UnsupportedError(
    'suite',
    `suite ${shown} is unknown to this client; a newer version may know it`,
  );
}
