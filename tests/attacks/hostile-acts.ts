/** What hostile clients do. Each act says how many requests it was; none needs more of the service than a 4xx. */
import { randomInt } from 'node:crypto';
import { pathOf, volumeSocket } from '@szafa/protocol';
import { type HostileClient, NOISE, noise, pick } from './hostile-client.ts';

/** An account of their own, as anybody can have one. */
export interface Means {
  token: string;
  /** A file of one volume of this size. */
  fileId: string;
  /** Under way, with one volume of this size. */
  transferId: string;
  size: number;
}

export type Act = (client: HostileClient, means: Means) => Promise<number>;

const request = (first: string, headers: string[] = [], body = '') =>
  [`${first} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n');
const bearer = ({ token }: Means) => `Authorization: Bearer ${token}`;
const volume = (id: string, idx: number | string = 1) =>
  `PUT ${pathOf('writeVolume', { transfer_id: id, idx })}`;
const posted = (path: string, body: string, headers: string[] = []) =>
  request(`POST ${path}`, [...headers, `Content-Length: ${Buffer.byteLength(body)}`], body);

/** The lane refuses it, and the bytes go on. */
const refusedBody: Act = async (client) => {
  const extra = pick(
    [],
    ['Connection: close'],
    ['Expect: 100-continue'],
    ['Connection: close', 'Expect: 100-continue'],
  );
  const length = pick(0, 1, 70_000, 999_999_999_999_999);
  await client.push(request(volume('x'.repeat(1 + randomInt(64))), [`Content-Length: ${length}`, ...extra]));
  if (randomInt(2) === 0) await client.answered();
  if (length > 0) await client.pushTorn(noise(length === 1 ? 1 : 60_000));
  return 1;
};

/** Bytes that are not those that were announced, or not all of them. */
const wrongVolume: Act = async (client, means) => {
  const { transferId, size } = means;
  const puts = 1 + randomInt(4);
  for (let put = 0; put < puts; put++) {
    const length = pick(size, size, size, size + 1, 0);
    await client.push(
      request(volume(transferId, pick(1, 1, 2, 999_999)), [bearer(means), `Content-Length: ${length}`]),
    );
    if (randomInt(4) === 0) {
      await client.pushTorn(NOISE.subarray(0, randomInt(length + 1)));
      return put + 1;
    }
    await client.pushTorn(NOISE.subarray(0, length));
    await client.answered(put + 1);
  }
  return puts;
};

/** PUT after PUT whose answers nobody reads, and then something else. */
const surrendered: Act = async (client) => {
  client.socket.pause();
  const puts = 1 + randomInt(8);
  for (let put = 0; put < puts; put++) await client.push(request(volume('none'), ['Content-Length: 0']));
  const last = pick<string | Uint8Array>(request('GET /healthz'), request('DELETE /api/files/x'), noise(300));
  await client.push(last);
  client.socket.resume();
  await client.answered(puts);
  return puts + 1;
};

const ODD_HEADS = [
  ['Content-Length: 5', 'Transfer-Encoding: chunked'],
  ['Content-Length: 5', 'Content-Length: 6'],
  ['Content-Length: 5, 5'],
  ['Content-Length: -1'],
  ['Content-Length: 0x5'],
  ['Content-Length: 99999999999999999999999'],
  ['Transfer-Encoding: xchunked'],
  ['Transfer-Encoding : chunked'],
  ['X: a', ' folded'],
  [`X: ${'y'.repeat(20_000)}`],
  Array.from({ length: 2100 }, (_, at) => `X${at}: y`),
  ['X: \0'],
  ['Expect: 200-maybe'],
  ['Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'],
  ['Trailer: X-Init', 'Transfer-Encoding: chunked'],
];

/** What can be read in two ways, and what cannot be read at all. */
const oddHead: Act = async (client) => {
  const first = pick(
    volume('x'),
    volume('x', '0'),
    volume('x', '1e3'),
    'GET /api/files',
    'FOO /',
    'GET //',
    'GET http://a/b',
  );
  await client.push(request(first, pick(...ODD_HEADS)));
  // Some of them wait for a body.
  await client.push('0\r\n\r\n');
  client.socket.end();
  await client.answered();
  return 1;
};

const noHttp: Act = async (client) => {
  await client.push(
    pick<string | Uint8Array>(
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      Buffer.from('160301020001', 'hex'),
      noise(5000),
      '\r\n\r\n',
      'GET /',
    ),
  );
  client.socket.end();
  await client.answered();
  return 1;
};

/** Opened, and nothing or half of something. */
const silence: Act = async (client) => {
  await client.push(request(volume('x'), ['Content-Length: 5']).slice(0, randomInt(60)));
  if (randomInt(2) === 0) client.socket.end();
  return 1;
};

/** Many at once, and nobody reads. */
const pipelined: Act = async (client, means) => {
  const count = 2 + randomInt(12);
  const one = () =>
    pick(
      request(`GET /api/files/${means.fileId}/chunk/1`, [bearer(means)]),
      request('GET /api/files?limit=999999&offset=-1', [bearer(means)]),
      request('GET /api/auth/me'),
      request('GET /../../etc/passwd'),
      request('GET /%00%2e%2e%2f'),
    );
  client.socket.pause();
  await client.push(Array.from({ length: count }, one).join(''));
  if (randomInt(3) === 0) return count;
  client.socket.resume();
  await client.answered(count);
  return count;
};

const BODIES = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  '{"__proto__":{"username":"a"}}',
  '['.repeat(50_000),
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
  '{"username":{},"password":[]}',
  '{"file_name":"f","file_size":1e309,"total_sha256":"x","chunk_count":1e9,"chunks":[],"enc_params":{}}',
  `{"enc_params":${'"\\\\\\"'.repeat(5000)}`,
  '\ud800',
];

const badJson: Act = async (client, means) => {
  const paths = [pathOf('login'), pathOf('register'), pathOf('init'), pathOf('createDir')];
  const count = 1 + randomInt(6);
  for (let at = 0; at < count; at++) {
    await client.push(posted(pick(...paths), pick(...BODIES), [bearer(means)]));
    await client.answered(at + 1);
  }
  return count;
};

const MIB = 1024 * 1024;
const DEEP = ['[', '{"a":', '{},', '0,', '"a":{'].map((piece) =>
  Buffer.from(`{"files":[${piece.repeat(MIB / piece.length)}`),
);

/** JSON that takes long to parse, as large as it may be without a token, and with one. */
const deepJson: Act = async (client, means) => {
  const count = 1 + randomInt(4);
  for (let at = 0; at < count; at++) {
    const known = randomInt(4) === 0;
    const body = known ? pick(...DEEP) : pick(...DEEP).subarray(0, 60_000);
    const path = known ? pathOf('renameFiles') : pathOf('login');
    await client.push(request(`POST ${path}`, [bearer(means), `Content-Length: ${body.length}`]));
    await client.push(body);
    await client.answered(at + 1);
  }
  return count;
};

/** Bodies that do not end, or come in chunks of a byte. */
const unfinishedBody: Act = async (client, means) => {
  const path = pick(pathOf('login'), pathOf('register'), pathOf('init'), pathOf('renameFiles'));
  if (randomInt(3) === 0) {
    await client.push(request(`POST ${path}`, [bearer(means), 'Transfer-Encoding: chunked']));
    await client.push('1\r\n \r\n'.repeat(randomInt(5000)));
  } else {
    await client.push(request(`POST ${path}`, [bearer(means), 'Content-Length: 60000']));
    await client.pushTorn(Buffer.alloc(randomInt(59_999), ' '));
  }
  return 1;
};

/** Tokens of nobody, one after the other. */
const wrongToken: Act = async (client) => {
  const count = 1 + randomInt(12);
  for (let at = 0; at < count; at++) {
    const authorization = `Authorization: ${pick('Bearer ', 'Basic ', '')}${noise(60).toString('base64')}`;
    const path = pick(pathOf('listFiles'), pathOf('quota'), pathOf('me'), '/api/admin/status');
    await client.push(request(`GET ${path}`, [authorization]));
    await client.answered(at + 1);
  }
  return count;
};

/** X-Init in a PUT of a file, by the lane. */
const badInit: Act = async (client, means) => {
  const init = pick(
    '',
    '%%%',
    'e30=',
    Buffer.from(pick(...BODIES))
      .toString('base64')
      .slice(0, 8000),
  );
  await client.push(
    request(
      `PUT ${pathOf('writeFile', { transfer_id: 'f'.repeat(32) })}`,
      [bearer(means), `X-Init: ${init}`, 'Content-Length: 10'],
      '0123456789',
    ),
  );
  await client.answered();
  return 1;
};

const RANGES = [
  'bytes=0-',
  'bytes=5-1',
  'bytes=-0',
  'bytes=99999999999999999999-',
  'bytes=0-0,1-1',
  'x=1-2',
  'bytes=--1',
];
const BLANKS = ' '.repeat(12_000);

const badRange: Act = async (client, means) => {
  const count = 1 + randomInt(6);
  for (let at = 0; at < count; at++) {
    const range = pick(...RANGES, `bytes=${BLANKS}x`, `bytes= -${BLANKS}x`);
    const condition = pick(
      [],
      ['If-None-Match: *'],
      [`If-None-Match: ${'W/"x",'.repeat(1000)}`],
      ['If-Range: "x"'],
    );
    await client.push(
      request(`GET /api/files/${means.fileId}/chunk/1`, [bearer(means), `Range: ${range}`, ...condition]),
    );
    await client.answered(at + 1);
  }
  return count;
};

const wrongLogin: Act = async (client) => {
  await client.push(
    posted(pathOf('login'), `{"username":"nobody${randomInt(1e6)}","password":"wrong password"}`),
  );
  await client.answered();
  return 1;
};

const upgrade = request(`GET ${volumeSocket.path}`, [
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  `Sec-WebSocket-Protocol: ${volumeSocket.protocol}`,
]);

function frame(first: number, payload: string | Uint8Array, length = payload.length): Buffer {
  const head = Buffer.alloc(14);
  head[0] = first;
  head[1] = 0x80 | 127;
  // The mask is all zeros.
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** Frames that are torn, wrong, longer than said, or not wanted. */
const badFrames: Act = async (client, means) => {
  const byLane = randomInt(2) === 0;
  if (byLane) {
    await client.push(request(volume('x'), ['Content-Length: 0']));
    await client.answered();
  }
  await client.push(upgrade);
  await client.answered(byLane ? 2 : 1);
  const put = request(volume(means.transferId), [bearer(means), `Content-Length: ${means.size}`]).slice(
    0,
    -4,
  );
  const frames = [
    frame(0x81, put),
    frame(0x82, NOISE.subarray(0, means.size)),
    frame(0x82, noise(5000)),
    frame(0x01, 'half'),
    frame(0x80, ''),
    frame(0x89, 'ping'),
    frame(0x89, '', 126),
    frame(0x88, ''),
    frame(0x82, 'x', Number.MAX_SAFE_INTEGER),
    frame(0xf1, 'x'),
    Buffer.from([0x81, 0x01, 0x41]),
    noise(200),
  ];
  const some = Array.from({ length: 1 + randomInt(5) }, () => pick(...frames));
  await client.pushTorn(Buffer.concat(randomInt(2) === 0 ? [frame(0x81, put), ...some] : some));
  return some.length + (byLane ? 2 : 1);
};

/** In the shares of this list; a wrong password costs the service fifty times what the others do. */
export const ACTS: [number, Act][] = [
  [10, refusedBody],
  [10, wrongVolume],
  [10, surrendered],
  [10, oddHead],
  [5, noHttp],
  [10, silence],
  [12, pipelined],
  [12, badJson],
  [6, deepJson],
  [10, unfinishedBody],
  [10, wrongToken],
  [5, badInit],
  [10, badRange],
  [0.3, wrongLogin],
  [10, badFrames],
];
