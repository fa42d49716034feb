import { RuleError } from './names.ts';

/**
 * Rights of a token. `read` can change nothing. `append` can upload, but not read, remove, move or copy; it is meant for backups from
 * machines that may be compromised. `full` has all rights, like a login.
 */
export const scopes = ['full', 'read', 'append'] as const;
export type Scope = (typeof scopes)[number];

/** Who may use a route: anyone, any token, tokens that read, tokens that upload, only full tokens, or only the system token. */
export type Access = 'open' | 'any' | 'read' | 'append' | 'full' | 'system';

/**
 * What a request refers to, so that a token for one directory can be checked against it: a file, files in the body, a transfer, one or
 * more target directories, or a list, which is filtered by directory. `own`: a token that is not full may use only files and transfers
 * that it has created itself.
 */
export type ScopeCheck =
  | 'file'
  | 'own file'
  | 'files'
  | 'transfer'
  | 'own transfer'
  | 'target'
  | 'targets'
  | 'list';

/** Rights that a route requires of a token. */
export interface RouteAccess {
  access: Access;
  /** Checks for tokens that are limited to one directory. If absent, such tokens cannot use the route. */
  folder?: readonly ScopeCheck[];
  /** A visitor's upload token can use the route, for its own transfer. */
  visitors?: true;
}

/** Rights that a token grants. */
export interface TokenGrant {
  /** `upload` is the token of a visitor, for one upload. */
  scope: Scope | 'upload';
  /** The only directory that the token can use; null for the whole account. */
  onlyDir: number | null;
}

const ALLOWED: Record<Exclude<Access, 'open' | 'system'>, readonly Scope[]> = {
  any: scopes,
  read: ['full', 'read'],
  append: ['full', 'append'],
  full: ['full'],
};

/** Returns the reason why a token cannot use a route; undefined if it can. */
export function whyDenied(
  { access, folder, visitors }: RouteAccess,
  { scope, onlyDir }: TokenGrant,
): string | undefined {
  if (access === 'open') return undefined;
  if (access === 'system') return 'this needs the system token';
  if (scope === 'upload') return visitors ? undefined : 'this token is only for one upload';
  const allowed = ALLOWED[access];
  if (!allowed.includes(scope)) {
    return `this token has the scope ${scope}; this needs a token with the scope ${allowed.join(' or ')}`;
  }
  if (onlyDir !== null && !folder)
    return 'this token is for one directory; this needs one for the whole account';
  return undefined;
}

/** Whether the token has fewer rights than its account. */
export const isRestricted = ({ scope, onlyDir }: TokenGrant) => scope !== 'full' || onlyDir !== null;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;

/** Parses an expiry into milliseconds since 1970. Returns null if none was given. */
export function checkExpiry(text: string | null | undefined, now: number): number | null {
  if (text === undefined || text === null) return null;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new RuleError('expires_at: not a time in UTC, such as 2030-01-31T12:00:00Z');
  if (time <= now) throw new RuleError('expires_at: this time has passed');
  return time;
}
