import type { TSchema } from 'typebox';
import type { RouteAccess } from './access.ts';
import { limits } from './limits.ts';
import { DetailBody, ErrorBody } from './resources.ts';
import { Type } from './type.ts';

/**
 * An endpoint. The server validates and registers it, the client calls it, and the OpenAPI document shows it. Paths use
 * `{name}` for their parameters.
 */
export interface Route extends RouteAccess {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  path: `/${string}`;
  summary: string;
  tag:
    | 'Accounts'
    | 'Quota'
    | 'Directories'
    | 'Files'
    | 'Transfers'
    | 'Shares'
    | 'Requests'
    | 'Service'
    | 'Operator';
  /** It changes files, directories or accounts, and is refused (503) while the server is read-only. */
  changes?: boolean;
  body?: TSchema;
  /** The longest body, if not the usual limit applies. */
  bodyBytes?: number;
  /** The body may be absent. */
  optionalBody?: true;
  /** The handler checks the body, because only the handler knows which schema applies. */
  checkedLater?: true;
  /** The body is raw bytes: a volume, or what the text says. `bodyBytes` limits it. */
  rawBody?: true | string;
  headers?: TSchema;
  query?: TSchema;
  /** JSON bodies by status; a string describes a response that is not JSON. */
  responses: Record<number, TSchema | string>;
}

/** A route as declared: one that is not a GET must say whether it changes something. */
export type DeclaredRoute = Route & ({ method: 'GET' | 'HEAD' } | { changes: boolean });

/** The answers of a route, including those of authentication; 403 is also the answer for a disabled account. */
export function answersOf({ access, responses }: Route): Route['responses'] {
  if (access === 'open') return responses;
  const { 403: refused = ErrorBody } = responses;
  const either = refused === DetailBody ? Type.Union([DetailBody, ErrorBody]) : refused;
  return { ...responses, 401: DetailBody, 403: either };
}

/** The longest body of a route that reads it as a whole. */
export const bodyLimitOf = ({ access, bodyBytes }: Route) =>
  bodyBytes ?? (access === 'open' ? limits.openBodyBytes : limits.jsonBodyBytes);
