import type { Config } from '../config.ts';
import { accountDisabled, type ServiceError, TryLater } from '../errors.ts';
import type { AccountsTable, Credentials, Failures } from '../metadata/accounts.ts';
import { Passwords } from './passwords.ts';

export type ProofSettings = Pick<Config, 'loginAttempts' | 'loginAddressAttempts' | 'loginWaitMs'>;

/** Where a login comes from. */
export interface Origin {
  /** As `networkOf` spells it. */
  network: string;
  /** It is a proxy's, and shared by everyone behind it. */
  shared: boolean;
}

/** By what somebody shows that an account is theirs. */
export type Kind = 'password_hash' | 'recovery_hash';

/** What was proven, and what can be hashed while it is our turn. */
export interface Proven {
  account: Credentials;
  /** The hash of what was shown. */
  hash: string;
  make: (secret: string) => Promise<string>;
}

/** Asks for the secrets of accounts. One that is wrong is counted, and too many of them are refused, wherever it is asked for. */
export class Proof {
  readonly passwords = new Passwords();
  readonly #accounts: AccountsTable;
  readonly #settings: ProofSettings;
  readonly #now: () => number;

  constructor(accounts: AccountsTable, settings: ProofSettings, now: () => number) {
    this.#accounts = accounts;
    this.#settings = settings;
    this.#now = now;
  }

  /** Goes on if the secret is right. */
  async of<T>(
    { username, kind = 'password_hash', secret }: { username: string; kind?: Kind; secret: string },
    { network, shared }: Origin,
    { wrong, right: goOn }: { wrong: ServiceError; right: (proven: Proven) => Promise<T> },
  ): Promise<T> {
    return this.passwords.inTurn(network, async () => {
      const accounts = this.#accounts;
      const { loginAttempts, loginAddressAttempts, loginWaitMs } = this.#settings;
      const { ofName, ofAddress } = await accounts.failures(username, network);
      this.#requireFewer(ofName, (await accounts.loginAttempts(username)) ?? loginAttempts);
      // Else one client behind a proxy could keep all others behind it out.
      if (!shared) this.#requireFewer(ofAddress, loginAddressAttempts);
      const account = await accounts.credentials(username);
      const hash = account?.[kind] ?? undefined;
      const right = await this.passwords.verify(secret, hash);
      if (!right) {
        await accounts.countFailure(username, network, this.#now(), loginWaitMs);
        throw wrong;
      }
      if (ofName.failures > 0) await accounts.clearFailures(username, network);
      if (account!.disabled_at !== null) throw accountDisabled();
      return goOn({ account: account!, hash: hash!, make: (next) => this.passwords.make(next) });
    });
  }

  /** By name with address, or by address; never by name alone, or anybody could lock anybody out. */
  #requireFewer({ failures, failed_at }: Failures, attempts: number): void {
    const seconds = Math.ceil((failed_at + this.#settings.loginWaitMs - this.#now()) / 1000);
    if (failures >= attempts && seconds > 0) {
      throw new TryLater(429, `too many failed logins; try again in ${seconds} s`, seconds);
    }
  }
}
