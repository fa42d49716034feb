import { RuleError } from './names.ts';

/**
 * What a token may do. `read` uploads and changes nothing. `append` uploads, but removes, moves, copies and reads nothing: it is for
 * the backup of a machine that may be taken over. `full` is what a login gives.
 */
export const scopes = ['full', 'read', 'append'] as const;
export type Scope = (typeof scopes)[number];

/** Who may use a route: everybody, every token, those that read, those that upload, those with the scope full, the system token. */
export type Access = 'open' | 'any' | 'read' | 'append' | 'full' | 'system';

/**
 * What of a directory a request names: a file, or several in its body, a transfer, one of either that only whoever made it may use (unless
 * its token is full), the directory where something goes, or those of several things, or a list, of which a part is shown.
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

/** What a route asks of a token. */
export interface RouteAccess {
  access: Access;
  /**
   * Tokens for one directory may use it, and every thing of this kind that a request names must be in there. Without this
   * they may not.
   */
  folder?: readonly ScopeCheck[];
  /** The token of a visitor's upload may use it, for its own transfer. Elsewhere there is no such token. */
  visitors?: true;
}

/** What a token says of itself. */
export interface TokenGrant {
  /** `upload`: that of a visitor, who does one upload with it. */
  scope: Scope | 'upload';
  /** The one directory that it is for; null: the whole account. */
  onlyDir: number | null;
}

const ALLOWED: Record<Exclude<Access, 'open' | 'system'>, readonly Scope[]> = {
  any: scopes,
  read: ['full', 'read'],
  append: ['full', 'append'],
  full: ['full'],
};

/** Why a token may not use a route, whatever the request names; undefined where it may. */
export function whyDenied(
  { access, folder, visitors }: RouteAccess,
  { scope, onlyDir }: TokenGrant,
): string | undefined {
  if (access === 'open') return undefined;
  if (access === 'system') return 'this needs the system token';
  if (scope === 'upload') return visitors ? undefined : 'this token is for one upload, and nothing else';
  const allowed = ALLOWED[access];
  if (!allowed.includes(scope)) {
    return `this token has the scope ${scope}; this needs a token with the scope ${allowed.join(' or ')}`;
  }
  if (onlyDir !== null && !folder)
    return 'this token is for one directory; this needs one for the whole account';
  return undefined;
}

/** Whether there is anything of its account that it may not do. */
export const isRestricted = ({ scope, onlyDir }: TokenGrant) => scope !== 'full' || onlyDir !== null;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z$/;

/** When a token ends, in milliseconds since 1970; null: when it was not used for long, as a session. */
export function checkExpiry(text: string | null | undefined, now: number): number | null {
  if (text === undefined || text === null) return null;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new RuleError('expires_at: not a time in UTC, as 2030-01-31T12:00:00Z');
  if (time <= now) throw new RuleError('expires_at: this time is over');
  return time;
}
