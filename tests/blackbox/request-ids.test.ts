import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf, volumeSocket } from '@szafa/protocol';
import {
  begin,
  eventually,
  makeFile,
  newTransferId,
  RawConnection,
  type Service,
  send,
  sharedUser,
  useService,
} from '../harness/index.ts';

const service = useService();
const behindProxy = useService({ env: { SZ_TRUST_PROXY: '127.0.0.1', SZ_WORKERS: '1' } });

const MADE = /^[0-9a-f]{16}-[0-9a-z]+$/;
const found = (text: string) => /^x-request-id: (.*)\r$/im.exec(text)?.[1];

/** The lines of a request, once there are any. */
async function linesOf(of: Service, id: string): Promise<string[]> {
  let lines: string[] = [];
  await eventually(async () => {
    lines = of.log.split('\n').filter((line) => line.includes(`"reqId":"${id}"`));
    assert.notEqual(lines.length, 0, `no line for ${id}`);
  });
  return lines;
}

/** Answers of every kind: a route, errors before and inside it, the lane, and what is no HTTP at all. */
async function answers(to: Service, header = ''): Promise<Record<string, string>> {
  const user = await sharedUser(to);
  const transferId = await begin(user, makeFile([5, 5]));
  const token = `Authorization: Bearer ${user.token}\r\n`;
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: x\r\n${token}${header}Connection: close\r\n`;
  const put = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
  const requests = {
    route: `${head(`GET ${pathOf('me')}`)}\r\n`,
    'no route': `${head('GET /nowhere')}\r\n`,
    'no token': `GET ${pathOf('me')} HTTP/1.1\r\nHost: x\r\n${header}Connection: close\r\n\r\n`,
    'a bad path': `${head('GET /api/files/%zz/chunk/1')}\r\n`,
    'a bad body': `${head(`POST ${pathOf('createDir')}`)}Content-Length: 1\r\n\r\n{`,
    lane: `${head(`PUT ${put}`)}Content-Length: 5\r\n\r\nxxxxx`,
    'lane, refused': `${head(`PUT ${pathOf('writeVolume', { transfer_id: newTransferId(), idx: 1 })}`)}Content-Length: 1\r\n\r\nx`,
    'no lane': `${head(`PUT ${put}`)}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
  };
  const ids: Record<string, string> = {};
  for (const [what, request] of Object.entries(requests)) {
    const connection = await RawConnection.open(to.url);
    connection.write(request);
    const { text } = await connection.until(({ closed }) => closed);
    connection.destroy();
    ids[what] = found(text) ?? assert.fail(`${what}: ${text}`);
  }
  return ids;
}

describe('every answer has an id that stands in the lines of its request', () => {
  test('made by the service: never the same, whatever a client calls its request', async () => {
    const ids = await answers(service, 'X-Request-Id: chosen-by-the-client\r\n');
    for (const [what, id] of Object.entries(ids)) {
      assert.match(id, MADE, what);
      const lines = await linesOf(service, id);
      assert.equal(lines.length, 1, `${what}: ${lines.join('\n')}`);
    }
    assert.equal(new Set(Object.values(ids)).size, Object.keys(ids).length);
    const connection = await RawConnection.open(service.url);
    connection.write('what is this?\r\n\r\n');
    const { text } = await connection.until(({ closed }) => closed);
    assert.equal((await linesOf(service, found(text)!)).length, 1);
  });

  test('ids differ between processes', async () => {
    const origins = new Set<string>();
    await eventually(async () => {
      const { headers } = await service.call({ path: pathOf('healthz') });
      origins.add(String(headers['x-request-id']).split('-')[0]!);
      assert.ok(origins.size >= Number(process.env['SZ_TEST_WORKERS'] ?? 2));
    });
  });

  test('taken from a proxy that is trusted, if it is one', async () => {
    const given = '4bf92f3577b34da6a3ce929d0e0e4736';
    const ids = await answers(behindProxy, `X-Request-Id: ${given}\r\n`);
    assert.deepEqual([...new Set(Object.values(ids))], [given]);
    const lines = await linesOf(behindProxy, given);
    await eventually(async () => {
      const now = await linesOf(behindProxy, given);
      assert.equal(now.length, Object.keys(ids).length, lines.join('\n'));
    });
    for (const bad of ['x'.repeat(65), 'a b', 'a"b', 'é', `${given}, other`]) {
      const headers = { 'X-Request-Id': Buffer.from(bad).toString('latin1') };
      const answer = await send(behindProxy.url, { path: pathOf('healthz'), headers });
      assert.match(String(answer.headers['x-request-id']), MADE, bad);
    }
  });

  test('with the address that the trusted proxy saw, not the one that its client wrote', async () => {
    const ids = await answers(behindProxy, 'X-Forwarded-For: 192.0.2.66, 192.0.2.77\r\n');
    for (const [what, id] of Object.entries(ids)) {
      // Fastify reads no headers of a request whose path it cannot read.
      if (what === 'a bad path') continue;
      assert.match((await linesOf(behindProxy, id)).join('\n'), /"ip":"192\.0\.2\.77"/, what);
    }
  });

  test('a socket has one, and each PUT along it a number behind', async () => {
    const given = 'a-socket-behind-a-proxy';
    const connection = await RawConnection.open(behindProxy.url);
    const head = [
      `GET ${volumeSocket.path} HTTP/1.1`,
      ...['Host: x', 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'],
      ...['Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', `Sec-WebSocket-Protocol: ${volumeSocket.protocol}`],
      `X-Request-Id: ${given}`,
    ];
    connection.write(`${head.join('\r\n')}\r\n\r\n`);
    const { text } = await connection.until((answer) => answer.text.includes('\r\n\r\n'));
    assert.equal(found(text), given);
    const put = `PUT ${pathOf('writeVolume', { transfer_id: newTransferId(), idx: 1 })} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-Request-Id: mine`;
    // A mask of zeros leaves the text as it is.
    connection.write(Buffer.from([0x81, 0x80 | 126, put.length >> 8, put.length & 0xff, 0, 0, 0, 0]));
    connection.write(put);
    const answer = await connection.until(({ text: all }) => all.includes('"status":401'));
    assert.match(answer.text, /"status":401/);
    assert.equal((await linesOf(behindProxy, `${given}.1`)).length, 1);
    connection.destroy();
  });
});
