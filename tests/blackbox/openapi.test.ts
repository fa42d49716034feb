import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersOf, type Route, routes } from '@szafa/protocol';
import {
  type Answer,
  assertDetail,
  assertError,
  assertOk,
  sharedUser,
  useService,
} from '../harness/index.ts';

const service = useService();

interface Operation {
  operationId?: string;
  security?: unknown[];
  parameters?: { name: string; in: string; required?: boolean; schema?: unknown }[];
  requestBody?: { content: Record<string, { schema?: unknown }> };
  responses: Record<string, { description?: unknown; content?: Record<string, { schema?: unknown }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
}
/** As HEAD is answered. */
function assertHeadersOnly({ status, body }: Answer, expected: number): void {
  assert.deepEqual([status, body.length], [expected, 0]);
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

async function document(): Promise<Document> {
  const answer = await service.call({ path: '/openapi.json' });
  assertOk(answer);
  assert.match(String(answer.headers['content-type']), /^application\/(json|vnd\.oai\.openapi\+json)/);
  return answer.json as unknown as Document;
}

function operations(found: Document): [string, Operation][] {
  return Object.entries(found.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation]),
  );
}

test('healthz and readyz answer without a token', async () => {
  assertOk(await service.call({ path: '/healthz' }), { ok: true });
  assertOk(await service.call({ path: '/readyz' }), { ok: true });
});

test('docs is a page that names every path', async () => {
  const answer = await service.call({ path: '/docs' });
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^text\/html\b/);
  for (const route of Object.values(routes)) assert.ok(answer.text.includes(route.path), route.path);
});

test('the examples of docs are requests that the service understands', async () => {
  const { text } = await service.call({ path: '/docs' });
  const { token } = await sharedUser(service);
  const withBody = Object.entries<Route>(routes).filter(([, { body }]) => body);
  for (const [name, { method, path }] of withBody) {
    const example = new RegExp(`<section id="${name}">.*?<pre[^>]*>curl .*? -d '(.*?)'</pre>`, 's').exec(
      text,
    );
    const body = example![1]!.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
    const [, condition, tag] = /-H &#34;(If-\S+): (\S+)&#34;/.exec(example![0]) ?? [];
    const headers: Record<string, string> = condition ? { [condition]: tag!.replace('$etag', '*') } : {};
    const call = { method, path: path.replace(/\{\w+\}/g, 'nosuch'), token, body, headers };
    const answer = await service.call(call);
    // A wrong password, a taken name, an unknown id: all but "the request is wrong".
    assert.ok(
      [200, 401, 403, 404, 409, 412].includes(answer.status),
      `${name}: ${answer.status} ${answer.text}`,
    );
  }
});

test('openapi.json is OpenAPI 3: version, info, responses, parameters', async () => {
  const found = await document();
  assert.match(found.openapi, /^3\.[01]\.\d+$/);
  assert.ok(found.info.title && found.info.version);
  for (const [what, operation] of operations(found)) {
    assert.ok(Object.keys(operation.responses).length > 0, what);
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.match(status, /^([1-5]\d\d|[1-5]XX|default)$/, what);
      assert.equal(typeof response.description, 'string', `${what} ${status}`);
    }
    const inPath = [...what.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    assert.deepEqual(declared.map((parameter) => parameter.name).sort(), inPath.sort(), what);
    assert.ok(
      declared.every((parameter) => parameter.required === true && parameter.schema !== undefined),
      what,
    );
  }
  const ids = operations(found).map(([, operation]) => operation.operationId);
  assert.deepEqual(ids.toSorted(), Object.keys(routes).toSorted(), 'every route has its name');
});

test('every reference in openapi.json leads somewhere', async () => {
  const found = await document();
  const references: string[] = [];
  JSON.stringify(found, (key, value: unknown) => {
    if (key === '$ref') references.push(String(value));
    return value;
  });
  for (const reference of references) {
    assert.match(reference, /^#\//);
    const end = reference
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (at, key) =>
          (at as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
        found,
      );
    assert.equal(typeof end, 'object', reference);
  }
});

test('openapi.json lists every route with its statuses, body and token', async () => {
  const found = await document();
  for (const route of Object.values(routes) as Route[]) {
    const what = `${route.method} ${route.path}`;
    const operation = found.paths[route.path]?.[route.method.toLowerCase()];
    assert.ok(operation, what);
    for (const status of Object.keys(answersOf(route)))
      assert.ok(operation.responses[status], `${what} ${status}`);
    assert.equal(
      operation.responses['401'] !== undefined,
      answersOf(route)[401] !== undefined,
      `401 of ${what}`,
    );
    assert.equal(
      operation.requestBody !== undefined,
      Boolean(route.body || route.rawBody),
      `body of ${what}`,
    );
    if (route.access === 'open') assert.ok((operation.security?.length ?? 0) === 0, `${what} needs no token`);
  }
});

test('openapi.json shows no route that is not in the protocol', async () => {
  const known = Object.values(routes).map((route) => `${route.method} ${route.path}`);
  const shown = operations(await document()).map(([what]) => what);
  assert.deepEqual(
    shown.filter((what) => !known.includes(what)),
    [],
  );
});

for (const [name, route] of Object.entries(routes) as [string, Route][]) {
  const path = route.path.replace(/\{\w+\}/g, '1');
  if (route.access !== 'open') {
    test(`${name} without a token is 401 {detail}, whatever else is wrong`, async () => {
      const { method } = route;
      const refused = method === 'HEAD' ? assertHeadersOnly : assertDetail;
      refused(await service.call({ method, path }), 401);
      const headers = { 'content-type': 'application/json' };
      refused(await service.call({ method, path, body: '{', headers }), 401);
      refused(await service.call({ method, path, token: 'nosuchtoken01234567' }), 401);
    });
  }
  test(`${route.path} by another method is 4xx {error}`, async () => {
    const { token } = await sharedUser(service);
    const others = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter((method) => {
      const known = (Object.values(routes) as Route[]).some(
        (other) => other.method === method && other.path === route.path,
      );
      // A path like /api/transfer/init is also one of another route with a parameter.
      const taken = (Object.values(routes) as Route[]).some(
        (other) =>
          other.method === method && new RegExp(`^${other.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
      );
      return !known && !taken;
    });
    for (const method of others) assertError(await service.call({ method, path, token }), 404, 405);
  });
}

for (const path of [
  '/api',
  '/api/',
  '/api/nothing',
  '/api/files/',
  '/api/files/x/y/z',
  '/api/auth/me/more',
  '/API/AUTH/ME',
  '/api/transfer',
  '/index.html',
  '/.env',
  '/healthz/x',
]) {
  test(`${path} is 404 {error}, with a token or without`, async () => {
    const { token } = await sharedUser(service);
    assertError(await service.call({ path, token }), 404);
    assertError(await service.call({ path }), 404);
    assertError(await service.call({ method: 'POST', path, token, json: {} }), 404);
  });
}
