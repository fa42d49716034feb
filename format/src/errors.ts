/** Everything this package throws on purpose; `code` is stable, the message is for people. @public */
export class SzafaError extends Error {
  override name = 'SzafaError';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Where the opening of a file stopped; the vectors name the same stages. @public */
export type Stage =
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
  // Of the key bag, and of the service that has it.
  | 'service'
  | 'no-bag'
  | 'suite'
  | 'bag'
  | 'profile'
  | 'owner'
  | 'rollback'
  | 'entry'
  | 'bag-mac'
  | 'masters'
  // Of what others share.
  | 'link'
  | 'link-key'
  | 'share'
  | 'public-key'
  | 'request'
  | 'delivery'
  | 'identity'
  | 'signature'
  | 'letter';

const KEY_STAGES: ReadonlySet<Stage> = new Set<Stage>([
  'service',
  'no-bag',
  'bag',
  'profile',
  'owner',
  'rollback',
  'entry',
  'bag-mac',
  'masters',
]);

/** What the service returned is not what the owner of the keys put there. @public */
export class TamperedError extends SzafaError {
  override name = 'TamperedError';
  readonly stage: Stage;

  constructor(stage: Stage, message: string, options?: ErrorOptions) {
    super('tampered', message, options);
    this.stage = stage;
  }

  /** It is about the keys of the account, or the service itself, and so about every file. */
  get aboutKeys(): boolean {
    return KEY_STAGES.has(this.stage);
  }
}

/** The file is of a format, or a version of it, that this client does not read. @public */
export class UnsupportedError extends SzafaError {
  override name = 'UnsupportedError';
  readonly stage: Stage;

  constructor(stage: Stage, message: string) {
    super('unsupported', message);
    this.stage = stage;
  }
}

/** The key bag does not open: another password, or a bag that was exchanged. @public */
export class WrongPasswordError extends SzafaError {
  override name = 'WrongPasswordError';
  readonly stage: Stage = 'entry';

  constructor(message = 'the password does not open the keys of this account', options?: ErrorOptions) {
    super('wrong-password', message, options);
  }
}

/** A link needs a passphrase; `given`: it got one, which is wrong. @public */
export class PassphraseError extends SzafaError {
  override name = 'PassphraseError';
  readonly given: boolean;

  constructor(given: boolean) {
    const needed = 'this link needs a passphrase';
    super(given ? 'wrong-passphrase' : 'passphrase-needed', given ? 'the passphrase is wrong' : needed);
    this.given = given;
  }
}

/** What was typed is no recovery key. @public */
export class RecoveryKeyError extends SzafaError {
  override name = 'RecoveryKeyError';

  constructor(message: string) {
    super('recovery-key', message);
  }
}

/** A name that does not fit the format. @public */
export class NameError extends SzafaError {
  override name = 'NameError';

  constructor(message: string) {
    super('name', message);
  }
}
