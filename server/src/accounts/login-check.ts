import type { Factor, PasskeyAnswer } from '@szafa/protocol';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import { hashToken } from '../platform/ids.ts';
import { stepOf } from '../platform/totp.ts';
import type { AccountBefore } from './account-changes.ts';
import type { Credentials, Failures } from './accounts-table.ts';
import type { PasskeyRow, UsedCode, UsedFactor, UsedPasskey } from './factors-table.ts';
import type { Passkeys } from './passkeys.ts';
import { Passwords } from './passwords.ts';
import { accountDisabled } from './refusals.ts';
import { type Caller, requireRegistered } from './sessions.ts';

export type LoginSettings = Pick<Config, 'loginAttempts' | 'loginAddressAttempts' | 'loginWaitMs'>;
export type LoginAddress = Pick<CallerAddress, 'network' | 'shared'>;
/** Called when a secret was wrong, or was not checked because of too many failures. */
export type OnLoginFailure = (reason: 'wrong' | 'limit') => void;

/** The credentials with which a caller proves that an account is theirs. */
interface LoginAttempt {
  username: string;
  /** The column that the secret is checked against. */
  kind?: 'password_hash' | 'recovery_hash';
  secret: string;
  /** If present, the account's second factor is required too. */
  factor?: { code?: string | undefined; passkey?: PasskeyAnswer | undefined };
}

/** A successful login attempt. */
interface ProvenLogin {
  account: Credentials;
  /** Here `passwordHash` is the hash of the checked secret, which may be the recovery key. */
  before: AccountBefore;
  /** The second factor, if one was required. The transaction that follows must make sure that it is used only once. */
  used: UsedFactor | undefined;
  /** Hashes another secret without queueing for a second turn. */
  makeHash: (secret: string) => Promise<string>;
}

/**
 * Raises the limit for an address that many people may share, such as a proxy. A limit remains because any client can send
 * proxy headers.
 */
const SHARED_FACTOR = 10;
/** In place of an address: counts wrong second factors of an account from all addresses together. */
const FACTORS = 'factors';
/** In place of a name: counts attempts with unknown passkeys. */
const NO_PASSKEY = '-';

const WRONG_FACTOR = 'the second factor is wrong, or has been used already';

/** This error reveals that the password was right, so throw it only after checking the password. */
export const wrongCode = (status: number, message: string) =>
  new ApiError(status, message, { extra: { factors: ['totp'] satisfies Factor[] } });

interface Deps {
  metadata: Pick<Metadata, 'accounts' | 'passkeys'>;
  passkeys: Passkeys;
  settings: LoginSettings;
  now: () => number;
  onFailure: OnLoginFailure | undefined;
}

/**
 * Checks passwords, recovery keys, codes and passkeys: every login and every change that needs a password goes through here.
 * Wrong attempts are counted by name with address, and by address; never by name alone, or anybody could lock anybody out.
 */
export class LoginCheck {
  readonly passwords = new Passwords();
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Runs `proceed` if the password is right. Requires no second factor, because the session has already shown it. */
  async checkPassword<T>(
    { username }: Caller,
    password: string,
    address: LoginAddress,
    proceed: (login: ProvenLogin) => Promise<T>,
  ): Promise<T> {
    requireRegistered(username);
    const wrong = new ApiError(403, 'wrong password');
    return this.checkSecret({ username, secret: password }, address, wrong, proceed);
  }

  /** Runs `proceed` if the secret is right and, where required, the second factor too. Throws `wrong` if the secret is not. */
  async checkSecret<T>(
    { username, kind = 'password_hash', secret, factor }: LoginAttempt,
    { network, shared }: LoginAddress,
    wrong: ApiError,
    proceed: (login: ProvenLogin) => Promise<T>,
  ): Promise<T> {
    const { metadata, settings } = this.#deps;
    const { accounts } = metadata;
    return this.passwords.inTurn(network, async () => {
      const account = await accounts.credentials(username);
      const attempts = account?.login_attempts ?? settings.loginAttempts;
      const { ofName, ofAddress } = await accounts.failures(username, network);
      this.#requireFewer(ofName, attempts);
      this.#requireFewer(ofAddress, this.#addressLimit(shared));
      const hash = account?.[kind] ?? undefined;
      const isRight = await this.passwords.verify(secret, hash);
      if (!isRight) {
        await this.#countFailure(username, network);
        throw wrong;
      }
      const used = factor && (await this.#checkFactor(username, account!, factor, network, wrong.status));
      if (ofName.failures > 0) await accounts.clearFailures(username, network);
      if (account!.disabled_at !== null) throw accountDisabled();
      const makeHash = (next: string) => this.passwords.make(next);
      const before = { username, passwordHash: hash!, keys: account!.keys ?? undefined };
      return proceed({ account: account!, before, used, makeHash });
    });
  }

  /**
   * Six digits are quickly guessed from many addresses, so wrong factors are also counted for the account as a whole. Only a
   * caller who knows the password gets here, so nobody else can lock the account.
   */
  async #checkFactor(
    username: string,
    account: Credentials,
    { code, passkey }: NonNullable<LoginAttempt['factor']>,
    network: string,
    status: number,
  ): Promise<UsedFactor | undefined> {
    const { accounts, passkeys } = this.#deps.metadata;
    const known = await passkeys.list(account.account_id);
    const hasCodes = account.totp_secret !== null;
    if (!hasCodes && known.length === 0) return undefined;
    if (passkey === undefined && (code === undefined || !hasCodes))
      throw await this.#factorError(account, known, status, 'a second factor is needed');
    const { ofName } = await accounts.failures(username, FACTORS);
    this.#requireFewer(ofName, account.login_attempts ?? this.#deps.settings.loginAttempts);
    const used = passkey ? await this.#checkSecondPasskey(passkey, known) : this.#checkCode(account, code!);
    if (!used) {
      await this.#countFailure(username, FACTORS, network);
      throw await this.#factorError(account, known, status, WRONG_FACTOR);
    }
    if (ofName.failures > 0) await accounts.clearFailures(username, FACTORS);
    return used;
  }

  #checkCode({ totp_secret: secret, totp_step: last }: Credentials, code: string): UsedCode | undefined {
    const step = stepOf(secret!, code, this.#deps.now());
    return step === undefined || step <= (last ?? 0) ? undefined : { secret: secret!, step };
  }

  /** As a second factor the passkey need not verify its user. */
  async #checkSecondPasskey(answer: PasskeyAnswer, known: PasskeyRow[]): Promise<UsedPasskey | undefined> {
    const { passkeys } = this.#deps;
    const row = known.find(({ credential_id }) => credential_id === answer.id);
    if (!row || passkeys.origin === undefined) return undefined;
    const subject = { purpose: 'second', accountId: row.account_id } as const;
    return passkeys.verify(answer, row, subject, { userVerified: false });
  }

  /**
   * Builds the error that lists the accepted factors, with a challenge for passkeys. If the server's origin is no longer
   * configured, passkeys cannot be used, but the password alone still does not open the account.
   */
  async #factorError(
    { account_id: accountId, totp_secret }: Credentials,
    known: PasskeyRow[],
    status: number,
    message: string,
  ): Promise<ApiError> {
    const factors: Factor[] = totp_secret === null ? [] : ['totp'];
    if (known.length > 0) factors.push('passkey');
    const { passkeys } = this.#deps;
    if (known.length === 0 || passkeys.origin === undefined)
      return new ApiError(status, message, { extra: { factors } });
    const passkey = await passkeys.request({ purpose: 'second', accountId }, known);
    return new ApiError(status, message, { extra: { factors, passkey } });
  }

  /** Builds the error for a correct second factor that another request used at the same moment. */
  async usedFactorError(account: Credentials, status: number): Promise<ApiError> {
    const known = await this.#deps.metadata.passkeys.list(account.account_id);
    return this.#factorError(account, known, status, WRONG_FACTOR);
  }

  /**
   * Checks a passkey that signs in without a password and must verify its user, then runs `proceed`. An undefined result
   * counts as a failed login.
   */
  async checkPasskey<T>(
    answer: PasskeyAnswer,
    { network, shared }: LoginAddress,
    proceed: (row: PasskeyRow, used: UsedPasskey) => Promise<T | undefined>,
  ): Promise<T> {
    const { metadata, passkeys, settings } = this.#deps;
    const row = await metadata.passkeys.find(answer.id);
    const name = row ? hashToken(answer.id) : NO_PASSKEY;
    const { ofName, ofAddress } = await metadata.accounts.failures(name, network);
    if (row) this.#requireFewer(ofName, settings.loginAttempts);
    this.#requireFewer(ofAddress, this.#addressLimit(shared));
    const subject = { purpose: 'enter' as const };
    const used =
      row?.alone === 1 ? await passkeys.verify(answer, row, subject, { userVerified: true }) : undefined;
    if (used && (await metadata.accounts.isDisabled(row!.account_id))) throw accountDisabled();
    const result = used && (await proceed(row!, used));
    if (result === undefined) {
      await this.#countFailure(name, network);
      throw new ApiError(401, 'this passkey does not open an account here, or its answer came too late');
    }
    if (ofName.failures > 0) await metadata.accounts.clearFailures(name, network);
    return result;
  }

  async #countFailure(name: string, ...addresses: string[]): Promise<void> {
    const { metadata, settings, now, onFailure } = this.#deps;
    onFailure?.('wrong');
    for (const address of addresses)
      await metadata.accounts.countFailure(name, address, now(), settings.loginWaitMs);
  }

  /** Behind a proxy that is not configured as trusted, one client must not quickly lock out all others. */
  #addressLimit(shared: boolean): number {
    return this.#deps.settings.loginAddressAttempts * (shared ? SHARED_FACTOR : 1);
  }

  #requireFewer({ failures, failed_at }: Failures, attempts: number): void {
    const { settings, now, onFailure } = this.#deps;
    const seconds = Math.ceil((failed_at + settings.loginWaitMs - now()) / 1000);
    if (failures >= attempts && seconds > 0) {
      onFailure?.('limit');
      throw new TryLater(429, `too many failed logins; try again in ${seconds} s`, seconds);
    }
  }
}
