import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '../src/load/connection.ts';
import { patternOf, patternSha256 } from '../src/load/pattern.ts';
import { request } from '../src/load/request.ts';
import type { Results } from '../src/results.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

test('one cell runs against szafa alone', { timeout: 120_000 }, async () => {
  const args = [main, '--quick', '--only', 'volumes-1m-1', '--peers', 'szafa', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const [result] = (JSON.parse(stdout) as Results).volumes;
  const [round] = result?.peers.szafa ?? [];
  assert.ok(round && !('failure' in round), stdout);
  assert.ok(round.put.durableMbps > 0 && round.put.durableMbps <= round.put.mbps);
  assert.ok(round.get.mbps > 0);
  assert.ok(round.put.peakBytes.length >= 2, 'the primary and at least one worker are counted');
});

suite('the load generator', () => {
  test('keeps a connection over responses with a length and in chunks', async () => {
    const body = patternOf(300_000);
    await withServer(
      (req, res) => {
        if (req.url === '/length') res.setHeader('Content-Length', body.length);
        res.write(body.subarray(0, 70_000));
        res.end(body.subarray(70_000));
      },
      async (connection) => {
        for (const path of ['/length', '/chunks', '/length']) {
          const expectSha256 = patternSha256(body.length);
          const response = await connection.exchange(request({ method: 'GET', path, expectSha256 }));
          assert.equal(response.bytes, body.length);
        }
      },
    );
  });

  test('fails loudly on an error status, on other bytes and on another length', async () => {
    const cases = [
      { path: '/404', message: /status 404 to "GET \/404 HTTP\/1.1": no/ },
      { path: '/other', expectSha256: patternSha256(2), message: /other bytes/ },
      { path: '/other', expectBytes: 3, message: /2 bytes announced where 3/ },
    ];
    for (const { message, ...parts } of cases) {
      await withServer(
        (req, res) => {
          res.writeHead(req.url === '/404' ? 404 : 200, { 'Content-Length': 2 }).end('no');
        },
        async (connection) => {
          const what = request({ method: 'GET', ...parts });
          await assert.rejects(connection.exchange(what), { name: 'LoadError', message });
          await assert.rejects(connection.exchange(what), 'the connection must not be used again');
        },
      );
    }
  });
});

async function withServer(
  listener: RequestListener,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connection = await Connection.open((server.address() as AddressInfo).port);
  try {
    await work(connection);
  } finally {
    connection.close();
    server.close();
  }
}
