import type { TSchema } from 'typebox';
import type { Access, RouteAccess } from './access.ts';
import { limits } from './limits.ts';
import { DetailBody, DetailOrError, ErrorBody } from './schemas.ts';

type Tag =
  | 'Accounts'
  | 'Quota'
  | 'Directories'
  | 'Files'
  | 'Transfers'
  | 'Shares'
  | 'Requests'
  | 'Service'
  | 'Operator';
type Path = `/${string}`;

/**
 * An endpoint. The server validates requests by it, the client calls it, and the OpenAPI document describes it. Path parameters are
 * written as `{name}`.
 */
export interface Route extends RouteAccess {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  path: Path;
  summary: string;
  tag: Tag;
  /** The route changes files, directories or accounts, so it is refused (503) while the server is read-only. */
  changes?: boolean;
  body?: TSchema;
  /** Overrides the default limit of the body length, see `bodyLimitOf`. */
  bodyBytes?: number;
  /** The body can be absent. */
  optionalBody?: true;
  /** The handler checks the body, because only the handler knows which schema applies. */
  checkedLater?: true;
  /** The body is raw bytes: a volume, or as the string describes. `bodyBytes` limits its length. */
  rawBody?: true | string;
  headers?: TSchema;
  query?: TSchema;
  /** JSON bodies by status; a string describes a response that is not JSON. */
  responses: Readonly<Record<number, TSchema | string>>;
}

/** A route in the table of its tag. Any route other than GET or HEAD must say whether it changes something. */
type TableEntry = Omit<Route, 'method' | 'path' | 'tag' | 'access' | 'changes'> & { access?: Access } & (
    | { at: `${'GET' | 'HEAD'} ${Path}`; changes?: never }
    | { at: `${'POST' | 'PUT' | 'DELETE'} ${Path}`; changes: boolean }
  );
type Endpoint<At> = At extends `${infer Method extends Route['method']} ${infer P extends Path}`
  ? { method: Method; path: P }
  : never;
type Entry<E extends TableEntry> = Omit<E, 'at' | 'access'> & Endpoint<E['at']> & RouteAccess & { tag: Tag };

/** Builds routes from entries with method and path in one string, as in `GET /api/files`. `access` is the default of the entries. */
export function routeTable<const Table extends Record<string, TableEntry>>(
  tag: Tag,
  access: Access,
  table: Table,
): { readonly [Name in keyof Table]: Entry<Table[Name]> } {
  const routes = Object.entries(table).map(([name, { at, ...route }]) => {
    const [method, path] = at.split(' ');
    return [name, { tag, access, ...route, method, path }];
  });
  return Object.fromEntries(routes);
}

/** Returns the answers of a route including those of authentication. A disabled account gets 403 as well. */
export function answersOf({ access, responses }: Route): Route['responses'] {
  if (access === 'open') return responses;
  const { 403: refused = ErrorBody } = responses;
  return { ...responses, 401: DetailBody, 403: refused === DetailBody ? DetailOrError : refused };
}

/** Limit of a body that is read into memory as a whole. */
export const bodyLimitOf = ({ access, bodyBytes }: Route) =>
  bodyBytes ?? (access === 'open' ? limits.openBodyBytes : limits.jsonBodyBytes);
