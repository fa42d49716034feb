/**
 * The same bytes to a service with the fast lane, which also leaves volumes to a proxy that offers to send them (SZ_ACCEL), and to one with neither:
 * it may be faster, but it must not understand anything otherwise than Node's own server and the routes. Every connection sends a few messages, each when the one before was answered, then one that only a connection
 * that is still understood answers. SZ_TEST_ATTACKS sets how many connections there are. One file: what is sent, and what two answers may differ in, belong together.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { contentDigest } from '@szafa/protocol';
import fc from 'fast-check';
import {
  begin,
  beginStreamed,
  makeFile,
  RawConnection,
  register,
  type Service,
  sendRaw,
  sha256,
  upload,
  useService,
} from '../harness/index.ts';

const CONNECTIONS = Number(process.env['SZ_TEST_ATTACKS'] ?? 400);
const AT_ONCE = 40;
/** Silence ends what is never answered. */
const SETTINGS = { SZ_IDLE_TIMEOUT: '2', SZ_WORKERS: '1' };
const lane = useService({ env: { ...SETTINGS, SZ_ACCEL: '1', SZ_TRUST_PROXY: '127.0.0.1' } });
const general = useService({ env: { ...SETTINGS, SZ_LANE: '0' } });

/** What differs between the two services stands for itself in a message. */
interface Names {
  service: Service;
  TOKEN: string;
  TRANSFER: string;
  STREAMED: string;
  FILE: string;
}
const BODY = 'hello';
const DIGEST = contentDigest(sha256(Buffer.from(BODY)));

const STORED = makeFile([1000, 0]);

async function namesOf(service: Service): Promise<Names> {
  const user = await register(service);
  const file = makeFile([BODY.length, 7]);
  file.init.chunks[0] = { size: BODY.length, sha256: sha256(Buffer.from(BODY)) };
  const STREAMED = await beginStreamed(user, file, 'unsized');
  const { fileId: FILE } = await upload(user, STORED);
  return { service, TOKEN: user.token, TRANSFER: await begin(user, file), STREAMED, FILE };
}

const LINES = [
  'PUT /api/transfer/TRANSFER/chunk/1 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/2 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/3 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/0 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/01 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/1.0 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/9999999 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/1/ HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/1?x=1 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/%31 HTTP/1.1',
  'PUT /api/transfer/unknown/chunk/1 HTTP/1.1',
  'PUT /api/transfer/STREAMED/chunk/1 HTTP/1.1',
  'PUT /api/transfer/STREAMED/chunk/10000 HTTP/1.1',
  'PUT /api/transfer/STREAMED/chunk/10001 HTTP/1.1',
  'POST /api/transfer/STREAMED/complete HTTP/1.1',
  `PUT /api/transfer/${'x'.repeat(65)}/chunk/1 HTTP/1.1`,
  'PUT /api/transfer/new-new-new-new-new-new/file HTTP/1.1',
  'PUT http://x/api/transfer/TRANSFER/chunk/1 HTTP/1.1',
  'PUT  /api/transfer/TRANSFER/chunk/1 HTTP/1.1',
  'PUT /api/transfer/TRANSFER/chunk/1 HTTP/1.0',
  'PUT /api/transfer/TRANSFER/chunk/1 HTTP/1.2',
  'put /api/transfer/TRANSFER/chunk/1 HTTP/1.1',
  '\r\nPUT /api/transfer/TRANSFER/chunk/1 HTTP/1.1',
  'GET /healthz HTTP/1.1',
  'POST /api/transfer/TRANSFER/complete HTTP/1.1',
];
const CHUNKED = '5\r\nhello\r\n0\r\n\r\n';
/**
 * With the body that belongs to it, since what is no HTTP behind a request is refused by Node's server at once, before or after the answers
 * that are still to come.
 */
const LENGTHS: [header: string, body: string][] = [
  ['Content-Length: 5', BODY],
  ['content-length:5', BODY],
  ['Content-Length: \t5 \t', BODY],
  ['Content-Length: 05', BODY],
  ['Content-Length: 5', 'jello'],
  ['Content-Length: 5', 'hell'],
  ['Content-Length: 0', ''],
  ['Content-Length: 4', 'hell'],
  ['Content-Length: 7', 'seven77'],
  ['Content-Length: 70000', 'x'.repeat(70_000)],
  ['Content-Length: 5\r\nContent-Length: 5', BODY],
  ['Content-Length: 5\r\nContent-Length: 6', BODY],
  ['Content-Length: 5\r\nTransfer-Encoding: chunked', CHUNKED],
  ['Transfer-Encoding: chunked', CHUNKED],
  ['Transfer-Encoding: Chunked', CHUNKED],
  ['Transfer-Encoding: gzip, chunked', CHUNKED],
  ['Transfer-Encoding: chunked, identity', CHUNKED],
  ['Content_Length: 5', ''],
  ['X: y', ''],
  ...['+5', '-5', '0x5', '5, 5', '5 5', '99999999999999999999', '\x0b5'].map((text): [string, string] => [
    `Content-Length: ${text}`,
    '',
  ]),
  ['Content-Length:', ''],
  ['Content-Length : 5', BODY],
  ['Content-Length\t: 5', BODY],
];
const HOSTS = [
  'Host: x',
  'Host: x',
  'Host: x',
  'host:x',
  'Host:',
  'X-Host: x',
  'Host: x\r\nHost: y',
  'Host: a b/c',
];
const TOKENS = [
  'Authorization: Bearer TOKEN',
  'Authorization: Bearer wrong',
  'Authorization: TOKEN',
  'X-Nobody: 1',
];
const OTHERS = [
  'Connection: keep-alive',
  'Connection: close',
  'Connection: Close',
  'Connection: close, keep-alive',
  'Connection: content-length',
  'Connection: upgrade\r\nUpgrade: websocket',
  'Keep-Alive: timeout=5',
  'Upgrade: h2c',
  'TE: trailers',
  'Trailer: x',
  'Expect: 100-continue',
  'Expect: 100-Continue',
  'Expect: tea',
  'Proxy-Connection: close',
  'HTTP2-Settings: AAA',
  'X-Init: e30=',
  'X-Init: junk',
  'X-Forwarded-For: 1.2.3.4, 5.6.7.8',
  'X: a\r\n b',
  'X: a\nTransfer-Encoding: chunked',
  'X: a\rTransfer-Encoding: chunked',
  'X: a\0b',
  'X: \x80\xff',
  'no colon',
  ': no name',
  'a b: c',
  'X-\xe9: 1',
  `X: ${'y'.repeat(17_000)}`,
  Array.from({ length: 120 }, (_, at) => `h${at}: 1`).join('\r\n'),
  'Range: bytes=0-1',
  'Content-Type: application/json',
  `Content-Digest: ${DIGEST}`,
  `content-digest:\t${DIGEST} `,
  `Content-Digest: ${DIGEST}\r\nContent-Digest: ${DIGEST}`,
  `Content-Digest: sha-512=:AAAA:\r\nContent-Digest: ${DIGEST}`,
  'Content-Digest: sha-256=:x:',
  'Content-Digest:',
];

const GETS = [
  'GET /api/files/FILE/chunk/1 HTTP/1.1',
  'GET /api/files/FILE/chunk/2 HTTP/1.1',
  'GET /api/files/FILE/chunk/3 HTTP/1.1',
  'GET /api/files/FILE/chunk/0 HTTP/1.1',
  'GET /api/files/FILE/chunk/01 HTTP/1.1',
  'GET /api/files/FILE/chunk/%31 HTTP/1.1',
  'GET /api/files/FILE/chunk/1/ HTTP/1.1',
  'GET /api/files/FILE/chunk/1?x=1 HTTP/1.1',
  'GET /api/files/FILE/chunk/1#x HTTP/1.1',
  'GET //api/files/FILE/chunk/1 HTTP/1.1',
  'GET http://x/api/files/FILE/chunk/1 HTTP/1.1',
  'GET /api/files/unknown/chunk/1 HTTP/1.1',
  `GET /api/files/${'x'.repeat(65)}/chunk/1 HTTP/1.1`,
  'GET /api/files/FILE/chunk/1 HTTP/1.0',
  'POST /api/files/FILE/chunk/1 HTTP/1.1',
];
const OFFERS = [
  'X-Szafa-Accel: folder',
  'x-szafa-accel:folder',
  'X-Szafa-Accel: s3',
  'X-Szafa-Accel:',
  'X-Szafa-Accel: folder\r\nX-Szafa-Accel: folder',
  'X-Accel-Redirect: /szafa-folder/x',
];
const ASKED = [
  ...['0-9', '990-', '-5', '-0', '1000-', '5-2', '0-1,3-4', ''].map((range) => `Range: bytes=${range}`),
  'Range: bytes=0-1\r\nRange: bytes=3-4',
  'If-None-Match: "x"',
  'If-None-Match: *',
  'If-Match: "x"',
  'If-Range: "x"',
  'X-Szafa-Range: bytes=0-1',
  'X-Request-Id: of-a-proxy',
];

interface Message {
  bytes: string;
  /** In how many pieces. */
  cuts: number[];
  /** How many requests are in it. */
  requests: number;
}

const often = <T>(usual: T, ...choices: T[]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...choices) },
  );

const put: fc.Arbitrary<Message> = fc
  .record({
    line: often(LINES[0]!, ...LINES),
    host: often(HOSTS[0]!, ...HOSTS),
    length: often(LENGTHS[0]!, ...LENGTHS),
    token: often(TOKENS[0]!, ...TOKENS),
    others: fc.array(fc.constantFrom(...OTHERS), { maxLength: 2 }),
    behind: often('', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'),
    turn: fc.nat(),
    cuts: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.nat(300), { maxLength: 2 }) },
    ),
  })
  .map(({ line, host, length: [length, body], token, others, behind, turn, cuts }) => {
    const headers = [host, length, token, ...others];
    const at = turn % headers.length;
    const turned = [...headers.slice(at), ...headers.slice(0, at)];
    const bytes = `${[line, ...turned].join('\r\n')}\r\n\r\n${body}`;
    // Node's server leaves what comes after a refused head unread, and its answer may be lost with it.
    const plain = others.length === 0 && host === HOSTS[0] && LINES.indexOf(line) < 8 && body === BODY;
    if (!plain) return { bytes, cuts: [], requests: 1 };
    return { bytes: bytes + behind, cuts: cuts.toSorted((a, b) => a - b), requests: behind === '' ? 1 : 2 };
  });

/** Most without a body, as they should be. */
const NO_BODY: [header: string, body: string] = ['X: y', ''];
const get: fc.Arbitrary<Message> = fc
  .record({
    line: often(GETS[0]!, ...GETS),
    host: often(HOSTS[0]!, ...HOSTS),
    length: fc.oneof({ weight: 6, arbitrary: fc.constant(NO_BODY) }, fc.constantFrom(...LENGTHS)),
    token: often(TOKENS[0]!, ...TOKENS),
    offer: often(OFFERS[0]!, ...OFFERS),
    others: fc.array(fc.oneof(fc.constantFrom(...ASKED), fc.constantFrom(...OTHERS)), { maxLength: 2 }),
    behind: fc.boolean(),
  })
  .map(({ line, host, length: [length, body], token, offer, others, behind }) => {
    const bytes = `${[line, host, length, token, offer, ...others].join('\r\n')}\r\n\r\n${body}`;
    const plain = others.length === 0 && host === HOSTS[0] && GETS.indexOf(line) < 8 && body === '';
    // Two at once, of which each is answered, and in their order.
    return plain && behind
      ? { bytes: bytes.repeat(2), cuts: [], requests: 2 }
      : { bytes, cuts: [], requests: 1 };
  });

/** Which volumes a complete misses depends on what other connections have sent by then. */
const MISSING = /"error":"\d+ of \d+ volumes are missing","received":\[[\d,]*\]/;

/** What an answer says of its body and its connection. */
const TOLD =
  /^(etag|cache-control|connection|content-type|x-enc-params|x-chunk-count|x-content-type-options):/i;
const REDIRECT = /\r\nx-accel-redirect: \/szafa-folder\/[0-9a-f]{2}\/[0-9a-f]{32}\/([12])\b[^/\r]*(?:\r|$)/;
let handedOver = 0;

/** What nginx sends in the place of such an answer. */
function bytesFor(head: string): string | undefined {
  const [, idx] = REDIRECT.exec(head) ?? [];
  if (idx === undefined) return undefined;
  handedOver++;
  const [, from = '0', to] = /\r\nx-szafa-range: bytes=(\d+)-(\d+)/.exec(head) ?? [];
  const bytes = STORED.volumes[Number(idx) - 1]!;
  return bytes.toString('latin1', Number(from), to === undefined ? bytes.length : Number(to) + 1);
}

/** What came back: the status and body of each answer, and what its headers say of it. */
function answersIn(text: string): string[] {
  const found: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end < 0 ? undefined : end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const stop = end < 0 ? rest.length : end + 4 + length;
    const body = bytesFor(head) ?? rest.slice(end + 4, stop).replace(MISSING, 'volumes are missing');
    const [status = '', ...lines] = head.split('\r\n');
    const told = lines.filter((line) => TOLD.test(line)).map((line) => line.toLowerCase());
    found.push([`${status} ${body}`, ...told.sort()].join('\n'));
    rest = rest.slice(stop);
  }
  return found;
}

/** Those that end a request. */
const finals = (text: string) =>
  answersIn(text).filter((answer) => !answer.startsWith('HTTP/1.1 100 ')).length;

async function answers(
  { service, TOKEN, TRANSFER, STREAMED, FILE }: Names,
  messages: Message[],
): Promise<string[]> {
  const connection = await RawConnection.open(service.url);
  const put = async (bytes: string, done: (count: number) => boolean) => {
    connection.write(bytes);
    await connection.until(({ text, closed }) => closed || done(finals(text)), 20_000);
  };
  try {
    for (const { bytes, cuts, requests } of messages) {
      const named = bytes
        .replaceAll('TOKEN', TOKEN)
        .replaceAll('TRANSFER', TRANSFER)
        .replaceAll('STREAMED', STREAMED)
        .replaceAll('FILE', FILE);
      const before = finals(connection.answer.text);
      let at = 0;
      for (const cut of cuts) {
        await put(named.slice(at, cut), () => true);
        at = Math.max(at, cut);
      }
      // Of all: what comes after a request that ends the connection, and before its answer, Node's server refuses.
      await put(named.slice(at), (count) => count >= before + requests);
    }
    const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    await put(last, () => false);
    assert.ok(connection.answer.closed, 'the connection never ends');
    return answersIn(connection.answer.text);
  } finally {
    connection.destroy();
  }
}

const connection = fc.array(fc.oneof(put, get), { minLength: 1, maxLength: 3 });

test(`${CONNECTIONS} connections are understood by the lane, and volumes left to a proxy, as by Node's own server`, async () => {
  const sides = await Promise.all([lane, general].map(namesOf));
  await fc.assert(
    fc.asyncProperty(fc.array(connection, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (list) => {
      await Promise.all(
        list.map(async (messages) => {
          const [fast, plain] = await Promise.all(sides.map((names) => answers(names, messages)));
          assert.deepEqual(fast, plain, JSON.stringify(messages));
        }),
      );
    }),
    { numRuns: Math.ceil(CONNECTIONS / AT_ONCE), endOnFailure: true },
  );
  assert.ok(handedOver > CONNECTIONS / 20, `only ${handedOver} volumes were left to the proxy`);
});

test('what Node refuses for want of a Host is not answered a second time, nor told to the log', async () => {
  for (const names of await Promise.all([lane, general].map(namesOf))) {
    const { service, TOKEN, TRANSFER } = names;
    const before = service.log.length;
    const head = `PUT /api/transfer/${TRANSFER}/chunk/1 HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const bytes = `${head}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`;
    assert.match(
      (await answers(names, [{ bytes, cuts: [], requests: 1 }]))[0]!,
      /^HTTP\/1.1 400 Bad Request /,
    );
    // The log is written in the order of events.
    await sendRaw(service.url, 'GET /docs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    for (let tries = 0; tries < 500 && !service.log.slice(before).includes('/docs'); tries++) await sleep(10);
    assert.match(service.log.slice(before), /\/docs/);
    assert.doesNotMatch(service.log.slice(before), new RegExp(TRANSFER));
  }
});
