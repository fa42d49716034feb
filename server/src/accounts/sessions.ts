import {
  ADMIN,
  checkExpiry,
  cleanDevice,
  type ListedSession,
  limits,
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
import { ADMIN_ACCOUNT, type Lookup, type SessionRow } from './account-rows.ts';
import { accountDisabled } from './refusals.ts';
import type { Opening } from './sessions-table.ts';

/** An account as one that acts: the id tells it from a later one of the same name. */
export interface AccountRef {
  username: string;
  accountId: string;
}

export interface Caller extends AccountRef, TokenGrant, AccountRates {
  token: string;
  /** Null for the system token; of a visitor's upload the id of the request. */
  sessionId: string | null;
  /** When the token ends; null where that depends on its use. */
  endsAt: number | null;
}

const SYSTEM: Omit<Caller, 'token'> = {
  username: ADMIN,
  accountId: ADMIN_ACCOUNT,
  sessionId: null,
  scope: 'full',
  onlyDir: null,
  endsAt: null,
  uploadRate: null,
  downloadRate: null,
};

/** Who calls, and by which sessions an account may be used. Every request asks the database, so that an end holds on all nodes. */
export class Sessions {
  readonly #metadata: Pick<Metadata, 'sessions'>;
  readonly #ttlMs: number;
  readonly #shares: boolean;
  readonly #systemTokenHash: string;
  readonly #now: () => number;

  constructor(
    metadata: Pick<Metadata, 'sessions'>,
    { sessionTtlMs, shares }: Pick<Config, 'sessionTtlMs' | 'shares'>,
    systemToken: string,
    now = Date.now,
  ) {
    this.#metadata = metadata;
    this.#ttlMs = sessionTtlMs;
    this.#shares = shares;
    this.#systemTokenHash = hashToken(systemToken);
    this.#now = now;
  }

  /**
   * The caller behind an Authorization header, and what else the request asks for. Every request that needs a token comes
   * through here, whichever way, and is refused where its token may not make it: `asked` is what its route asks for.
   */
  async identify<T>(
    header: string | undefined,
    asked: RouteAccess,
    lookUp: Lookup<T>,
  ): Promise<{ caller: Caller; found: T }> {
    const token = bearer(header);
    const tokenHash = hashToken(token);
    if (sameHash(tokenHash, this.#systemTokenHash)) {
      return { caller: { ...SYSTEM, token }, found: await lookUp.admin() };
    }
    const found = await lookUp.session(tokenHash);
    const visitor = found || !asked.visitors || !this.#shares ? undefined : lookUp.visitor;
    const session = (await visitor?.(tokenHash, this.#now())) ?? (await this.#use(tokenHash, found));
    const { username, account_id: accountId, session_id: sessionId } = session;
    const { scope, only_dir: onlyDir, expires_at: endsAt } = session;
    const refusal = whyDenied(asked, { scope, onlyDir });
    if (refusal !== undefined) throw new OutOfScope(refusal);
    const rates = { uploadRate: session.upload_rate, downloadRate: session.download_rate };
    const granted = { token, sessionId, scope, onlyDir, endsAt };
    return { caller: { username, accountId, ...granted, ...rates }, found: session };
  }

  /** The session, if it is one; its use is written down. */
  async #use<S extends SessionRow>(tokenHash: string, session: S | undefined): Promise<S> {
    const use = session && this.#lastUse(session);
    if (!session || use === 'expired') throw ended();
    if (session.disabled_at !== null) throw accountDisabled();
    if (use === 'stale') {
      await this.#metadata.sessions.touch(tokenHash, this.#now()).catch((error: unknown) => {
        // On a full disk files can still be read and deleted; the token only ends earlier.
        if (!isOsError(error)) throw error;
      });
    }
    return session;
  }

  #lastUse({ used_at, expires_at }: Pick<SessionRow, 'used_at' | 'expires_at'>): ReturnType<typeof lastUse> {
    const now = this.#now();
    const use = lastUse(used_at, now, this.#ttlMs);
    if (expires_at === null) return use;
    if (now >= expires_at) return 'expired';
    return use === 'expired' ? 'stale' : use;
  }

  /** A token that may do no more than the one that asks for it. */
  async create(caller: Caller, body: TokenBody): Promise<NewToken> {
    const { username, accountId, endsAt } = caller;
    requireRegistered(username);
    if (endsAt !== null) throw new OutOfScope('this token ends at a time; one that does not makes tokens');
    const device = cleanDevice(body.device);
    if (device === '') throw new RuleError('device is empty');
    const { scope, dir_id: dirId = null } = body;
    if (dirId === 0) throw new RuleError('dir_id: a token is for a directory, or for the whole account');
    if (dirId !== null && !Number.isSafeInteger(dirId)) throw badDirectory();
    const now = this.#now();
    const token = newToken();
    const made = await this.#metadata.sessions.create(
      {
        tokenHash: hashToken(token),
        username,
        accountId,
        device,
        now,
        scope,
        dirId,
        expiresAt: checkExpiry(body.expires_at, now),
      },
      hashToken(caller.token),
      limits.tokens,
    );
    if (made === 'ended') throw ended();
    if (made === 'no directory') throw badDirectory();
    if (made === 'too many') throw new ApiError(409, 'you have too many tokens; end some of them');
    return { id: made.id, token };
  }

  async logout({ username, token }: Caller): Promise<void> {
    if (username !== ADMIN) await this.#metadata.sessions.close(hashToken(token));
  }

  async list({ username, token }: Caller): Promise<ListedSession[]> {
    requireRegistered(username);
    const current = hashToken(token);
    const rows = await this.#metadata.sessions.list(username);
    const alive = rows.filter((row) => this.#lastUse(row) !== 'expired');
    return alive.map(({ token_hash, created_at, used_at, expires_at, ...same }) => ({
      ...same,
      created_at: iso(created_at),
      used_at: iso(used_at),
      current: token_hash === current,
      expires_at: expires_at === null ? null : iso(expires_at),
    }));
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#metadata.sessions.end(username, id, this.#now())))
      throw new ApiError(404, 'you have no such session');
  }

  /** How many there were. */
  endOthers({ username, token }: Caller): Promise<number> {
    requireRegistered(username);
    return this.#metadata.sessions.endOthers(username, hashToken(token), this.#now());
  }
}

/** A session that is about to be opened, and the token that it will be known by. */
export function opening({ device = '' }: { device?: string }): { session: Opening; token: string } {
  const token = newToken();
  return { session: { tokenHash: hashToken(token), device: cleanDevice(device) }, token };
}

/** The administrator is no registered user. */
export function requireRegistered(username: string): void {
  if (username === ADMIN) throw new ApiError(403, 'the administrator has no account');
}

/**
 * The last use is written at most once every sixteenth of the lifetime, or every hour, so that a request does not cost a
 * commit. The stored time may be that much too old, and expiry allows for it.
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

const ended = () => new DetailError(401, 'the token is unknown or has expired; log in again');

const iso = (time: number) => new Date(time).toISOString();

function bearer(header: string | undefined): string {
  if (header === undefined) throw new DetailError(401, 'the Authorization header is missing');
  if (!header.startsWith('Bearer '))
    throw new DetailError(401, 'the Authorization header must start with "Bearer "');
  return header.slice('Bearer '.length);
}
