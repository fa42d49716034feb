import { after, before } from 'node:test';
import { Ceph } from '../../tests/engines/ceph.ts';
import { keys, S3Store } from '../src/volumes/s3.ts';
import { volumesContract } from './volumes.contract.ts';

let ceph: Ceph;
before(async () => {
  ceph = await Ceph.start();
});
after(() => ceph.stop());

volumesContract('an S3 store', async () => {
  const client = ceph.client('contract');
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
    destroy: async () => client.close(),
  };
});
