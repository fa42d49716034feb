import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limits, pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  makeFile,
  PullServer,
  putVolume,
  received,
  sharedUser,
  type User,
  useService,
  withService,
} from '../harness/index.ts';

/** What the rules for pull say, sentence by sentence, as the client's server sees it. */
const service = useService();
const TOKEN = 'one-time-pull-token-0123456789';
const MIB = 1024 * 1024;
const PEM = fileURLToPath(new URL('../../server/test/pull/tls.pem', import.meta.url));
const pull = (user: User, transferId: string, base: string, token = TOKEN): Promise<Answer> =>
  user.post(pathOf('pull', { transfer_id: transferId }), { base_url: base, token });

test('the token is any text that ends no line, and arrives as it was given', async () => {
  const user = await sharedUser(service);
  for (const token of [
    'a token with blanks',
    ' around ',
    '\ttab',
    '+ is no blank',
    '100%25 &token=other#x?y=/\\"\'<>',
    'żółw 🔑 \u2028\u0085\u007f',
    'x'.repeat(2048),
  ]) {
    const file = makeFile([10]);
    const transferId = await begin(user, file);
    await using server = await new PullServer(file).listen();
    assertOk(await pull(user, transferId, server.url, token), { ok: true, pulled: 1, total: 1 });
    assert.deepEqual(
      server.requests.map((request) => request.token),
      [token],
    );
  }
  const transferId = await begin(user, makeFile([10]));
  for (const token of ['a\nb', 'a\rb', '\n', 'a\0b', '\ud800', '']) {
    assertError(await pull(user, transferId, 'http://127.0.0.1:1', token), 400);
  }
});

test('a pull that fails by the fault of the client is one line of the log, which does not say from where it was', async () => {
  const user = await sharedUser(service);
  const transferId = await begin(user, makeFile(Array.from({ length: 20 }, () => 10)));
  const host = `${randomUUID()}.invalid`;
  const answer = await pull(user, transferId, `http://${host}`);
  assertError(answer, 409);
  const id = answer.headers['x-request-id'];
  const lines = () => service.log.split('\n').filter((line) => line.includes(`"reqId":"${id}"`));
  await eventually(async () => assert.ok(lines().some((line) => line.includes('"status":409,"ms"'))));
  assert.equal(lines().length, 1, lines().join('\n'));
  assert.ok(!service.log.includes(host));
});

test('the bearer token is never sent to the server of the client', async () => {
  const user = await sharedUser(service);
  const file = makeFile([1000, 3 * MIB]);
  const transferId = await begin(user, file);
  await using elsewhere = await new PullServer(file).listen();
  await using server = await new PullServer(file, {
    answer: ({ idx, url }, response) => {
      if (idx === 1) response.writeHead(302, { location: `${elsewhere.url}${url}` }).end();
      return idx === 1;
    },
  }).listen();
  assertOk(await pull(user, transferId, server.url));
  const requests = [...server.requests, ...elsewhere.requests];
  assert.ok(elsewhere.requests.length > 0);
  for (const { url, headers } of requests) {
    for (const name of ['authorization', 'proxy-authorization', 'cookie'])
      assert.equal(headers[name], undefined);
    assert.ok(!JSON.stringify([url, headers]).includes(user.token));
    assert.match(url, new RegExp(`^/pull/${transferId}/[12]\\?token=${TOKEN}$`));
  }
});

test('a pull asks for every number, those that were pushed before as well', async () => {
  const user = await sharedUser(service);
  const file = makeFile([100, 200, 300, 400]);
  const transferId = await begin(user, file);
  for (const idx of [1, 3]) assertOk(await putVolume(user, transferId, idx, file.volumes[idx - 1]!));
  await using server = await new PullServer(file).listen();
  assertOk(await pull(user, transferId, server.url), { ok: true, pulled: 4, total: 4 });
  assert.deepEqual(server.requests.map(({ idx }) => idx).sort(), [1, 2, 3, 4]);
  assert.deepEqual(await received(user, transferId), [1, 2, 3, 4]);
  const done = await complete(user, transferId);
  assertOk(done);
  await assertReadable(user, String(done.json['file_id']), file);
});

test('8 downloads at a time with 4 connections each, and never more', async () => {
  const user = await sharedUser(service);
  const file = makeFile(Array.from({ length: limits.pullDownloads + 2 }, () => 4 * MIB));
  const transferId = await begin(user, file);
  const open = new Map<number, Set<ServerResponse>>();
  const most = { downloads: 0, connections: 0, all: 0 };
  const full = Promise.withResolvers<void>();
  await using server = await new PullServer(file, {
    answer: async ({ idx, headers }, response) => {
      const mine = open.get(idx) ?? new Set();
      open.set(idx, mine.add(response));
      response.on('close', () => {
        mine.delete(response);
        if (mine.size === 0) open.delete(idx);
      });
      const all = [...open.values()].reduce((sum, { size }) => sum + size, 0);
      most.downloads = Math.max(most.downloads, open.size);
      most.connections = Math.max(most.connections, mine.size);
      most.all = Math.max(most.all, all);
      if (all === limits.pullDownloads * limits.pullConnections) full.resolve();
      // The head at once, for the tool asks for parts only where it knows the length; of the bytes not all yet.
      const bytes = file.volumes[idx - 1]!;
      const [, first = '0', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
      const part = bytes.subarray(Number(first), last ? Number(last) + 1 : undefined);
      const range = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
      response.writeHead(headers.range ? 206 : 200, {
        'content-length': part.length,
        'accept-ranges': 'bytes',
        ...(headers.range ? { 'content-range': range } : {}),
      });
      response.write(part.subarray(0, 1000));
      await full.promise;
      response.end(part.subarray(1000));
      return true;
    },
  }).listen();
  const answer = await pull(user, transferId, server.url);
  assertOk(answer, { ok: true, pulled: 10, total: 10 });
  assert.deepEqual(most, { downloads: 8, connections: 4, all: 32 });
});

describe('https', () => {
  test('a certificate that is trusted is pulled from, one that is not is 409', async () => {
    const tls = await readFile(PEM, 'utf8');
    const file = makeFile([1000, 2 * MIB]);
    await using server = await new PullServer(file, { tls }).listen();
    const stranger = await sharedUser(service);
    const refused = await begin(stranger, file);
    assertError(await pull(stranger, refused, server.url), 409);
    assert.deepEqual(server.requests, []);
    await withService({ env: { NODE_EXTRA_CA_CERTS: PEM } }, async (own) => {
      const user = await sharedUser(own);
      const transferId = await begin(user, file);
      assertOk(await pull(user, transferId, server.url), { ok: true, pulled: 2, total: 2 });
      for (const { url, token } of server.requests) {
        assert.equal(token, TOKEN);
        assert.ok(url.startsWith(`/pull/${transferId}/`));
      }
      const done = await complete(user, transferId);
      assertOk(done);
      await assertReadable(user, String(done.json['file_id']), file);
    });
  });
});
