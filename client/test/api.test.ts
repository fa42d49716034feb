/** What the SDK makes of answers, and of none: which calls are made again, and when it is enough. */

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { readKeys, readKeysForRecovery, readTaggedKeys } from '../src/accounts/calls.ts';
import { eachFile } from '../src/files/calls.ts';
import {
  Api,
  type ApiOptions,
  fetchTransport,
  NetworkError,
  type Transport,
  type TransportRequest,
  UnexpectedAnswerError,
} from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';
import { readVolume, writeVolume } from '../src/transfers/calls.ts';

const retry = { forMs: 60_000, baseMs: 1, capMs: 2 };
type Outcome = Error | number | object;

/** A service of which only the answers are of interest, the last of them for ever: an error, a status, a status with JSON. */
function answering(outcomes: Outcome[], options: Partial<ApiOptions> = {}) {
  const requests: TransportRequest[] = [];
  const transport: Transport = async (request) => {
    const outcome = outcomes[Math.min(requests.length, outcomes.length - 1)]!;
    requests.push(request);
    assert.ok(requests.length < 1000, 'asked without an end');
    if (outcome instanceof Error) throw outcome;
    const [status, json] = typeof outcome === 'number' ? [outcome, {}] : [200, outcome];
    const body = new TextEncoder().encode(JSON.stringify(json));
    return { status, header: () => undefined, body };
  };
  const api = new Api({ server: 'http://service.invalid', token: 'secret', transport, retry, ...options });
  return { api, requests };
}

const lost = new NetworkError('lost');
const unsent = new NetworkError('nobody there', { sent: false });
const untrusted = new NetworkError('not trusted', { sent: false, certificate: true });

/** [what is answered, attempts of a call that may be repeated, attempts of one that may not] */
const cases: [string, Outcome[], number, number][] = [
  ['a lost answer', [lost, {}], 2, 1],
  ['a service that is not there', [unsent, {}], 2, 2],
  ['a certificate that is not accepted', [untrusted, {}], 1, 1],
  ['a gateway without its service', [502, 504, {}], 3, 1],
  ['"later"', [503, 429, {}], 3, 3],
  ['an inner error that passes', [500, 500, {}], 3, 1],
  ['an inner error that stays', [500], 3, 1],
  ['a refusal', [409], 1, 1],
  ['a full disk', [507], 1, 1],
];
for (const [what, outcomes, always, once] of cases) {
  test(`${what}: asked ${always} times where that does no harm, else ${once}`, async () => {
    const reading = answering(outcomes);
    await reading.api.call('me').catch(() => {});
    assert.equal(reading.requests.length, always);
    const making = answering(outcomes);
    await making.api.call('createDir', { body: { name: 'x' } }).catch(() => {});
    assert.equal(making.requests.length, once);
  });
}

test('trouble that lasts is told after the time for it', async () => {
  const lasting = answering([lost], { retry: { forMs: 50, baseMs: 1, capMs: 2 } });
  await assert.rejects(lasting.api.call('me'), { code: 'network' });
  assert.ok(lasting.requests.length > 1);
});

test('a wait ends when it is aborted', { timeout: 10_000 }, async () => {
  const stop = new AbortController();
  const patient = answering([lost], {
    retry: { forMs: 600_000, baseMs: 60_000, capMs: 60_000 },
    onRetry: () => setImmediate(() => stop.abort(new Error('enough'))),
  });
  await assert.rejects(patient.api.call('me', { signal: stop.signal }), /enough/);
});

test('Retry-After is believed up to five minutes', async () => {
  for (const [said, taken] of [
    ['7', 7],
    ['86400', 300],
    ['-5', 0],
    ['soon', undefined],
  ] as const) {
    const transport: Transport = async () => ({
      status: 503,
      header: (name) => (name === 'retry-after' ? said : undefined),
      body: new Uint8Array(0),
    });
    const api = new Api({ server: 'http://service.invalid', transport, retry: { forMs: 0 } });
    await assert.rejects(api.call('me'), { status: 503, retryAfter: taken });
  }
});

test('bytes of an attempt that failed are taken back', async () => {
  let attempts = 0;
  const transport: Transport = async ({ onBytes }) => {
    onBytes?.(600);
    if (++attempts < 3) throw lost;
    onBytes?.(400);
    return { status: 200, header: () => undefined, body: new TextEncoder().encode('{"ok":true}') };
  };
  const api = new Api({ server: 'http://service.invalid', transport, retry });
  let moved = 0;
  const onBytes = (bytes: number) => {
    moved += bytes;
  };
  await writeVolume(api, 't', 1, new Uint8Array(1000), { onBytes });
  assert.equal(moved, 1000);
});

test('a list comes page by page; a service that gives the same page for ever is left', async () => {
  const file = (file_id: string) => ({
    file_id,
    file_name: 'x',
    size: 1,
    sha256: '0',
    user_id: 'ann',
    dir_id: null,
    dir_name: '',
    chunk_count: 1,
    created_at: '2026',
  });
  const idsOf = async (api: Api) =>
    (await Array.fromAsync(eachFile(api, 'listFiles'))).map(({ file_id }) => file_id);
  const three = answering([
    { files: [file('a'), file('b')], next_cursor: 'one' },
    { files: [file('c')], next_cursor: 'two' },
    { files: [file('d')] },
  ]);
  assert.deepEqual(await idsOf(three.api), ['a', 'b', 'c', 'd']);
  assert.deepEqual(
    three.requests.map(({ url }) => new URL(url).searchParams.get('cursor')),
    [null, 'one', 'two'],
  );
  const endless = answering([{ files: [file('a')], next_cursor: 'again' }]);
  assert.deepEqual(await idsOf(endless.api), ['a', 'a']);
});

test('the token goes where it is needed; the address may end in slashes', async () => {
  const { api, requests } = answering([{ token: 't', username: 'ann' }], {
    server: 'http://service.invalid/below//',
  });
  await api.call('login', { body: { username: 'ann', password: 'x' } });
  await api.call('me');
  assert.deepEqual(
    requests.map(({ headers }) => headers['authorization']),
    [undefined, 'Bearer secret'],
  );
  assert.ok(requests.every(({ url }) => url.startsWith('http://service.invalid/below/api/')));
});

const node = nodeTransport();
after(() => node.close());

async function serve(listener: RequestListener): Promise<{ url: string } & Disposable> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.dispose]: stop };
}

test('node: a service that is not there has not heard of it, one that hangs up may have', async () => {
  let url: string;
  {
    using service = await serve((request) => request.socket.destroy());
    url = service.url;
    const api = new Api({ server: url, transport: node, retry: { forMs: 0 } });
    await assert.rejects(api.call('createDir', { body: { name: 'x' } }), { code: 'network', sent: true });
  }
  const api = new Api({ server: url, transport: node, retry: { forMs: 0 } });
  await assert.rejects(api.call('createDir', { body: { name: 'x' } }), { code: 'network', sent: false });
});

for (const [name, transport] of [
  ['fetch', fetchTransport],
  ['node', node],
] as const) {
  test(`${name}: a redirection is not followed, and the token stays`, async () => {
    let strangers = 0;
    using elsewhere = await serve((_request, response) => {
      strangers++;
      response.end('{"username":"ann"}');
    });
    using service = await serve((request, response) => {
      response.writeHead(307, { location: `${elsewhere.url}${request.url}` }).end();
    });
    const api = new Api({ server: service.url, token: 'secret', transport, retry: { forMs: 0 } });
    await assert.rejects(api.call('me'));
    assert.equal(strangers, 0);
  });

  test(`${name}: a volume in shared memory leaves as it is`, async () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(300));
    bytes.set(bytes.map((_, at) => at));
    let received = Buffer.alloc(0);
    using service = await serve(async (request, response) => {
      received = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
      response.setHeader('content-length', 11).end('{"ok":true}');
    });
    await writeVolume(new Api({ server: service.url, transport }), 't', 1, bytes);
    assertBytes(received, bytes.slice());
  });

  test(`${name}: an answer longer than it may be is cut off, whether it says its length or not`, async () => {
    for (const length of [{ 'content-length': '1000' }, {}]) {
      using service = await serve((_request, response) => {
        response.writeHead(200, { 'x-enc-params': 'e30=', 'x-chunk-count': '1', ...length });
        response.write(Buffer.alloc(600));
        response.end(Buffer.alloc(400));
      });
      const api = new Api({ server: service.url, transport, retry: { forMs: 0 } });
      await assert.rejects(readVolume(api, 'f', 1, 999), { code: 'too-long' });
      assert.equal((await readVolume(api, 'f', 1, 1000)).body.length, 1000);
    }
  });
}

test('what changes an account is not sent twice, and what a hostile service answers is not believed', async () => {
  const secrets = { current: 'x', next: 'secret-word', keys: 'AQID' };
  const finish = { token: 't', password: 'secret-word', keys: 'AQID', recovery: 'A'.repeat(43) };
  for (const change of [
    (api: Api) => api.call('changePassword', { body: secrets, headers: { 'If-Match': '"tag"' } }),
    (api: Api) => api.call('finishRecovery', { body: finish, headers: { 'If-Match': '"tag"' } }),
    (api: Api) => api.call('leave', { body: { password: 'secret-word' } }),
  ]) {
    const { api, requests } = answering([lost, {}]);
    await assert.rejects(change(api), NetworkError);
    assert.equal(requests.length, 1);
  }
  const { api, requests } = answering([{ ok: true }]);
  await api.call('changePassword', { body: secrets, headers: { 'If-Match': '"tag"' } });
  await api.call('changePassword', { body: { current: 'x', next: 'secret-word' } });
  assert.deepEqual(
    requests.map(({ headers }) => headers['If-Match']),
    ['"tag"', undefined],
  );
  const ended = answering([lost, 404]);
  await ended.api.call('endSession', { params: { session_id: 'ab' } });
  assert.equal(ended.requests.length, 2, 'it had worked');
  const session = { id: 'ab', device: '', created_at: '', used_at: '', current: true };
  const whole = { ...session, scope: 'full', dir_id: null, expires_at: null, passkey: null, made_by: null };
  assert.deepEqual(await answering([{ sessions: [whole] }]).api.call('listSessions'), { sessions: [whole] });
  for (const sessions of [undefined, 'x', [session], [{ ...whole, id: '../x' }], [{ ...whole, device: 7 }]]) {
    await assert.rejects(answering([{ sessions }]).api.call('listSessions'), UnexpectedAnswerError);
  }
  // Keys without a tag can be read, and not replaced.
  const keys = answering([{ keys: 'AQID', token: 't', expires_in: 600 }]).api;
  assert.equal(await readKeys(keys), 'AQID');
  await assert.rejects(readTaggedKeys(keys), UnexpectedAnswerError);
  await assert.rejects(readKeysForRecovery(keys, { username: 'a', recovery: 'r' }), UnexpectedAnswerError);
});
