/** The errors of this package. */
import { SzafaError, TamperedError } from '@szafa/format';
import type { Factor, PasskeyRequest } from '@szafa/protocol';

export {
  NameError,
  PassphraseError,
  RecoveryKeyError,
  type Stage,
  SzafaError,
  TamperedError,
  UnsupportedError,
  WrongPasswordError,
} from '@szafa/format';

/**
 * The item is under a retired master key: it was written by someone who has that key, or by a device that did not know the new one.
 * @public
 */
export class RetiredKeyError extends TamperedError {
  override name = 'RetiredKeyError';
  readonly epoch: number;

  constructor(epoch: number, what = 'the file') {
    super('epoch', `${what} is under master key ${epoch}, which a rekey has retired`);
    this.epoch = epoch;
  }
}

/** A link no longer works: it has `expired`, is `used up`, has `ended`, or is `unknown` to the server. @public */
export class LinkOverError extends SzafaError {
  override name = 'LinkOverError';
  readonly why: string;

  constructor(why: string, message: string) {
    super('link-over', message);
    this.why = why;
  }
}

/** An account has different public keys than before: it is a new account of that name, or the server lies. @public */
export class ContactChangedError extends SzafaError {
  override name = 'ContactChangedError';
  readonly username: string;
  /** Fingerprint of the keys that the server returns now. */
  readonly fingerprint: string;
  /** Whether the user had verified the previous keys. */
  readonly wasVerified: boolean;

  constructor(username: string, fingerprint: string, wasVerified: boolean) {
    super('contact-changed', `${username} has different keys than before`);
    this.username = username;
    this.fingerprint = fingerprint;
    this.wasVerified = wasVerified;
  }
}

const FACTOR_ERRORS = {
  none: ['factor-needed', 'a second factor is needed'],
  code: ['wrong-code', 'the code is wrong, or has been used already'],
  passkey: ['wrong-passkey', 'the passkey was not accepted'],
} as const;

/** A second factor is missing, wrong, or was used before. @public */
export class FactorError extends SzafaError {
  override name = 'FactorError';
  /** The factors that the server accepts. */
  readonly factors: Factor[];
  /** The challenge for a passkey. */
  readonly passkey: PasskeyRequest | undefined;

  constructor(
    given: keyof typeof FACTOR_ERRORS,
    wanted: { factors: Factor[]; passkey?: PasskeyRequest | undefined },
    options?: ErrorOptions,
  ) {
    const [code, message] = FACTOR_ERRORS[given];
    super(code, message, options);
    this.factors = wanted.factors;
    this.passkey = wanted.passkey;
  }
}

/** Another device or tab changed the keys of the account at the same time; this change was not made. @public */
export class KeysChangedError extends SzafaError {
  override name = 'KeysChangedError';

  constructor(options?: ErrorOptions) {
    super('keys-changed', 'the keys of this account were changed elsewhere at the same time', options);
  }
}

/** A change to the account failed; nothing was changed. @public */
export class UnchangedError extends SzafaError {
  override name = 'UnchangedError';

  constructor(what: string, cause: Error) {
    super('unchanged', `${what} was not changed: ${cause.message}`, { cause });
  }
}

/** A change to the account got no answer, so it may or may not have been made: repeat the call to find out. @public */
export class UnsettledError extends SzafaError {
  override name = 'UnsettledError';

  constructor(what: string, options?: ErrorOptions) {
    super('unsettled', `the server did not answer: it is not known whether ${what} was changed`, options);
  }
}

/** The call needs keys, but the session was opened without a password or passphrase. @public */
export class LockedError extends SzafaError {
  override name = 'LockedError';

  constructor(message = 'this session has no keys: a password or a passphrase is needed') {
    super('locked', message);
  }
}

/** The passphrase equals the password. The server knows this password, so it must not open the files. @public */
export class SameSecretError extends SzafaError {
  override name = 'SameSecretError';

  constructor() {
    super(
      'same-secret',
      'the passphrase is the same as the password, which the server knows: it could open the files',
    );
  }
}

/** This device already knows keys of an account with that name; a new account would have different ones. @public */
export class KnownAccountError extends SzafaError {
  override name = 'KnownAccountError';

  constructor(username: string) {
    super('known-account', `the keys of an account ${username} at this server are known here already`);
  }
}

/**
 * How a source differs from when it was opened. 'touched' means that only the ctime differs, or that it is too recent to rule out a
 * change. After 'grown' and 'touched' the bytes that were read may be unchanged: read them again to find out. @public
 */
export type FileChange = 'changed' | 'grown' | 'touched' | 'removed';

/** The source changed since it was opened. The file key of that upload is never used again. @public */
export class FileChangedError extends SzafaError {
  override name = 'FileChangedError';
  readonly change: FileChange;

  constructor(message = 'the file changed while it was being uploaded', change: FileChange = 'changed') {
    super(change === 'removed' ? 'file-removed' : 'file-changed', message);
    this.change = change;
  }

  /** Whether the bytes that were read may be unchanged. */
  get mayBeKept(): boolean {
    return this.change === 'grown' || this.change === 'touched';
  }
}

/** The path is taken by a file or folder, or one of its parents is a file. @public */
export class ExistsError extends SzafaError {
  override name = 'ExistsError';
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super('exists', `${quoted(paths)} already exists`);
    this.paths = paths;
  }
}

/** These files do not exist, or were changed, moved or removed elsewhere. This call did not change them. @public */
export class ConflictError extends SzafaError {
  override name = 'ConflictError';
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super('conflict', `${quoted(paths)} was changed or removed elsewhere in the meantime`);
    this.paths = paths;
  }
}

function quoted([first = '', ...more]: readonly string[]): string {
  return JSON.stringify(first) + (more.length > 0 ? ` (and ${more.length} more)` : '');
}

export type ApiErrorKind =
  | 'bad-request'
  | 'unauthorized'
  | 'forbidden'
  | 'out-of-scope'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'rate-limited'
  | 'no-space'
  | 'server'
  | 'unexpected';

const kinds: Record<number, ApiErrorKind> = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  413: 'too-large',
  429: 'rate-limited',
  507: 'no-space',
};

/** The server refused the request. @public */
export class ApiError extends SzafaError {
  override name = 'ApiError';
  readonly status: number;
  readonly kind: ApiErrorKind;
  readonly body: Record<string, unknown>;
  /** Seconds, from Retry-After. */
  readonly retryAfter: number | undefined;
  /** The conflict is that a copy already exists. */
  readonly exists: boolean;

  /** @param options.outOfScope whether the token's scope forbids the call */
  constructor(
    status: number,
    body: Record<string, unknown>,
    {
      retryAfter,
      outOfScope = false,
      exists = false,
    }: { retryAfter?: number | undefined; outOfScope?: boolean; exists?: boolean } = {},
  ) {
    const said = body['error'] ?? body['detail'];
    super('api', typeof said === 'string' && said !== '' ? said : `the server answered ${status}`);
    this.status = status;
    const kind = kinds[status] ?? (status >= 500 ? 'server' : 'unexpected');
    this.kind = outOfScope && kind === 'forbidden' ? 'out-of-scope' : kind;
    this.body = body;
    this.retryAfter = retryAfter;
    this.exists = exists;
  }
}

/** Creates the error for a file that another device keeps changing. */
export const changedAgain = () => new SzafaError('other-upload', 'another device keeps changing it');

/** The answer did not come from a szafa server but from a proxy, a login portal or another program. @public */
export class UnexpectedAnswerError extends SzafaError {
  override name = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(url: string, status: number, what: string, options?: ErrorOptions) {
    super(
      'not-the-service',
      `${url} answered ${status} with ${what}: is this the address of a szafa server?`,
      options,
    );
    this.status = status;
  }
}

/** The answer is longer than allowed. It was cut off, and is not requested again. @public */
export class TooLongError extends SzafaError {
  override name = 'TooLongError';

  constructor() {
    super('too-long', 'the answer is longer than allowed');
  }
}

/** No answer. `sent` is false only if the request certainly did not reach the server. @public */
export class NetworkError extends SzafaError {
  override name = 'NetworkError';
  readonly sent: boolean;
  /** The certificate was refused, so retrying is useless. */
  readonly certificate: boolean;

  constructor(message: string, options: ErrorOptions & { sent?: boolean; certificate?: boolean } = {}) {
    super('network', message, options);
    this.sent = options.sent ?? true;
    this.certificate = options.certificate ?? false;
  }
}
