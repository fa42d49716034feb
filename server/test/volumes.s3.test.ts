import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import { after, before } from 'node:test';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Ceph } from '../../tests/engines/ceph.ts';
import { S3Client } from '../src/s3/client.ts';
import { keys, S3Store } from '../src/volumes/s3.ts';
import { type VolumeEngine, volumesContract } from './volumes.contract.ts';

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
        if ((await client.size(keys.spec(key.slice('volumes/'.length, -1)))) === undefined) left.push(key);
      }
      return left;
    },
    destroy: async () => {
      client.close();
      close();
    },
  };
};

volumesContract('an S3 store', () => stores(ceph.client('contract'), () => undefined));

volumesContract('an S3 store behind TLS', async () => {
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
});
