import type { TSchema } from 'typebox';

/**
 * Every endpoint: what the server validates and registers, what the client calls, and what the OpenAPI
 * document shows. Paths use `{name}` for their parameters.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  summary: string;
  tag: 'Accounts' | 'Quota' | 'Directories' | 'Files' | 'Transfers' | 'Service' | 'Operator';
  /** Works without a bearer token. */
  open?: true;
  /** Only for the system token; 403 for all others. */
  operator?: true;
  /** It changes files, directories or accounts: 503 while the server is read-only. Whoever adds a route that is no GET decides. */
  changes?: boolean;
  body?: TSchema;
  /** Where it may be longer than others. */
  bodyBytes?: number;
  /** The body may be left out. */
  optionalBody?: true;
  /** Whether the body is read, and so by which schema, only shows later: its handler checks it. */
  checkedLater?: true;
  /** The body is raw bytes. */
  rawBody?: true;
  /** Headers that matter to it. */
  headers?: TSchema;
  query?: TSchema;
  /** JSON bodies by status; a string describes a response that is not JSON. */
  responses: Record<number, TSchema | string>;
}

/** A route as it is written down. */
export type DeclaredRoute = Route & ({ method: 'GET' | 'HEAD' } | { changes: boolean });
