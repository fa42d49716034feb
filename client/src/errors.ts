/** What this package throws on purpose. One file: whoever handles errors chooses among all of them. */
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
 * It is under a master key that a rekey has retired: somebody who has that key may have made it, or a device of the owner that did not
 * know the new one yet. @public
 */
export class RetiredKeyError extends TamperedError {
  override name = 'RetiredKeyError';
  readonly epoch: number;

  constructor(epoch: number, what = 'the file') {
    super('epoch', `${what} is under master key ${epoch}, which a rekey has retired`);
    this.epoch = epoch;
  }
}

/** A link opens nothing: it has `expired`, is `used up`, has `ended`, or the service says that there is none (`unknown`). @public */
export class LinkOverError extends SzafaError {
  override name = 'LinkOverError';
  readonly why: string;

  constructor(why: string, message: string) {
    super('link-over', message);
    this.why = why;
  }
}

/** An account has other public keys than before: a new account of its name, or a service that lies. @public */
export class ContactChangedError extends SzafaError {
  override name = 'ContactChangedError';
  readonly username: string;
  /** Of the keys that the service gives now. */
  readonly fingerprint: string;
  /** Whether people had compared the ones before. */
  readonly wasVerified: boolean;

  constructor(username: string, fingerprint: string, wasVerified: boolean) {
    super('contact-changed', `the keys of ${username} are not those of before`);
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

/** A login, or the end of codes, needs a second factor; `given`: what it got, which is wrong or has been used. @public */
export class FactorError extends SzafaError {
  override name = 'FactorError';
  /** One of these would do. */
  readonly factors: Factor[];
  /** What a passkey would have to sign. */
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

/** Another device, or another tab, replaced the keys of the account at the same time: its change counts, this one does not. @public */
export class KeysChangedError extends SzafaError {
  override name = 'KeysChangedError';

  constructor(options?: ErrorOptions) {
    super('keys-changed', 'the keys of this account were changed elsewhere at the same time', options);
  }
}

/** A change of the account failed, and it is certain that everything is as before; the cause says why. @public */
export class UnchangedError extends SzafaError {
  override name = 'UnchangedError';

  constructor(what: string, cause: Error) {
    super('unchanged', `${what} was not changed: ${cause.message}`, { cause });
  }
}

/** A change of the account got no answer, and the service could not be asked whether it counts. To do the same again tells. @public */
export class UnsettledError extends SzafaError {
  override name = 'UnsettledError';

  constructor(what: string, options?: ErrorOptions) {
    super('unsettled', `the server did not answer: it is not known whether ${what} was changed`, options);
  }
}

/** The call needs keys, and the session was opened without a password or passphrase. @public */
export class LockedError extends SzafaError {
  override name = 'LockedError';

  constructor(message = 'this session has no keys: a password or a passphrase is needed') {
    super('locked', message);
  }
}

/** A password that the service gets as it is, and that should open the files as well. @public */
export class SameSecretError extends SzafaError {
  override name = 'SameSecretError';

  constructor() {
    super(
      'same-secret',
      'the passphrase is the same as the password, which the server knows: it could open the files',
    );
  }
}

/** A registration under a name whose keys are known here: another account would have other ones. @public */
export class KnownAccountError extends SzafaError {
  override name = 'KnownAccountError';

  constructor(username: string) {
    super('known-account', `the keys of an account ${username} at this server are known here already`);
  }
}

/**
 * How a source differs from the one that was opened. 'grown' and 'touched' leave open whether the bytes that were read have changed:
 * reading them again tells. 'touched': only the inode's time differs, or it is too recent to show a change. @public
 */
export type FileChange = 'changed' | 'grown' | 'touched' | 'removed';

/** The source is not what it was when it was opened; the key of that upload is never used again. @public */
export class FileChangedError extends SzafaError {
  override name = 'FileChangedError';
  readonly change: FileChange;

  constructor(message = 'the file changed while it was being uploaded', change: FileChange = 'changed') {
    super(change === 'removed' ? 'file-removed' : 'file-changed', message);
    this.change = change;
  }

  /** Whether the bytes that were read may still be there. */
  get mayBeKept(): boolean {
    return this.change === 'grown' || this.change === 'touched';
  }
}

/** Something is there already: a file or a folder of this path, or a file where a folder would have to be. @public */
export class ExistsError extends SzafaError {
  override name = 'ExistsError';
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super('exists', `${quoted(paths)} is there already`);
    this.paths = paths;
  }
}

/** These were changed, moved or removed elsewhere, or are not there: nothing was done to them. @public */
export class ConflictError extends SzafaError {
  override name = 'ConflictError';
  readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    super('conflict', `${quoted(paths)} was changed or removed elsewhere meanwhile`);
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

/** The service answered, and the answer is no. @public */
export class ApiError extends SzafaError {
  override name = 'ApiError';
  readonly status: number;
  readonly kind: ApiErrorKind;
  readonly body: Record<string, unknown>;
  /** Seconds, from Retry-After. */
  readonly retryAfter: number | undefined;
  /** Of a copy: there is one already. */
  readonly exists: boolean;

  /** `outOfScope`: it is the token that may not do this. */
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

/** What another device writes as fast as this one. */
export const changedAgain = () => new SzafaError('other-upload', 'another device changes it again and again');

/** Something answered, but not this service: a proxy's page, a login portal, another program. @public */
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

/** An answer longer than it can legally be: cut off, and not requested again. @public */
export class TooLongError extends SzafaError {
  override name = 'TooLongError';

  constructor() {
    super('too-long', 'the answer is longer than allowed');
  }
}

/** No answer. `sent` is false only where it is certain that the service saw nothing of the request. @public */
export class NetworkError extends SzafaError {
  override name = 'NetworkError';
  readonly sent: boolean;
  /** A certificate that is not accepted does not get better by trying again. */
  readonly certificate: boolean;

  constructor(message: string, options: ErrorOptions & { sent?: boolean; certificate?: boolean } = {}) {
    super('network', message, options);
    this.sent = options.sent ?? true;
    this.certificate = options.certificate ?? false;
  }
}
