import type { Config } from '../config.ts';
import { accountDisabled, ServiceError, TryLater } from '../errors.ts';
import type { AccountsTable, Credentials, Failures, UsedCode } from '../metadata/accounts.ts';
import { Passwords } from './passwords.ts';
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
  code: UsedCode | undefined;
  make: (secret: string) => Promise<string>;
}

/** What is shown. */
export interface Claim {
  username: string;
  kind?: Kind;
  secret: string;
  /** Asks for the second factor as well, if the account has one. */
  factor?: { code: string | undefined };
}

/** Who is asked for a code, where from, how often it may be wrong, and what is answered then. */
interface Asked {
  username: string;
  network: string;
  attempts: number;
  status: number;
}

/** In the place of an address: wrong codes are counted by account, from wherever. */
const CODES = 'codes';

/** Whether the password is right is known to whoever reads this; nobody else may. */
export const wrongCode = (status: number, message = 'the code is wrong, or has been used already') =>
  new ServiceError(status, message, { extra: { factor: 'totp' } });

/** Asks for the secrets of accounts. One that is wrong is counted, and too many of them are refused, wherever it is asked for. */
export class Proof {
  readonly passwords = new Passwords();
  readonly #accounts: AccountsTable;
  readonly #settings: ProofSettings;
  readonly #now: () => number;
  readonly #onFailure: OnFailure;

  constructor(
    accounts: AccountsTable,
    settings: ProofSettings,
    now: () => number,
    onFailure: OnFailure = () => undefined,
  ) {
    this.#accounts = accounts;
    this.#settings = settings;
    this.#now = now;
    this.#onFailure = onFailure;
  }

  /** Goes on if the secret is right. */
  async of<T>(
    { username, kind = 'password_hash', secret, factor }: Claim,
    { network, shared }: Origin,
    { wrong, right: goOn }: { wrong: ServiceError; right: (proven: Proven) => Promise<T> },
  ): Promise<T> {
    return this.passwords.inTurn(network, async () => {
      const accounts = this.#accounts;
      const { loginAttempts, loginAddressAttempts, loginWaitMs } = this.#settings;
      const { ofName, ofAddress } = await accounts.failures(username, network);
      const attempts = (await accounts.loginAttempts(username)) ?? loginAttempts;
      this.#requireFewer(ofName, attempts);
      // Else one client behind a proxy could keep all others behind it out.
      if (!shared) this.#requireFewer(ofAddress, loginAddressAttempts);
      const account = await accounts.credentials(username);
      const hash = account?.[kind] ?? undefined;
      const right = await this.passwords.verify(secret, hash);
      if (!right) {
        this.#onFailure('wrong');
        await accounts.countFailure(username, network, this.#now(), loginWaitMs);
        throw wrong;
      }
      const asked = { username, network, attempts, status: wrong.status };
      const code = factor && (await this.#code(asked, account!, factor.code));
      if (ofName.failures > 0) await accounts.clearFailures(username, network);
      if (account!.disabled_at !== null) throw accountDisabled();
      return goOn({ account: account!, hash: hash!, code, make: (next) => this.passwords.make(next) });
    });
  }

  /**
   * Six digits are soon guessed from many addresses. So wrong ones are also counted for the account as a whole: whoever gets
   * here has its password, and can lock nobody else out.
   */
  async #code(
    { username, network, attempts, status }: Asked,
    { totp_secret: secret, totp_step: last }: Credentials,
    code: string | undefined,
  ): Promise<UsedCode | undefined> {
    if (secret === null) return undefined;
    if (code === undefined) throw wrongCode(status, 'a code of the second factor is needed');
    const { loginWaitMs } = this.#settings;
    const { ofName } = await this.#accounts.failures(username, CODES);
    this.#requireFewer(ofName, attempts);
    const step = stepOf(secret, code, this.#now());
    if (step === undefined || step <= (last ?? 0)) {
      this.#onFailure('wrong');
      for (const where of [CODES, network])
        await this.#accounts.countFailure(username, where, this.#now(), loginWaitMs);
      throw wrongCode(status);
    }
    if (ofName.failures > 0) await this.#accounts.clearFailures(username, CODES);
    return { secret, step };
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
