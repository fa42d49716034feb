import { createHash } from 'node:crypto';
import {
  ADMIN,
  type Credentials,
  checkPassword,
  cleanUsername,
  isReservedUsername,
  type KeysBody,
  type Registration,
  type Session,
  strip,
} from '@szafa/protocol';
import type { Config } from '../config.ts';
import { DetailError, isOsError, ServiceError, TryLater } from '../errors.ts';
import type { Failures } from '../metadata/accounts.ts';
import type { Lookup, SessionRow } from '../metadata/lookup.ts';
import type { Metadata } from '../metadata/metadata.ts';
import { hashToken, newToken, sameHash } from './ids.ts';
import { lastUse } from './last-use.ts';
import { Passwords } from './passwords.ts';

type Settings = Pick<
  Config,
  'sessionTtlMs' | 'registrationOpen' | 'loginAttempts' | 'loginAddressAttempts' | 'loginWaitMs'
>;

/** Where a login comes from. */
export interface Origin {
  /** As `networkOf` spells it. */
  network: string;
  /** It is a proxy's, and shared by everyone behind it. */
  shared: boolean;
}

/** Whether keys with this tag (undefined: none) may be replaced. */
export type KeysCondition = (tag: string | undefined) => boolean;

export interface Caller {
  username: string;
  token: string;
}

export class Accounts {
  readonly #metadata: Metadata;
  readonly #settings: Settings;
  readonly #systemTokenHash: string;
  readonly #now: () => number;
  readonly #passwords = new Passwords();

  constructor(metadata: Metadata, settings: Settings, systemToken: string, now = Date.now) {
    this.#metadata = metadata;
    this.#settings = settings;
    this.#systemTokenHash = hashToken(systemToken);
    this.#now = now;
  }

  async register(raw: Registration, { network }: Origin): Promise<Session> {
    if (!this.#settings.registrationOpen) throw new ServiceError(403, 'registration is closed');
    const username = cleanUsername(raw.username);
    const hash = await this.#passwords.hash(checkPassword(raw.password), network);
    const { accounts } = this.#metadata;
    const taken =
      isReservedUsername(username) ||
      !(await accounts.create(username, hash, this.#now(), { keys: raw.keys }));
    if (taken) throw new ServiceError(409, 'this username is taken');
    return this.#open(username);
  }

  async login(raw: Credentials, origin: Origin): Promise<Session> {
    const username = loginName(raw.username);
    return this.#prove(username, raw.password, origin, {
      wrong: new ServiceError(401, 'wrong username or password'),
      right: () => this.#open(username),
    });
  }

  /** The key bag and its tag, by which it can be replaced. */
  async keys({ username }: Caller): Promise<{ keys: string; tag: string }> {
    requireRegistered(username);
    const keys = await this.#metadata.accounts.keys(username);
    if (keys === undefined) throw new ServiceError(404, 'this account has no keys');
    return { keys, tag: tagOf(keys) };
  }

  /**
   * Replaces the key bag, or stores the first one; the tag of what is there now. A token alone is not enough: whoever found
   * one could lock its owner out for good.
   */
  async replaceKeys(
    { username }: Caller,
    { password, keys }: KeysBody,
    condition: KeysCondition,
    origin: Origin,
  ): Promise<string> {
    requireRegistered(username);
    return this.#prove(username, password, origin, {
      wrong: new ServiceError(403, 'wrong password'),
      right: async () => {
        const { accounts } = this.#metadata;
        const present = await accounts.keys(username);
        const replaced =
          condition(present === undefined ? undefined : tagOf(present)) &&
          (await accounts.replaceKeys(username, present, keys));
        if (!replaced) throw new ServiceError(412, changed(present));
        return tagOf(keys);
      },
    });
  }

  /** Goes on if the password is right. One that is wrong is counted, and too many of them are refused, wherever it is asked for. */
  async #prove<T>(
    username: string,
    password: string,
    { network, shared }: Origin,
    { wrong, right: goOn }: { wrong: ServiceError; right: () => Promise<T> },
  ): Promise<T> {
    return this.#passwords.inTurn(network, async () => {
      const { accounts } = this.#metadata;
      const { loginAttempts, loginAddressAttempts, loginWaitMs } = this.#settings;
      const { ofName, ofAddress } = await accounts.failures(username, network);
      this.#requireFewer(ofName, loginAttempts);
      // Else one client behind a proxy could keep all others behind it out.
      if (!shared) this.#requireFewer(ofAddress, loginAddressAttempts);
      const right = await this.#passwords.verify(password, await accounts.passwordHash(username));
      if (!right) {
        await accounts.countFailure(username, network, this.#now(), loginWaitMs);
        throw wrong;
      }
      if (ofName.failures > 0) await accounts.clearFailures(username, network);
      return goOn();
    });
  }

  /** By name with address, or by address; never by name alone, or anybody could lock anybody out. */
  #requireFewer({ failures, failed_at }: Failures, attempts: number): void {
    const seconds = Math.ceil((failed_at + this.#settings.loginWaitMs - this.#now()) / 1000);
    if (failures >= attempts && seconds > 0) {
      throw new TryLater(429, `too many failed logins; try again in ${seconds} s`, seconds);
    }
  }

  /** The caller behind an Authorization header, and what else the request asks for. */
  async identify<T>(header: string | undefined, lookUp: Lookup<T>): Promise<{ caller: Caller; found: T }> {
    const token = bearer(header);
    const tokenHash = hashToken(token);
    if (sameHash(tokenHash, this.#systemTokenHash)) {
      return { caller: { username: ADMIN, token }, found: await lookUp.admin() };
    }
    const session = await lookUp.session(tokenHash);
    return { caller: { username: await this.#use(tokenHash, session), token }, found: session! };
  }

  /** Whose the session is, if it is one; its use is written down. */
  async #use(tokenHash: string, session: SessionRow | undefined): Promise<string> {
    const use = session && lastUse(session.used_at, this.#now(), this.#settings.sessionTtlMs);
    if (!session || use === 'expired')
      throw new DetailError(401, 'the token is unknown or has expired; log in again');
    if (use === 'stale') {
      await this.#metadata.accounts.touchSession(tokenHash, this.#now()).catch((error: unknown) => {
        // On a full disk files can still be read and deleted; the token only ends earlier.
        if (!isOsError(error)) throw error;
      });
    }
    return session.username;
  }

  async logout(caller: Caller): Promise<void> {
    if (caller.username !== ADMIN) await this.#metadata.accounts.closeSession(hashToken(caller.token));
  }

  async #open(username: string): Promise<Session> {
    const token = newToken();
    await this.#metadata.accounts.openSession(hashToken(token), username, this.#now());
    return { username, token };
  }
}

/** The administrator is no registered user. */
function requireRegistered(username: string): void {
  if (username === ADMIN) throw new ServiceError(403, 'the administrator has no keys');
}

const tagOf = (keys: string) => `"${createHash('sha256').update(keys).digest('hex')}"`;

const changed = (present: string | undefined) =>
  present === undefined ? 'this account has no keys' : 'this account has other keys by now';

function bearer(header: string | undefined): string {
  if (header === undefined) throw new DetailError(401, 'the Authorization header is missing');
  if (!header.startsWith('Bearer '))
    throw new DetailError(401, 'the Authorization header must start with "Bearer "');
  return header.slice('Bearer '.length);
}

/** What can be no username is counted under its digest, which is none either: it may have any length. */
function loginName(raw: string): string {
  const username = strip(raw);
  return /^[A-Za-z0-9_]{1,32}$/.test(username) ? username : hashToken(username);
}
