import assert from 'node:assert/strict';
import { answersOf, headers, type Route, routes } from '@szafa/protocol';
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import type { Answer, Call } from './http.ts';

interface OpenApiOperation {
  responses?: Record<string, unknown>;
}
export interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, OpenApiOperation>>;
}

const matchers = Object.values(routes).map((route: Route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

export function routeOf(method: string, path: string): Route | undefined {
  const bare = path.split('?')[0] ?? '';
  return matchers.find(({ route, pattern }) => route.method === method && pattern.test(bare))?.route;
}

/** Request fields with secrets, which must not appear in logs or error messages. */
const SENT = [
  ...['token', 'password', 'current', 'next', 'secret', 'recovery', 'invite', 'ticket', 'base_url'],
] as const;

/**
 * Observes all requests to a service. Checks each answer against the published schema and the error rules, and collects the secrets that
 * must not be logged and the statuses that the OpenAPI document must list.
 */
export class Witness {
  readonly #secrets = new Set<string>();
  readonly #requestIds = new Set<string>();
  readonly #pairs = new Map<string, { route: Route; status: number }>();

  keepSecret(value: unknown): void {
    // Shorter texts could appear in a log by chance.
    if (typeof value === 'string' && value.length >= 12) this.#secrets.add(value);
  }

  /** Asserts that an error does not repeat a secret from the request: errors are shown to users and logged. */
  #checkEcho(call: Call, answer: Answer, what: string): void {
    if (answer.status < 400 || typeof call.json !== 'object' || call.json === null) return;
    const sent = call.json as Record<string, unknown>;
    for (const key of SENT) {
      const value = sent[key];
      if (typeof value === 'string' && /^\S{12,}$/.test(value)) assert.ok(!answer.text.includes(value), what);
    }
  }

  note(call: Call, answer: Answer): void {
    const method = call.method ?? 'GET';
    const route = routeOf(method, call.path);
    this.#noteSecrets(call, answer);
    this.#noteRequestId(answer);
    const what = `${method} ${call.path.slice(0, 200)} answered ${answer.status} ${answer.excerpt}`;
    if (route)
      this.#pairs.set(`${route.method} ${route.path} ${answer.status}`, { route, status: answer.status });
    if (method === 'HEAD') {
      assert.equal(answer.body.length, 0, what);
    } else if (answer.status >= 400) {
      checkErrorShape(route, answer, what);
      this.#checkEcho(call, answer, what);
    }
    const schema: TSchema | string | undefined = route && answersOf(route)[answer.status];
    if (method !== 'HEAD' && schema !== undefined && typeof schema !== 'string') {
      assert.match(String(answer.headers['content-type']), /^application\/json\b/, what);
      assert.ok(Schema.Check(schema, answer.json), `${what}: not the published schema`);
      assert.deepEqual(unpublished(schema, answer.json), [], `${what}: more than the published schema`);
    }
  }

  /** Asserts that every answer, even a refusal, has a unique X-Request-Id. */
  #noteRequestId({ headers, excerpt }: Answer): void {
    const id = headers['x-request-id'];
    assert.ok(typeof id === 'string' && /^[\w.-]{1,64}$/.test(id), `X-Request-Id is ${id}: ${excerpt}`);
    assert.ok(!this.#requestIds.has(id), `X-Request-Id ${id} a second time`);
    this.#requestIds.add(id);
  }

  #noteSecrets(call: Call, answer: Answer): void {
    this.keepSecret(call.token);
    if (typeof call.json === 'object' && call.json !== null) {
      const sent = call.json as Record<string, unknown>;
      for (const key of SENT) this.keepSecret(sent[key]);
    }
    for (const name of [headers.shareAccess, headers.shareTicket])
      this.keepSecret(call.headers?.[name] ?? call.headers?.[name.toLowerCase()]);
    if (answer.status === 200 && String(answer.headers['content-type']).startsWith('application/json')) {
      for (const key of ['token', 'transfer_id', 'invite']) this.keepSecret(answer.json[key]);
    }
  }

  /** Specification: "without tokens, pull addresses or whole transfer ids". Also without passwords. */
  checkLogs(log: string): void {
    for (const secret of this.#secrets) {
      const at = log.indexOf(secret);
      assert.equal(at, -1, `the log tells a secret: …${log.slice(Math.max(0, at - 200), at + 120)}…`);
    }
  }

  /** Asserts that the OpenAPI document lists every observed status. */
  checkOpenApi(document: OpenApi): void {
    const missing: string[] = [];
    for (const { route, status } of this.#pairs.values()) {
      const listed = document.paths[route.path]?.[route.method.toLowerCase()]?.responses;
      if (!listed?.[status]) missing.push(`${route.method} ${route.path} ${status}`);
    }
    assert.deepEqual(missing.sort(), [], 'answers that openapi.json does not list');
  }
}

/** Returns the members of a value that its schema does not list. */
function unpublished(schema: TSchema, value: unknown): string[] {
  const { properties, items, anyOf } = schema as {
    properties?: Record<string, TSchema>;
    items?: TSchema;
    anyOf?: TSchema[];
  };
  if (anyOf) return unpublished(anyOf.find((one) => Schema.Check(one, value)) ?? {}, value);
  if (Array.isArray(value)) return items ? value.flatMap((one) => unpublished(items, one)) : [];
  if (typeof value !== 'object' || value === null || !properties) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    properties[name] ? unpublished(properties[name], part) : [name],
  );
}

/** Routes whose errors may also have `factors` and `passkey`. */
const FACTOR_ASKED = new Set<Route | undefined>([routes.login, routes.setTotp, routes.removeTotp]);

/** Specification: "Most errors are {error}"; the authentication check and the file ownership check use {detail}. */
function checkErrorShape(route: Route | undefined, answer: Answer, what: string): void {
  assert.match(String(answer.headers['content-type']), /^application\/json\b/, what);
  const body = answer.json;
  const key = 'detail' in body ? 'detail' : 'error';
  assert.equal(typeof body[key], 'string', what);
  assert.notEqual(body[key], '', what);
  const extra = Object.keys(body).filter((name) => name !== key && name !== 'factors' && name !== 'passkey');
  if ('factors' in body || 'passkey' in body) assert.ok(FACTOR_ASKED.has(route), what);
  const mayHaveMore =
    (route === routes.complete && answer.status === 409) ||
    (route === routes.renameFiles && answer.status === 412) ||
    ((route === routes.trashFiles || route === routes.restoreFiles) && answer.status === 404) ||
    (route === routes.createShare && answer.status === 404) ||
    (route === routes.beginUpload && answer.status === 409) ||
    answer.status === 410;
  if (!mayHaveMore) assert.deepEqual(extra, [], what);
  const ofFile = route?.path.startsWith('/api/files/') ?? false;
  if (answer.status === 401) assert.equal(key, route?.access === 'open' ? 'error' : 'detail', what);
  else if (answer.status !== 403 || !ofFile) assert.equal(key, 'error', what);
}
