import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertNoLeftovers,
  assertOk,
  assertReadable,
  assertUnharmed,
  begin,
  makeFile,
  putVolume,
  type RawAnswer,
  RawConnection,
  received,
  register,
  sendRaw,
  sharedUser,
  type User,
  useService,
} from '../harness/index.ts';

const IDLE_SECONDS = 2;
const service = useService({ env: { SZ_IDLE_TIMEOUT: String(IDLE_SECONDS), SZ_WORKERS: '1' } });

describe('hostile requests', () => {
  // Not after the tests of other files in the same process.
  afterEach(() => assertUnharmed(service));

  /** A 4xx in the service's shape, or a connection closed without an answer. */
  function assertRefused(answer: RawAnswer): void {
    for (const status of answer.statuses) assert.ok(status >= 400 && status < 500, answer.text.slice(0, 300));
    if (answer.statuses.length === 0) assert.ok(answer.closed, 'neither an answer nor an end');
    else assert.match(answer.text, /\r\n\r\n\{"(error|detail)":"[^"]+"\}/, answer.text.slice(0, 500));
  }

  const request = (line: string, ...headers: string[]): string =>
    [line, 'Host: x', ...headers, '', ''].join('\r\n');
  const bearer = (user: User): string => `Authorization: Bearer ${user.token}`;

  test('10 MB of headers are refused', async () => {
    const lines = Array.from({ length: 10_000 }, (_, at) => `X-Filler-${at}: ${'f'.repeat(1000)}`);
    assertRefused(await sendRaw(service.url, request('GET /healthz HTTP/1.1', ...lines)));
    assertRefused(
      await sendRaw(service.url, request('GET /healthz HTTP/1.1', `X-Filler: ${'f'.repeat(10_000_000)}`)),
    );
    assertRefused(await sendRaw(service.url, request(`GET /${'p'.repeat(10_000_000)} HTTP/1.1`)));
  });

  test('many small headers are refused or ignored', async () => {
    const lines = Array.from({ length: 3000 }, (_, at) => `a${at}: b`);
    const answer = await sendRaw(
      service.url,
      request('GET /healthz HTTP/1.1', 'Connection: close', ...lines),
    );
    assert.ok(
      answer.statuses[0] === 200 || answer.statuses[0] === 431 || answer.closed,
      answer.text.slice(0, 300),
    );
  });

  for (const path of [
    '/..',
    '/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/docs/../../etc/passwd',
    '/docs/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '/api/files/../../../../etc/passwd/chunk/1',
    '/api/files/..%2f..%2f..%2fetc%2fpasswd/chunk/1',
    '/api/files/%2e%2e/chunk/1',
    '/api/files/a%00b/chunk/1',
    '/api/files/%5c..%5c../chunk/1',
    '/api/transfer/..%2f..%2ftmp/chunks',
    '/api/transfer/%00/chunks',
    '/api/files/%zz/chunk/1',
    '/api/files/%/chunk/1',
    '/api/files/%c3%28/chunk/1',
    '/api/files/%ed%a0%80/chunk/1',
    '//api/files',
    '/api/files;x=1',
    '/api/auth/me%3f',
    '/api/auth/me/',
    `/api/files/${'a'.repeat(8000)}/chunk/1`,
  ]) {
    test(`GET ${path.slice(0, 60)} is 4xx and tells nothing`, async () => {
      const user = await sharedUser(service);
      const answer = await sendRaw(
        service.url,
        request(`GET ${path} HTTP/1.1`, bearer(user), 'Connection: close'),
      );
      assert.equal(answer.statuses.length, 1, answer.text);
      assertRefused(answer);
      assert.ok(!answer.text.includes('root:'));
      assert.ok(!answer.text.includes(service.data) && !answer.text.includes('node_modules'), answer.text);
    });
  }

  for (const [what, bytes] of [
    ['no HTTP', 'hello there\r\n\r\n'],
    ['binary noise', '\u0000\u0001\u0002\u00ff\u00fe\r\n\r\n'],
    ['a TLS greeting', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    ['an unknown version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['an unknown method', 'BREW /api/files HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a raw NUL in the path', 'GET /api/\u0000files HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: a\u0000b\r\n\r\n'],
    ['a blank in a header name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX A: b\r\n\r\n'],
    [
      'two Content-Lengths',
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x',
    ],
    ['a negative Content-Length', 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}'],
    [
      'a huge Content-Length',
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{}',
    ],
    ['text as Content-Length', 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n{}'],
    [
      'a bad chunk size',
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
    ],
    [
      'an unknown transfer encoding',
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nContent-Type: application/json\r\n\r\n{}',
    ],
  ] as const) {
    test(`${what} is refused`, async () => {
      const answer = await sendRaw(service.url, bytes, (now) => now.statuses.length > 0);
      for (const status of answer.statuses) assert.ok(status >= 400 && status < 500, answer.text);
      if (answer.statuses.length === 0) assert.ok(answer.closed, 'neither an answer nor an end');
    });
  }

  test('Transfer-Encoding beside Content-Length smuggles no second request', async () => {
    const user = await sharedUser(service);
    const hidden = request('GET /api/auth/me HTTP/1.1', bearer(user));
    for (const headers of [
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', 'Content-Length: 4'],
      ['Content-Length: 4', 'Transfer-Encoding: identity, chunked'],
      ['Content-Length: 4', 'Transfer-Encoding : chunked'],
      ['Content-Length: 4', 'Transfer-Encoding: chunked, identity'],
    ]) {
      const head = request(`POST ${pathOf('logout')} HTTP/1.1`, ...headers);
      const answer = await sendRaw(service.url, `${head}0\r\n\r\n${hidden}`);
      assert.ok(!answer.statuses.includes(200), answer.text);
      assert.ok(!answer.text.includes(user.username), 'the hidden request was answered');
      assert.ok(answer.closed, 'the connection must not be used on');
    }
    assertOk(await user.get(pathOf('me')));
  });

  test('HTTP/1.0 is answered and closed', async () => {
    const answer = await sendRaw(service.url, 'GET /healthz HTTP/1.0\r\n\r\n');
    assert.deepEqual(answer.statuses, [200]);
    assert.ok(answer.closed);
    assert.ok(!/transfer-encoding/i.test(answer.text), 'HTTP/1.0 knows no chunks');
  });

  test('HTTP/1.1 without a Host is 400', async () => {
    const answer = await sendRaw(
      service.url,
      'GET /healthz HTTP/1.1\r\n\r\n',
      (now) => now.statuses.length > 0,
    );
    assert.deepEqual(answer.statuses, [400]);
  });

  test('pipelined requests are answered in their order', async () => {
    const user = await sharedUser(service);
    const lines = ['/api/auth/me', '/api/nothing', '/healthz', '/api/quota'];
    const last = request('GET /api/dirs HTTP/1.1', bearer(user), 'Connection: close');
    const all = lines.map((path) => request(`GET ${path} HTTP/1.1`, bearer(user))).join('') + last;
    const answer = await sendRaw(service.url, all);
    assert.deepEqual(answer.statuses, [200, 404, 200, 200, 200]);
    const order = ['username', '"error"', '"ok"', 'used_bytes', '"dirs"'].map((word) =>
      answer.text.indexOf(word),
    );
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    );
  });

  const put = (user: User, transferId: string, ...headers: string[]): string =>
    request(
      `PUT ${pathOf('writeVolume', { transfer_id: transferId, idx: 1 })} HTTP/1.1`,
      bearer(user),
      ...headers,
    );

  for (const [what, cut] of [
    ['ends its side', (connection: RawConnection) => connection.end()],
    ['breaks the connection', (connection: RawConnection) => connection.destroy()],
  ] as const) {
    test(`a body shorter than announced (the client ${what}) records nothing`, async () => {
      const user = await sharedUser(service);
      const file = makeFile([500_000]);
      const transferId = await begin(user, file);
      const half = (file.volumes[0] as Buffer).subarray(0, 250_000);
      const heads = [
        [put(user, transferId, 'Content-Length: 500000'), half],
        [
          put(user, transferId, 'Transfer-Encoding: chunked'),
          Buffer.concat([Buffer.from('3d090\r\n'), half]),
        ],
      ] as const;
      for (const [head, body] of heads) {
        const connection = await RawConnection.open(service.url);
        connection.write(head);
        connection.write(body);
        await sleep(50);
        cut(connection);
        const answer = await connection.until((now) => now.closed);
        assert.ok(answer.closed);
        assert.ok(!answer.statuses.includes(200), answer.text);
        connection.destroy();
      }
      assert.deepEqual(await received(user, transferId), []);
      await assertNoLeftovers(service);
      assertOk(await putVolume(user, transferId, 1, file.volumes[0] as Buffer), { ok: true });
    });
  }

  test('bytes after the announced body are no part of the volume', async () => {
    const user = await sharedUser(service);
    const file = makeFile([1000]);
    const transferId = await begin(user, file);
    const head = put(user, transferId, 'Content-Length: 1000');
    const volume = file.volumes[0] as Buffer;
    const all = Buffer.concat([Buffer.from(head), volume, Buffer.from('and more\r\n\r\n')]);
    const answer = await sendRaw(service.url, all);
    // The volume may be taken before the rest is seen, or all be refused with it; never more than announced.
    const [first, ...rest] = answer.statuses;
    assert.ok(first === 200 || first === 400, answer.text);
    for (const status of rest) assert.equal(status, 400);
    assert.ok(answer.closed);
    if (first === 200) assert.deepEqual(await received(user, transferId), [1]);
    assertOk(await putVolume(user, transferId, 1, volume), { ok: true });
    const done = await user.post(pathOf('complete', { transfer_id: transferId }));
    await assertReadable(user, String(done.json['file_id']), file);
  });

  test('a JSON body cut off creates nothing', async () => {
    const user = await register(service);
    const connection = await RawConnection.open(service.url);
    const head = request(
      `POST ${pathOf('createDir')} HTTP/1.1`,
      bearer(user),
      'Content-Type: application/json',
      'Content-Length: 50',
    );
    connection.write(`${head}{"name": "half"}`);
    await sleep(50);
    connection.end();
    const answer = await connection.until((now) => now.closed);
    connection.destroy();
    assert.ok(!answer.statuses.includes(200));
    assertOk(await user.get(pathOf('listDirs')), { dirs: [] });
  });

  test('a client that stops sending is closed after the idle time, whatever it stopped in', async () => {
    const user = await sharedUser(service);
    const file = makeFile([500_000]);
    const transferId = await begin(user, file);
    const body = put(user, transferId, 'Content-Length: 500000');
    const json = request(
      `POST ${pathOf('createDir')} HTTP/1.1`,
      bearer(user),
      'Content-Length: 50',
      'Content-Type: application/json',
    );
    const halves: Record<string, string | Uint8Array> = {
      'a volume': Buffer.concat([Buffer.from(body), (file.volumes[0] as Buffer).subarray(0, 1000)]),
      'a volume before its first byte': body,
      'a JSON body': `${json}{"name"`,
      'a head': 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half',
      'a request line': 'GET /heal',
      'a greeting': '',
      'a chunk': `${put(user, transferId, 'Transfer-Encoding: chunked')}ff\r\nabc`,
    };
    await Promise.all(
      Object.entries(halves).map(async ([what, bytes]) => {
        const connection = await RawConnection.open(service.url);
        connection.write(bytes);
        const began = Date.now();
        const answer = await connection.until((now) => now.closed, (IDLE_SECONDS + 10) * 1000);
        connection.destroy();
        assert.ok(answer.closed, `${what}: still open after ${Date.now() - began} ms`);
        assert.ok(!answer.statuses.some((status) => status < 400), `${what}: ${answer.text}`);
      }),
    );
    assert.deepEqual(await received(user, transferId), []);
  });

  test('a slow client that keeps sending is not cut off', async () => {
    const user = await sharedUser(service);
    const file = makeFile([10]);
    const transferId = await begin(user, file);
    const drip = async function* () {
      for (const byte of file.volumes[0] as Buffer) {
        await sleep(IDLE_SECONDS * 250);
        yield Buffer.of(byte);
      }
    };
    assertOk(await putVolume(user, transferId, 1, drip()), { ok: true });
  });

  test('a hundred idle connections do not stop the service', async () => {
    const open = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(service.url)));
    try {
      assertOk(await service.call({ path: '/readyz' }));
    } finally {
      for (const connection of open) connection.destroy();
    }
  });
});
