import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { StoreUnavailable } from '../src/platform/errors.ts';
import { S3Client } from '../src/platform/s3/client.ts';
import { S3Error } from '../src/platform/s3/errors.ts';
import { S3Store } from '../src/platform/s3/store.ts';
import { elements } from '../src/platform/s3/xml.ts';
import { newName } from '../src/platform/volumes/names.ts';
import { bodyOf, newId, volumeOf } from './volumes.fixture.ts';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

type Reply = { status: number; body?: string } | 'silence';

const open: { server: Server; client: S3Client }[] = [];
afterEach(() => {
  for (const { server, client } of open.splice(0)) {
    client.close();
    server.close();
    server.closeAllConnections();
  }
});

/** A store of our own making that takes every request down and answers as it is told. */
async function storeThat(
  reply: (request: Seen, count: number) => Reply = () => ({ status: 200 }),
  limits = { silenceMs: 10_000, totalMs: 10_000 },
) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      // Broken off by the client, as some of these tests want it.
      return;
    }
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(parts) };
    seen.push(one);
    const answer = reply(one, seen.length);
    if (answer !== 'silence') response.writeHead(answer.status).end(answer.body ?? '');
  });
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const location = { bucket: 'b', prefix: 'p/', endpoint, region: 'us-east-1' };
  const client = new S3Client(location, { accessKeyId: 'a', secretAccessKey: 's' }, limits);
  open.push({ server, client });
  return { seen, client, store: new S3Store(client) };
}

test('a PUT of any size signs the digest of the specification, so that the store verifies what we verify', async () => {
  const { seen, store } = await storeThat();
  for (const size of [0, 1000, 64 * 1024 + 1, 3_000_000]) {
    const bytes = randomBytes(size);
    const volume = volumeOf(bytes);
    const id = newId();
    await store.put(id, volume, bodyOf(bytes));
    const put = seen.find(
      ({ method, url }) => method === 'PUT' && url === `/b/p/volumes/${id}/${newName(volume)}`,
    )!;
    assert.equal(put.headers['x-amz-content-sha256'], volume.sha256);
    assert.match(put.headers.authorization!, /SignedHeaders=[^,]*x-amz-content-sha256/);
    assert.equal(put.headers['content-length'], String(size));
    assert.equal(put.headers['transfer-encoding'], undefined, 'as it is, not in signed pieces');
    assert.ok(put.body.equals(bytes));
  }
});

test('a copy is made by the store: no byte of it comes here', async () => {
  const id = newId();
  const { seen, store } = await storeThat(() => ({ status: 200 }));
  const to = newId();
  const volumes = [1, 2].map((idx) => volumeOf(randomBytes(9), idx));
  await store.copy(id, to, volumes);
  const copies = seen.filter(({ url }) => url.startsWith('/b/p/volumes/'));
  assert.deepEqual(
    copies
      .map(({ method, url, headers, body }) => [method, url, headers['x-amz-copy-source'], body.length])
      .sort(),
    volumes
      .map(newName)
      .map((name) => ['PUT', `/b/p/volumes/${to}/${name}`, `/b/p/volumes/${id}/${name}`, 0]),
  );
});

test('a list goes on where the store cut it off, until all of it is told', async () => {
  const token = 'to be&gone on + with=';
  const { seen, client } = await storeThat(({ url }) => {
    const isFirst = new URL(url, 'http://s').searchParams.get('continuation-token') === null;
    const [keys, more] = isFirst ? [['k/1', 'k/2'], true] : [['k/3'], false];
    const contents = keys.map((key) => `<Contents><Key>p/${key}</Key><Size>7</Size></Contents>`).join('');
    const next = more ? `<NextContinuationToken>${token.replace('&', '&amp;')}</NextContinuationToken>` : '';
    const body = `<ListBucketResult><IsTruncated>${more}</IsTruncated>${contents}${next}</ListBucketResult>`;
    return { status: 200, body };
  });
  const listed = await Array.fromAsync(client.list('k/'), ({ key }) => key);
  assert.deepEqual(listed, ['k/1', 'k/2', 'k/3']);
  const asked = seen.map(({ url }) => new URL(url, 'http://s').searchParams);
  assert.deepEqual(
    asked.map((query) => [query.get('prefix'), query.get('continuation-token')]),
    [
      ['p/k/', null],
      ['p/k/', token],
    ],
  );
});

test('objects are deleted a thousand at a time', async () => {
  const { seen, client } = await storeThat();
  await client.delete(Array.from({ length: 2100 }, (_, at) => `k/${at}`));
  assert.deepEqual(
    seen.map(({ method, url, body }) => [method, url, elements(body.toString(), 'Key').length]),
    [1000, 1000, 100].map((count) => ['POST', '/b?delete=', count]),
  );
  for (const { headers, body } of seen) {
    assert.equal(headers['content-md5'], createHash('md5').update(body).digest('base64'));
  }
});

test('a group loses its marker before its volumes are listed, so that no volume comes in unseen', async () => {
  const { seen, store } = await storeThat();
  const id = newId();
  await store.remove(id);
  const marker = seen.findIndex(
    ({ url, body }) => url === '/b?delete=' && String(body).includes(`groups/${id}`),
  );
  const list = seen.findIndex(({ url }) => url.includes('list-type=2'));
  assert.ok(marker >= 0 && list > marker, seen.map(({ method, url }) => `${method} ${url}`).join('\n'));
});

const bytes = randomBytes(200_000);
const small = bytes.subarray(0, 1000);
const calls: Record<string, (client: S3Client) => Promise<unknown>> = {
  PUT: (client) => client.write('k', small),
  'a small volume': (client) => new S3Store(client).putFile(manifest(), volumeOf(small), bodyOf(small)),
  COPY: (client) => client.copy('k', 'to'),
  LIST: (client) => Array.fromAsync(client.list('k')),
  DELETE: (client) => client.delete(['k']),
  GET: (client) => client.read('k'),
  HEAD: (client) => client.size('k'),
  'the opening of a volume': (client) =>
    new S3Store(client).open(newId(), volumeOf(small)).then((open) => open?.close()),
};
const manifest = () => ({ file_id: newId(), volumes: [] }) as unknown as Parameters<S3Store['putFile']>[0];

for (const [name, call] of Object.entries(calls)) {
  test(`a store that is busy for a moment is asked again, and one that is silent is given up: ${name}`, async () => {
    const busy = await storeThat((_, count) => ({ status: count === 1 ? 503 : 200 }));
    await call(busy.client);
    const [first, second] = busy.seen;
    assert.deepEqual([second?.method, second?.url, second?.body], [first?.method, first?.url, first?.body]);

    const away = await storeThat(() => ({ status: 503 }), { silenceMs: 300, totalMs: 300 });
    await assert.rejects(call(away.client), StoreUnavailable);

    const silent = await storeThat(() => 'silence', { silenceMs: 100, totalMs: 100 });
    await assert.rejects(call(silent.client), StoreUnavailable);
  });
}

test('a large PUT is not sent twice by us, whatever the store says; silence ends it', async () => {
  const put = (client: S3Client) => new S3Store(client).put(newId(), volumeOf(bytes), bodyOf(bytes));
  const large = randomBytes(3_000_000);
  const putLarge = (client: S3Client) => new S3Store(client).put(newId(), volumeOf(large), bodyOf(large));
  const busy = await storeThat(() => ({ status: 503 }));
  await assert.rejects(putLarge(busy.client), StoreUnavailable);
  assert.equal(busy.seen.length, 1, 'the client has the bytes, we do not');
  for (const one of [put, putLarge]) {
    const silent = await storeThat(() => 'silence', { silenceMs: 100, totalMs: 100 });
    await assert.rejects(one(silent.client), StoreUnavailable);
  }
});

test('what fails inside a 200 has failed: it is tried again, and told', async () => {
  const failure = '<Error><Code>InternalError</Code></Error>';
  for (const call of [calls['COPY']!, calls['DELETE']!]) {
    const once = await storeThat((_, count) => ({ status: 200, body: count === 1 ? failure : '' }));
    await call(once.client);
    assert.equal(once.seen.length, 2);
    const ever = await storeThat(() => ({ status: 200, body: failure }), { silenceMs: 300, totalMs: 300 });
    await assert.rejects(call(ever.client), StoreUnavailable);
  }
});

test('a refusal is not asked again', async () => {
  for (const [name, call] of Object.entries(calls)) {
    const { seen, client } = await storeThat(() => ({
      status: 403,
      body: '<Error><Code>AccessDenied</Code></Error>',
    }));
    await assert.rejects(call(client), (error) => error instanceof S3Error && error.status === 403, name);
    // The short way of a GET leaves what it does not know to the long one.
    assert.ok(seen.length <= 2, `${name}: asked ${seen.length} times`);
  }
});
