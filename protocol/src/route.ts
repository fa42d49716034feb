import type { TSchema } from 'typebox';
import type { RouteAccess } from './access.ts';
import { limits } from './limits.ts';
import { DetailBody, ErrorBody } from './resources.ts';
import { Type } from './type.ts';

/**
 * Every endpoint: what the server validates and registers, what the client calls, and what the OpenAPI
 * document shows. Paths use `{name}` for their parameters.
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
  /** It changes files, directories or accounts: 503 while the server is read-only. Whoever adds a route that is no GET decides. */
  changes?: boolean;
  body?: TSchema;
  /** Where it may be longer than others. */
  bodyBytes?: number;
  /** The body may be left out. */
  optionalBody?: true;
  /** Whether the body is read, and so by which schema, only shows later: its handler checks it. */
  checkedLater?: true;
  /** The body is raw bytes: a volume of any length, or with `bodyBytes` no more than those; a text says what else. */
  rawBody?: true | string;
  /** Headers that matter to it. */
  headers?: TSchema;
  query?: TSchema;
  /** JSON bodies by status; a string describes a response that is not JSON. */
  responses: Record<number, TSchema | string>;
}

/** A route as it is written down. */
export type DeclaredRoute = Route & ({ method: 'GET' | 'HEAD' } | { changes: boolean });

/** The answers of a route, with those that the check of its token gives: 403 also of an account that is disabled. */
export function answersOf({ access, responses }: Route): Route['responses'] {
  if (access === 'open') return responses;
  const { 403: refused = ErrorBody } = responses;
  const either = refused === DetailBody ? Type.Union([DetailBody, ErrorBody]) : refused;
  return { ...responses, 401: DetailBody, 403: either };
}

/** Bytes that a body may have which is read as a whole. */
export const bodyLimitOf = ({ access, bodyBytes }: Route) =>
  bodyBytes ?? (access === 'open' ? limits.openBodyBytes : limits.jsonBodyBytes);
