import type { Factor, PasskeyAnswer } from '@szafa/protocol';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import { hashToken } from '../platform/ids.ts';
import type { AccountsTable, Credentials, Failures, UsedCode, UsedFactor } from './accounts-table.ts';
import type { Passkeys } from './passkeys.ts';
import type { PasskeyRow, UsedPasskey } from './passkeys-table.ts';
import { Passwords } from './passwords.ts';
import { accountDisabled } from './refusals.ts';
import { stepOf } from './totp.ts';

export type ProofSettings = Pick<Config, 'loginAttempts' | 'loginAddressAttempts' | 'loginWaitMs'>;

/** Where a login comes from. */
export interface Origin {
  /** As `networkOf` spells it. */
  network: string;
  /** It is a proxy's, and shared by everyone behind it. */
  shared: boolean;
}

/** Told when a secret was wrong, or was not tried because too many had been. */
export type OnFailure = (reason: 'wrong' | 'limit') => void;

/** By what somebody shows that an account is theirs. */
export type Kind = 'password_hash' | 'recovery_hash';

/** What was proven, and what can be hashed while it is our turn. */
export interface Proven {
  account: Credentials;
  /** The hash of what was shown. */
  hash: string;
  /** Of the second factor, where it was asked for and the account has one; whoever goes on makes sure that it is used once. */
  used: UsedFactor | undefined;
  make: (secret: string) => Promise<string>;
}

/** Of a second factor. */
interface Shown {
  code?: string | undefined;
  passkey?: PasskeyAnswer | undefined;
}

/** What is shown. */
export interface Claim {
  username: string;
  kind?: Kind;
  secret: string;
  /** Asks for the second factor as well, if the account has one. */
  factor?: Shown;
}

/** Who is asked for a second factor, where from, how often it may be wrong, and what is answered then. */
interface Asked {
  username: string;
  network: string;
  attempts: number;
  status: number;
}

/** More failed logins are allowed from an address that many people may share. Anyone inside can send such a header, so a limit stays. */
const SHARED_FACTOR = 10;
/** In the place of an address: wrong second factors are counted by account, from wherever. */
const FACTORS = 'factors';
/** In the place of a name: that of nobody, for passkeys which nobody has. */
const NO_PASSKEY = '-';

const WRONG_FACTOR = 'the second factor is wrong, or has been used already';

/** Whether the password is right is known to whoever reads this; nobody else may. */
export const wrongCode = (status: number, message: string) =>
  new ApiError(status, message, { extra: { factors: ['totp'] satisfies Factor[] } });

/** Asks for the secrets of accounts. One that is wrong is counted, and too many of them are refused, wherever it is asked for. */
export class Proof {
  readonly passwords = new Passwords();
  readonly #accounts: AccountsTable;
  readonly #metadata: Pick<Metadata, 'accounts' | 'passkeys'>;
  readonly #passkeys: Passkeys;
  readonly #settings: ProofSettings;
  readonly #now: () => number;
  readonly #onFailure: OnFailure;

  constructor(
    metadata: Pick<Metadata, 'accounts' | 'passkeys'>,
    passkeys: Passkeys,
    settings: ProofSettings,
    now: () => number,
    onFailure: OnFailure = () => undefined,
  ) {
    this.#accounts = metadata.accounts;
    this.#metadata = metadata;
    this.#passkeys = passkeys;
    this.#settings = settings;
    this.#now = now;
    this.#onFailure = onFailure;
  }

  /** Goes on if the secret is right. */
  async of<T>(
    { username, kind = 'password_hash', secret, factor }: Claim,
    { network, shared }: Origin,
    { wrong, right: goOn }: { wrong: ApiError; right: (proven: Proven) => Promise<T> },
  ): Promise<T> {
    return this.passwords.inTurn(network, async () => {
      const accounts = this.#accounts;
      const { loginAttempts, loginWaitMs } = this.#settings;
      const { ofName, ofAddress } = await accounts.failures(username, network);
      const attempts = (await accounts.loginAttempts(username)) ?? loginAttempts;
      this.#requireFewer(ofName, attempts);
      this.#requireFewer(ofAddress, this.#addressLimit(shared));
      const account = await accounts.credentials(username);
      const hash = account?.[kind] ?? undefined;
      const right = await this.passwords.verify(secret, hash);
      if (!right) {
        this.#onFailure('wrong');
        await accounts.countFailure(username, network, this.#now(), loginWaitMs);
        throw wrong;
      }
      const asked = { username, network, attempts, status: wrong.status };
      const used = factor && (await this.#factor(asked, account!, factor));
      if (ofName.failures > 0) await accounts.clearFailures(username, network);
      if (account!.disabled_at !== null) throw accountDisabled();
      return goOn({ account: account!, hash: hash!, used, make: (next) => this.passwords.make(next) });
    });
  }

  /**
   * Six digits are soon guessed from many addresses. So what is wrong is also counted for the account as a whole: whoever gets
   * here has its password, and can lock nobody else out.
   */
  async #factor(
    { username, network, attempts, status }: Asked,
    account: Credentials,
    { code, passkey }: Shown,
  ): Promise<UsedFactor | undefined> {
    const known = await this.#metadata.passkeys.list(account.account_id);
    const hasCodes = account.totp_secret !== null;
    if (!hasCodes && known.length === 0) return undefined;
    if (passkey === undefined && (code === undefined || !hasCodes))
      throw await this.#wanted(account, known, status, 'a second factor is needed');
    const { loginWaitMs } = this.#settings;
    const { ofName } = await this.#accounts.failures(username, FACTORS);
    this.#requireFewer(ofName, attempts);
    const used = passkey ? await this.#answered(passkey, known) : this.#coded(account, code!);
    if (!used) {
      this.#onFailure('wrong');
      for (const where of [FACTORS, network])
        await this.#accounts.countFailure(username, where, this.#now(), loginWaitMs);
      throw await this.#wanted(account, known, status, WRONG_FACTOR);
    }
    if (ofName.failures > 0) await this.#accounts.clearFailures(username, FACTORS);
    return used;
  }

  #coded({ totp_secret: secret, totp_step: last }: Credentials, code: string): UsedCode | undefined {
    const step = stepOf(secret!, code, this.#now());
    return step === undefined || step <= (last ?? 0) ? undefined : { secret: secret!, step };
  }

  /** Beside the password it need not tell who holds it. */
  async #answered(answer: PasskeyAnswer, known: PasskeyRow[]): Promise<UsedPasskey | undefined> {
    const row = known.find(({ credential_id }) => credential_id === answer.id);
    if (!row || this.#passkeys.origin === undefined) return undefined;
    const asked = { purpose: 'second' as const, accountId: row.account_id };
    return this.#passkeys.verify(answer, row, asked, { verified: false });
  }

  /** With what a passkey is to sign. Where the server has forgotten its address none can: the account stays closed to a password alone. */
  async #wanted(
    { account_id: accountId, totp_secret }: Credentials,
    known: PasskeyRow[],
    status: number,
    message: string,
  ): Promise<ApiError> {
    const factors: Factor[] = totp_secret === null ? [] : ['totp'];
    if (known.length > 0) factors.push('passkey');
    const passkey =
      known.length > 0 ? await this.#passkeys.request({ purpose: 'second', accountId }, known) : undefined;
    return new ApiError(status, message, { extra: { factors, ...(passkey && { passkey }) } });
  }

  /** For whoever showed a second factor that was right, and was used at the same moment. */
  async refusal(account: Credentials, status: number): Promise<ApiError> {
    const known = await this.#metadata.passkeys.list(account.account_id);
    return this.#wanted(account, known, status, WRONG_FACTOR);
  }

  /** Goes on with a passkey that came by itself and whose holder was verified; what comes of it, unless that is nothing. */
  async ofPasskey<T>(
    answer: PasskeyAnswer,
    { network, shared }: Origin,
    goOn: (row: PasskeyRow, used: UsedPasskey) => Promise<T | undefined>,
  ): Promise<T> {
    const accounts = this.#accounts;
    const { loginAttempts, loginWaitMs } = this.#settings;
    const row = await this.#metadata.passkeys.find(answer.id);
    const name = row ? hashToken(answer.id) : NO_PASSKEY;
    const { ofName, ofAddress } = await accounts.failures(name, network);
    if (row) this.#requireFewer(ofName, loginAttempts);
    this.#requireFewer(ofAddress, this.#addressLimit(shared));
    const asked = { purpose: 'enter' as const };
    const used =
      row?.alone === 1 ? await this.#passkeys.verify(answer, row, asked, { verified: true }) : undefined;
    if (used && (await accounts.isDisabled(row!.account_id))) throw accountDisabled();
    const opened = used && (await goOn(row!, used));
    if (opened === undefined) {
      this.#onFailure('wrong');
      await accounts.countFailure(name, network, this.#now(), loginWaitMs);
      throw new ApiError(401, 'this passkey does not open an account here, or its answer came too late');
    }
    if (ofName.failures > 0) await accounts.clearFailures(name, network);
    return opened;
  }

  /** Behind a proxy that nobody named, one client must not soon lock out all others. */
  #addressLimit(shared: boolean): number {
    return this.#settings.loginAddressAttempts * (shared ? SHARED_FACTOR : 1);
  }

  /** By name with address, or by address; never by name alone, or anybody could lock anybody out. */
  #requireFewer({ failures, failed_at }: Failures, attempts: number): void {
    const seconds = Math.ceil((failed_at + this.#settings.loginWaitMs - this.#now()) / 1000);
    if (failures >= attempts && seconds > 0) {
      this.#onFailure('limit');
      throw new TryLater(429, `too many failed logins; try again in ${seconds} s`, seconds);
    }
  }
}
