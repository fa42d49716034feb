import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import { after, before, test } from 'node:test';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Ceph } from '../../tests/engines/ceph.ts';
import { usually } from '../../tests/harness/long.ts';
import { errorOf, readAnswer, S3Client } from '../src/platform/s3/client.ts';
import { keys, S3Store } from '../src/platform/s3/store.ts';
import type { Body } from '../src/platform/volumes/body.ts';
import type { Manifest } from '../src/platform/volumes/store.ts';
import { volumesContract } from './volumes.contract.ts';
import { bodyOf, newId, readAll, type VolumeEngine, volumeOf } from './volumes.fixture.ts';

let ceph: Ceph;
before(async () => {
  ceph = await Ceph.start();
});
after(() => ceph.stop());

const stores = async (client: S3Client, close: () => void): Promise<VolumeEngine> => {
  return {
    open: async () => new S3Store(client),
    leftovers: async () => {
      // Volumes of groups that are no more.
      const left: string[] = [];
      for await (const { key } of client.list('volumes/', { delimiter: '/' })) {
        if ((await client.size(keys.marker(key.slice('volumes/'.length, -1)))) === undefined) left.push(key);
      }
      return left;
    },
    destroy: async () => {
      client.close();
      close();
    },
  };
};

const plain = () => stores(ceph.client('contract'), () => undefined);

async function behindTls(): Promise<VolumeEngine> {
  const pem = readFileSync(
    new URL('../../tests/cross/certificates/self-signed.pem', import.meta.url),
    'utf8',
  );
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, pem]);
  const proxy = createServer({ key: pem, cert: pem }, (near) => {
    const far = connect(ceph.port, '127.0.0.1');
    pipeline(near, far, near, () => undefined /* either end may hang up */);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const endpoint = new URL(`https://localhost:${(proxy.address() as AddressInfo).port}`);
  const location = { bucket: ceph.bucket, prefix: 'tls/', endpoint, region: 'us-east-1' };
  const client = new S3Client(location, ceph.credentials);
  return stores(client, () => {
    proxy.close();
    setDefaultCACertificates(trusted);
  });
}

// test:long comes after npm test: it has the same with TLS between.
volumesContract(usually('an S3 store', 'an S3 store behind TLS'), usually(plain, behindTls));

test('a volume goes to a store behind TLS, and comes back', async () => {
  const engine = await behindTls();
  const store = await engine.open('one');
  const [id, bytes] = [newId(), randomBytes(300_000)];
  await store.create(id);
  await store.put(id, volumeOf(bytes), bodyOf(bytes));
  assert.ok((await readAll(store, id))?.equals(bytes));
  await store.remove(id);
  await engine.destroy();
});

test('a file’s body is read while its marker is on its way, and its volume comes after the marker', async () => {
  const client = ceph.client('marker');
  const store = new S3Store(client);
  const [id, bytes] = [newId(), randomBytes(30_000)];
  const volume = volumeOf(bytes);
  const read = Promise.withResolvers<void>();
  const steps: string[] = [];
  const write = client.write.bind(client);
  client.write = async (key, content) => {
    if (key === keys.marker(id)) await read.promise;
    steps.push(key);
    return write(key, content);
  };
  const body: Body = { pour: (sink) => bodyOf(bytes).pour(sink).finally(read.resolve) };
  const manifest = { file_id: id, volumes: [volume] } as Manifest;
  await store.putFile(manifest, volume, body);
  assert.deepEqual(steps, [keys.marker(id), keys.volume(id, volume), keys.manifest(id)]);

  // Where the marker cannot be written there is no volume either.
  const refused = newId();
  client.write = async (key, content) => {
    if (key === keys.marker(refused)) throw new Error('no marker');
    return write(key, content);
  };
  await assert.rejects(store.putFile({ ...manifest, file_id: refused }, volume, bodyOf(bytes)), /no marker/);
  assert.equal(await client.size(keys.volume(refused, volume)), undefined);
  await store.remove(id);
  client.close();
});

test('the store itself refuses a body with another digest than was signed, and keeps what was there', async () => {
  const client = ceph.client('digest');
  const [good, bad] = [randomBytes(200_000), randomBytes(200_000)];
  await client.write('k', good);
  const request = client.begin({ method: 'PUT', key: 'k' }, volumeOf(good).sha256, bad.length);
  const answered = once(request, 'response');
  request.end(bad);
  const [response] = (await answered) as [IncomingMessage];
  const refusal = errorOf({ method: 'PUT', key: 'k' }, await readAnswer(response));
  assert.deepEqual([refusal.status, refusal.code], [400, 'XAmzContentSHA256Mismatch']);
  assert.ok((await client.read('k'))?.equals(good));
  client.close();
});

// In every run server/test/s3-requests shows that a list goes on.
test('more objects than fit one answer are listed and deleted', {
  skip: usually('for test:long', false),
}, async () => {
  const client = ceph.client('many');
  const store = new S3Store(client);
  const count = 1100;
  const id = newId();
  await store.create(id);
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const queue = numbers.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const idx of queue)
        await client.write(keys.volume(id, volumeOf(Buffer.from('x'), idx)), Buffer.from('x'));
    }),
  );
  assert.deepEqual(await store.received(id), numbers);
  await store.remove(id);
  assert.deepEqual(await Array.fromAsync(client.list('')), []);
  client.close();
});
