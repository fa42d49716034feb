import { RuleError } from './names.ts';

/**
 * What a token allows. `read` changes nothing. `append` uploads, but cannot read, remove, move or copy: it is for backups of
 * machines that may be compromised. `full` is what a login gives.
 */
export const scopes = ['full', 'read', 'append'] as const;
export type Scope = (typeof scopes)[number];

/** Who may use a route: everybody, any token, tokens that read, tokens that upload, only full tokens, or the system token. */
export type Access = 'open' | 'any' | 'read' | 'append' | 'full' | 'system';

/**
 * What a request names that a token for one directory is checked against: a file, files in the body, a transfer, the directory
 * that something goes into (or several), or a list, which is cut to its directory. `own`: tokens that are not full may use
 * only what they have created themselves.
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

/** What a route requires of a token. */
export interface RouteAccess {
  access: Access;
  /** Tokens for one directory may use the route, with these checks. Without it they may not. */
  folder?: readonly ScopeCheck[];
  /** The token of a visitor's upload may use the route for its own transfer. */
  visitors?: true;
}

/** What a token allows. */
export interface TokenGrant {
  /** `upload`: the token of a visitor, for one upload. */
  scope: Scope | 'upload';
  /** The only directory it may use; null: the whole account. */
  onlyDir: number | null;
}

const ALLOWED: Record<Exclude<Access, 'open' | 'system'>, readonly Scope[]> = {
  any: scopes,
  read: ['full', 'read'],
  append: ['full', 'append'],
  full: ['full'],
};

/** Why a token may not use a route at all; undefined if it may. */
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

/** Parses an expiry into milliseconds since 1970; null: none was given. */
export function checkExpiry(text: string | null | undefined, now: number): number | null {
  if (text === undefined || text === null) return null;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new RuleError('expires_at: not a time in UTC, such as 2030-01-31T12:00:00Z');
  if (time <= now) throw new RuleError('expires_at: this time has passed');
  return time;
}
