import assert from 'node:assert/strict';
import { promises as dns } from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { PullProxy } from '../../src/transfers/pull/proxy.ts';
import { checkPullAddress } from '../../src/transfers/pull/pull.ts';
import { honest, randomVolumes, serve, TOKEN, TRANSFER, until } from './fixture.ts';

const limit = { timeout: 30_000 };
const volumes = randomVolumes(1000);

async function open(t: TestContext) {
  const client = await serve(t, honest(volumes));
  const proxy = await PullProxy.open({
    addresses: checkPullAddress(client.url, TOKEN).of(TRANSFER),
    sizes: new Map([[1, 1000]]),
    allow: (address) => address === '127.0.0.1',
    stop: (reason) => assert.fail(reason),
  });
  t.after(() => proxy.close());
  /** The first line of the answer to a request, '' when there is none. */
  const ask = async (head: string): Promise<string> => {
    const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    socket.on('error', () => {}); // a reset is an answer too
    socket.write(`${head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    return text.split('\r\n')[0]!;
  };
  return { client, proxy, ask };
}

test('only the volumes of this pull are answered', limit, async (t) => {
  const { client, ask } = await open(t);
  const path = `/pull/${TRANSFER}/1?token=${TOKEN}`;
  const other = await serve(t, honest(volumes));
  for (const head of [
    `GET ${path}`,
    `HEAD ${client.url}${path}`,
    `POST ${client.url}${path}`,
    `GET ${client.url}/`,
    `GET ${client.url}${path}x`,
    `GET ${client.url}${path.replace(TOKEN, 'guess')}`,
    `GET ${client.url}${path.replace('/1?', '/2?')}`,
    `GET ${client.url}/x/..${path}`,
    `GET ${other.url}${path}`,
    `GET https${client.url.slice(4)}${path}`,
  ]) {
    assert.match(await ask(head), /^HTTP\/1\.1 403 /, head);
  }
  assert.equal(await ask(`CONNECT ${new URL(client.url).host}`), '');
  assert.deepEqual([...client.requests, ...other.requests], []);
  assert.equal(await ask(`GET ${client.url}${path}`), 'HTTP/1.1 200 OK');
});

test('ranges stay inside the volume', limit, async (t) => {
  const { client, ask } = await open(t);
  const line = (range: string) =>
    ask(`GET ${client.url}/pull/${TRANSFER}/1?token=${TOKEN} HTTP/1.1\r\nRange: ${range}\r\nX:`);
  assert.match(await line('bytes=10-19'), / 206 /);
  assert.match(await line('bytes=10-5000'), / 206 /);
  assert.match(await line('bytes=10-'), / 206 /);
  for (const range of ['bytes=1000-', 'bytes=5-4', 'bytes=-5', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=x']) {
    assert.match(await line(range), / 416 /, range);
  }
  assert.deepEqual(client.requests, ['1 bytes=10-19', '1 bytes=10-999', '1 bytes=10-999']);
});

test('closing it ends what is under way', limit, async (t) => {
  const client = await serve(t, (_request, response) =>
    response.writeHead(200, { 'content-length': 1000 }).write('x'),
  );
  const proxy = await PullProxy.open({
    addresses: checkPullAddress(client.url, TOKEN).of(TRANSFER),
    sizes: new Map([[1, 1000]]),
    allow: () => true,
    stop: (reason) => assert.fail(reason),
  });
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  socket.on('error', () => {}); // a reset is an end too
  socket.write(`GET ${client.url}/pull/${TRANSFER}/1?token=${TOKEN} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, 'data');
  await Promise.all([once(socket, 'close'), proxy.close()]);
});

test('closing it does not wait for a name that never resolves', limit, async (t) => {
  const lookup = t.mock.method(dns, 'lookup', () => new Promise(() => {}));
  const addresses = checkPullAddress('http://client.test', TOKEN).of(TRANSFER);
  const sizes = new Map([[1, 1000]]);
  const proxy = await PullProxy.open({
    addresses,
    sizes,
    allow: () => true,
    stop: (reason) => assert.fail(reason),
  });
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  socket.on('error', () => {}); // a reset is an end too
  socket.write(`GET ${addresses.listed(1)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => lookup.mock.callCount() === 1);
  await Promise.all([once(socket, 'close'), proxy.close()]);
});
