import {
  ADMIN,
  checkExpiry,
  cleanDevice,
  type ListedSession,
  type NewToken,
  type RouteAccess,
  RuleError,
  type TokenBody,
  type TokenGrant,
  whyDenied,
} from '@szafa/protocol';
import type { Config } from '../config.ts';
import { badDirectory } from '../files/refusals.ts';
import type { Metadata } from '../metadata.ts';
import { isOsError } from '../platform/errors.ts';
import { ApiError, DetailError, OutOfScope } from '../platform/http/api-error.ts';
import { hashToken, newToken, sameHash } from '../platform/ids.ts';
import type { AccountRates } from '../platform/rate-limit.ts';
import { iso, isoOrNull } from '../platform/time.ts';
import { ADMIN_ACCOUNT, type Lookup, type SessionRow } from './account-rows.ts';
import { accountDisabled, sessionEnded } from './refusals.ts';
import type { LoginSession } from './sessions-table.ts';

/** `accountId` distinguishes an account from a later one with the same name. */
export interface AccountRef {
  username: string;
  accountId: string;
}

/** The caller of a request, and what their token allows. */
export interface Caller extends AccountRef, TokenGrant, AccountRates {
  token: string;
  /** Null for the system token; for a visitor's upload, the id of the file request. */
  sessionId: string | null;
  /** Null if the session has no fixed expiry and ends when unused. */
  expiresAt: number | null;
}

const SYSTEM: Omit<Caller, 'token'> = {
  username: ADMIN,
  accountId: ADMIN_ACCOUNT,
  sessionId: null,
  scope: 'full',
  onlyDir: null,
  expiresAt: null,
  uploadRate: null,
  downloadRate: null,
};

interface Deps {
  metadata: Pick<Metadata, 'sessions'>;
  settings: Pick<Config, 'sessionTtlMs' | 'shares'>;
  systemTokenHash: string;
  now: () => number;
}

/** Sessions and tokens. Every request queries the database, so that a session ends on all nodes at once. */
export class Sessions {
  readonly #deps: Deps;

  constructor(metadata: Deps['metadata'], settings: Deps['settings'], systemToken: string, now = Date.now) {
    this.#deps = { metadata, settings, systemTokenHash: hashToken(systemToken), now };
  }

  /**
   * Returns the caller behind an Authorization header, and the data that `lookUp` reads for the request. Every request that
   * needs a token goes through here and is refused if the token may not use `route`.
   */
  async identify<T>(
    header: string | undefined,
    route: RouteAccess,
    lookUp: Lookup<T>,
  ): Promise<{ caller: Caller; found: T }> {
    const { settings, systemTokenHash, now } = this.#deps;
    const token = bearerToken(header);
    const tokenHash = hashToken(token);
    if (sameHash(tokenHash, systemTokenHash))
      return { caller: { ...SYSTEM, token }, found: await lookUp.admin() };
    const row = await lookUp.session(tokenHash);
    const visitor = row || !route.visitors || !settings.shares ? undefined : lookUp.visitor;
    const session = (await visitor?.(tokenHash, now())) ?? (await this.#use(tokenHash, row));
    const { username, account_id: accountId, session_id: sessionId } = session;
    const { scope, only_dir: onlyDir, expires_at: expiresAt } = session;
    const denied = whyDenied(route, { scope, onlyDir });
    if (denied !== undefined) throw new OutOfScope(denied);
    const rates = { uploadRate: session.upload_rate, downloadRate: session.download_rate };
    const grant = { token, sessionId, scope, onlyDir, expiresAt };
    return { caller: { username, accountId, ...grant, ...rates }, found: session };
  }

  /** Throws if there is no session or it has expired; otherwise records its use. */
  async #use<S extends SessionRow>(tokenHash: string, session: S | undefined): Promise<S> {
    const { metadata, now } = this.#deps;
    const use = session && this.#lastUse(session);
    if (!session || use === 'expired') throw sessionEnded();
    if (session.disabled_at !== null) throw accountDisabled();
    if (use === 'stale') {
      await metadata.sessions.touch(tokenHash, now()).catch((error: unknown) => {
        // On a full disk, files must still be readable and deletable; the only cost is that the token expires earlier.
        if (!isOsError(error)) throw error;
      });
    }
    return session;
  }

  #lastUse({ used_at, expires_at }: Pick<SessionRow, 'used_at' | 'expires_at'>): ReturnType<typeof lastUse> {
    const { settings, now } = this.#deps;
    const use = lastUse(used_at, now(), settings.sessionTtlMs);
    if (expires_at === null) return use;
    if (now() >= expires_at) return 'expired';
    return use === 'expired' ? 'stale' : use;
  }

  /** Creates a token for the caller's account. Only an unrestricted token that does not expire can do so. */
  async create(caller: Caller, body: TokenBody): Promise<NewToken> {
    const { username, accountId } = caller;
    requireRegistered(username);
    if (caller.expiresAt !== null)
      throw new OutOfScope('a token that expires cannot create tokens; log in to create one');
    const device = cleanDevice(body.device);
    if (device === '') throw new RuleError('device is empty');
    const { scope, dir_id: dirId = null } = body;
    if (dirId === 0) throw new RuleError('dir_id: a token is for a directory, or for the whole account');
    if (dirId !== null && !Number.isSafeInteger(dirId)) throw badDirectory();
    const now = this.#deps.now();
    const token = newToken();
    const session = { tokenHash: hashToken(token), username, accountId, device, now, scope, dirId };
    const expiresAt = checkExpiry(body.expires_at, now);
    const maker = hashToken(caller.token);
    return { id: await this.#deps.metadata.sessions.create({ ...session, expiresAt }, maker), token };
  }

  async logout({ username, token }: Caller): Promise<void> {
    if (username !== ADMIN) await this.#deps.metadata.sessions.close(hashToken(token));
  }

  async list({ username, token }: Caller): Promise<ListedSession[]> {
    requireRegistered(username);
    const current = hashToken(token);
    const rows = await this.#deps.metadata.sessions.list(username);
    const alive = rows.filter((row) => this.#lastUse(row) !== 'expired');
    return alive.map(({ token_hash, created_at, used_at, expires_at, ...same }) => ({
      ...same,
      created_at: iso(created_at),
      used_at: iso(used_at),
      current: token_hash === current,
      expires_at: isoOrNull(expires_at),
    }));
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#deps.metadata.sessions.end(username, id, this.#deps.now())))
      throw new ApiError(404, 'you have no such session');
  }

  /** Returns the number of sessions ended. */
  endOthers({ username, token }: Caller): Promise<number> {
    requireRegistered(username);
    return this.#deps.metadata.sessions.endOthers(username, hashToken(token), this.#deps.now());
  }
}

/** Creates a token and the session row that goes with it. */
export function newSession(device = ''): { session: LoginSession; token: string } {
  const token = newToken();
  return { session: { tokenHash: hashToken(token), device: cleanDevice(device) }, token };
}

export function requireRegistered(username: string): void {
  if (username === ADMIN) throw new ApiError(403, 'the administrator has no account');
}

/**
 * The last use is written at most once per sixteenth of the lifetime, or once per hour if that is shorter, so that not every
 * request costs a commit. The stored time may be too old by that much, and expiry allows for it.
 */
const STEPS = 16;
const HOUR_MS = 3_600_000;

export function lastUse(writtenAt: number, now: number, ttl: number): 'fresh' | 'stale' | 'expired' {
  if (writtenAt < expiredBefore(now, ttl)) return 'expired';
  return now - writtenAt > Math.min(ttl / STEPS, HOUR_MS) ? 'stale' : 'fresh';
}

export function expiredBefore(now: number, ttl: number): number {
  return Math.floor(now - ttl - ttl / STEPS);
}

function bearerToken(header: string | undefined): string {
  if (header === undefined) throw new DetailError(401, 'the Authorization header is missing');
  if (!header.startsWith('Bearer '))
    throw new DetailError(401, 'the Authorization header must start with "Bearer "');
  return header.slice('Bearer '.length);
}
