import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  type MadeFile,
  makeFile,
  PullServer,
  type PullServerOptions,
  putVolume,
  received,
  register,
  type Service,
  sharedUser,
  type User,
  upload,
  useService,
  withService,
} from '../harness/index.ts';

const service = useService();
const TOKEN = 'one-time-pull-token-0123456789';
const pull = (user: User, transferId: string, body: unknown): Promise<Answer> =>
  user.post(pathOf('pull', { transfer_id: transferId }), body);
const status = async (user: User, transferId: string) =>
  (await user.get(pathOf('pullStatus', { transfer_id: transferId }))).json;
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const serve = (file: MadeFile, answer?: PullServerOptions['answer'], host?: string) =>
  new PullServer(file, { ...(answer ? { answer } : {}), ...(host ? { host } : {}) }).listen();

interface Prepared {
  user: User;
  file: MadeFile;
  transferId: string;
}
async function prepared(sizes: number[] = [1000, 0, 200_000], at: Service = service): Promise<Prepared> {
  const user = await sharedUser(at);
  const file = makeFile(sizes);
  return { user, file, transferId: await begin(user, file) };
}

/** A volume that waits until the test lets it go. */
function gate(held: number) {
  const opened = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const answer: PullServerOptions['answer'] = async (request) => {
    if (request.idx !== held) return false;
    reached.resolve();
    await opened.promise;
    return false;
  };
  return { answer, reached: reached.promise, open: () => opened.resolve() };
}

test('the service asks for every volume with the token, records them, and complete follows', async () => {
  const { user, file, transferId } = await prepared([1000, 3_000_000, 1, 70_000]);
  await using server = await serve(file);
  assertOk(await pull(user, transferId, { base_url: server.url, token: TOKEN }), {
    ok: true,
    pulled: 4,
    total: 4,
  });
  assert.deepEqual([...new Set(server.requests.map((request) => request.idx))].sort(), numbers(4));
  for (const request of server.requests) {
    assert.deepEqual([request.transferId, request.token], [transferId, TOKEN]);
  }
  assert.deepEqual(await received(user, transferId), numbers(4));
  assert.deepEqual(await status(user, transferId), { pulled: 4, total: 4 });
  const done = await complete(user, transferId);
  assertOk(done);
  await assertReadable(user, String(done.json['file_id']), file);
  await assertNoLeftovers(service);
});

test('a base_url with a path of its own, or a trailing slash, is used as it is meant', async () => {
  const { user, file, transferId } = await prepared([10]);
  await using server = await serve(file);
  assertOk(await pull(user, transferId, { base_url: `${server.url}/`, token: TOKEN }));
  assert.deepEqual(await received(user, transferId), [1]);
});

test('an empty volume is pulled like any other', async () => {
  const { user, file, transferId } = await prepared([0, 10]);
  await using server = await serve(file);
  assertOk(await pull(user, transferId, { base_url: server.url, token: TOKEN }));
  assert.deepEqual(await received(user, transferId), [1, 2]);
});

test('any caller may pull for a transfer', async () => {
  const { file, transferId } = await prepared([10]);
  const other = await register(service);
  await using server = await serve(file);
  assertOk(await pull(other, transferId, { base_url: server.url, token: TOKEN }), {
    ok: true,
    pulled: 1,
    total: 1,
  });
});

for (const [what, spoil] of [
  ['other bytes', (bytes: Buffer) => Buffer.alloc(bytes.length, 7)],
  ['fewer bytes', (bytes: Buffer) => bytes.subarray(0, -1)],
] as const) {
  test(`a volume with ${what} is skipped; PUT brings it, then complete`, async () => {
    const { user, file, transferId } = await prepared([1000, 2000, 3000]);
    const second = file.volumes[1] as Buffer;
    await using server = await serve(file, ({ idx }, response) => {
      if (idx === 2) response.end(spoil(second));
      return idx === 2;
    });
    const answer = await pull(user, transferId, { base_url: server.url, token: TOKEN });
    assertOk(answer, { ok: true, pulled: 2, total: 3 });
    assert.deepEqual(await received(user, transferId), [1, 3]);
    assert.equal((await complete(user, transferId)).json['status'], 'incomplete');
    assertOk(await putVolume(user, transferId, 2, second), { ok: true });
    assertOk(await complete(user, transferId));
    await assertNoLeftovers(service);
  });
}

for (const [what, body] of [
  ['no base_url', { token: TOKEN }],
  ['no token', { base_url: 'http://127.0.0.1:1' }],
  ['an empty object', {}],
  ['a number as base_url', { base_url: 5, token: TOKEN }],
  ['null as token', { base_url: 'http://127.0.0.1:1', token: null }],
  ['a list as base_url', { base_url: ['http://127.0.0.1:1'], token: TOKEN }],
  ['an empty base_url', { base_url: '', token: TOKEN }],
  ['an empty token', { base_url: 'http://127.0.0.1:1', token: '' }],
  ['a token with a new line', { base_url: 'http://127.0.0.1:1', token: 'a\nb' }],
  ['a token with a return', { base_url: 'http://127.0.0.1:1', token: 'a\r\n out=/tmp/x' }],
  ['an address with a new line', { base_url: 'http://127.0.0.1:1/\nhttp://127.0.0.1:2', token: TOKEN }],
  ['null', null],
  ['a text', 'http://127.0.0.1:1'],
] as const) {
  test(`pull with ${what} is 400`, async () => {
    const { user, transferId } = await prepared();
    assertError(await pull(user, transferId, body), 400);
    assert.deepEqual(await status(user, transferId), { pulled: 0, total: 3 });
  });
}

test('pull without a body or with malformed JSON is 400', async () => {
  const { user, transferId } = await prepared();
  const path = pathOf('pull', { transfer_id: transferId });
  const headers = { 'content-type': 'application/json' };
  assertError(await user.call('POST', path), 400);
  assertError(await user.call('POST', path, { body: '', headers }), 400);
  assertError(await user.call('POST', path, { body: '{"base_url":', headers }), 400);
});

test('pull of an unknown transfer is 404 and asks nobody', async () => {
  const { user, file } = await prepared();
  await using server = await serve(file);
  assertError(await pull(user, 'nosuchtransfer0123456789', { base_url: server.url, token: TOKEN }), 404);
  assert.deepEqual(server.requests, []);
});

for (const base of [
  'ftp://127.0.0.1/x',
  'file:///etc/passwd',
  'http://user:word@127.0.0.1:1',
  'gopher://127.0.0.1:1',
  'not an address',
  'http://',
  '//127.0.0.1:1',
  'http://127.0.0.1:1\tx',
]) {
  test(`pull from ${JSON.stringify(base)} is refused`, async () => {
    const { user, transferId } = await prepared();
    assertError(await pull(user, transferId, { base_url: base, token: TOKEN }), 400, 409);
  });
}

test('a tool that ends with a failure is 409; nothing is recorded, and the next pull goes on', async () => {
  const { user, file, transferId } = await prepared([1000, 2000, 3000]);
  let broken = true;
  const first = { base_url: '', token: TOKEN };
  await using server = await serve(file, ({ idx }, response) => {
    if (idx === 2 && broken) response.writeHead(404).end();
    return idx === 2 && broken;
  });
  first.base_url = server.url;
  assertError(await pull(user, transferId, first), 409);
  assert.deepEqual(await received(user, transferId), []);
  broken = false;
  assertOk(await pull(user, transferId, first));
  assert.deepEqual(await received(user, transferId), [1, 2, 3]);
  assert.deepEqual(await status(user, transferId), { pulled: 3, total: 3 });
});

test('a client nobody listens at is 409', async () => {
  const { user, file, transferId } = await prepared([10]);
  const gone = await serve(file);
  const url = gone.url;
  await gone[Symbol.asyncDispose]();
  assertError(await pull(user, transferId, { base_url: url, token: TOKEN }), 409);
});

test('while a pull runs: progress from every worker, nothing recorded, a second pull is 409', async () => {
  const { user, file, transferId } = await prepared([1000, 2000, 3000, 4000]);
  const held = gate(3);
  await using server = await serve(file, held.answer);
  const body = { base_url: server.url, token: TOKEN };
  const running = pull(user, transferId, body);
  try {
    await held.reached;
    await eventually(async () => assert.deepEqual(await status(user, transferId), { pulled: 3, total: 4 }));
    // Each request has its own connection, so these meet every worker.
    for (let i = 0; i < 6; i++) assert.deepEqual(await status(user, transferId), { pulled: 3, total: 4 });
    assert.deepEqual(await received(user, transferId), [], 'recorded only after the whole pull ends');
    for (let i = 0; i < 4; i++) assertError(await pull(user, transferId, body), 409);
    assert.equal((await complete(user, transferId)).status, 409);
  } finally {
    held.open();
  }
  assertOk(await running, { ok: true, pulled: 4, total: 4 });
  assert.deepEqual(await received(user, transferId), numbers(4));
});

test('a client that hangs up does not end its pull', async () => {
  const { user, file, transferId } = await prepared([1000, 2000]);
  const held = gate(2);
  await using server = await serve(file, held.answer);
  const stop = new AbortController();
  const running = user.call('POST', pathOf('pull', { transfer_id: transferId }), {
    json: { base_url: server.url, token: TOKEN },
    signal: stop.signal,
  });
  await held.reached;
  stop.abort();
  await assert.rejects(running, { name: 'AbortError' });
  held.open();
  await eventually(async () => assert.deepEqual(await received(user, transferId), [1, 2]));
  assertOk(await complete(user, transferId));
});

test('pull on a done transfer is 409', async () => {
  const user = await register(service);
  const { transferId, file } = await upload(user);
  await using server = await serve(file);
  assertError(await pull(user, transferId, { base_url: server.url, token: TOKEN }), 409);
  assert.deepEqual(server.requests, []);
});

test('cancel during a pull ends it and leaves nothing', async () => {
  const { user, file, transferId } = await prepared([1000, 2000]);
  const held = gate(2);
  await using server = await serve(file, held.answer);
  const running = pull(user, transferId, { base_url: server.url, token: TOKEN });
  await held.reached;
  const cancelled = await user.delete(pathOf('cancel', { transfer_id: transferId }));
  held.open();
  const answer = await running;
  assertOk(cancelled, { ok: true });
  assertError(answer, 404, 409);
  assertError(await user.get(pathOf('received', { transfer_id: transferId })), 404);
});

describe('addresses', () => {
  test("an address that is not the caller's own is 409 and is never reached", async () => {
    const { user, file, transferId } = await prepared([10]);
    await using foreign = await serve(file, undefined, '127.0.0.2');
    assertError(await pull(user, transferId, { base_url: foreign.url, token: TOKEN }), 409);
    assert.deepEqual(foreign.requests, []);
  });

  test('a redirect to a foreign address is 409 and is never followed', async () => {
    const { user, file, transferId } = await prepared([10]);
    await using foreign = await serve(file, undefined, '127.0.0.2');
    await using server = await serve(file, ({ idx }, response) => {
      response.writeHead(302, { location: `${foreign.url}/pull/${transferId}/${idx}?token=${TOKEN}` }).end();
      return true;
    });
    assertError(await pull(user, transferId, { base_url: server.url, token: TOKEN }), 409);
    assert.ok(server.requests.length > 0);
    assert.deepEqual(foreign.requests, []);
    assert.deepEqual(await received(user, transferId), []);
  });
});

describe('other settings', { concurrency: 2 }, () => {
  test('SZ_PULL_ALLOW opens an address, for redirects too', async () => {
    await withService({ env: { SZ_PULL_ALLOW: '127.0.0.2/32' } }, async (own) => {
      const { user, file, transferId } = await prepared([10, 20], own);
      await using foreign = await serve(file, undefined, '127.0.0.2');
      await using server = await serve(file, ({ idx }, response) => {
        response
          .writeHead(302, { location: `${foreign.url}/pull/${transferId}/${idx}?token=${TOKEN}` })
          .end();
        return true;
      });
      assertOk(await pull(user, transferId, { base_url: server.url, token: TOKEN }), {
        ok: true,
        pulled: 2,
        total: 2,
      });
      await using third = await serve(file, undefined, '127.0.0.3');
      const next = await begin(user, file);
      assertError(await pull(user, next, { base_url: third.url, token: TOKEN }), 409);
    });
  });

  test('the missing tool is 409, one that cannot start is 500, one that fails is 409', async () => {
    await using stack = new AsyncDisposableStack();
    // The whole PATH of the service, with a tool of our own making in it, or none.
    const folder = await mkdtemp(join(tmpdir(), 'szafa-path-'));
    stack.defer(() => rm(folder, { recursive: true }));
    await withService({ env: { PATH: folder } }, async (own) => {
      const { user, file, transferId } = await prepared([10], own);
      await using server = await serve(file);
      for (const [script, status] of [
        [undefined, 409],
        ['#!/no/such/interpreter\n', 500],
        ['#!/bin/sh\nexit 7\n', 409],
      ] as const) {
        if (script) await writeFile(join(folder, 'aria2c'), script, { mode: 0o755 });
        assertError(await pull(user, transferId, { base_url: server.url, token: TOKEN }), status);
      }
      assert.deepEqual(server.requests, []);
      assert.deepEqual(await received(user, transferId), []);
      // The transfer took no harm: volumes can still be pushed.
      assertOk(await putVolume(user, transferId, 1, file.volumes[0] as Buffer));
      assertOk(await complete(user, transferId));
    });
  });
});
