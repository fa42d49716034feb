/** Who sends bytes reads a Range header as the others do: the service, the server of a pull, the page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutOf } from '@szafa/format';
import { pullHost } from '../../client/src/node/transfers/pull-server.ts';
import type { VolumeSupply } from '../../client/src/transfers/upload/supply.ts';
import { answerTo } from '../../web/src/transfers/outlet.worker.ts';
import { makeFile, readVolume, sharedUser, upload, useService } from '../harness/index.ts';

const service = useService();
const SIZE = 100;
const RANGES: [header: string, status: number, range?: string][] = [
  ['bytes=0-9', 206, 'bytes 0-9/100'],
  ['bytes=-5', 206, 'bytes 95-99/100'],
  ['bytes= 90 - 200', 206, 'bytes 90-99/100'],
  ['bytes=100-', 416, 'bytes */100'],
  ['bytes=-0', 416, 'bytes */100'],
  ['bytes=9-5', 200],
  ['bytes=0-1,5-6', 200],
  ['bytes=x', 200],
];

test('a range is answered alike by service, pull server and page', async () => {
  const user = await sharedUser(service);
  const { fileId } = await upload(user, makeFile([SIZE]));
  const layout = layoutOf(SIZE);
  // A sealed volume is 72 bytes longer than what is in it.
  const supply = { layout: layoutOf(SIZE - 72) } as VolumeSupply;
  const offer = await pullHost({ server: service.url, host: '127.0.0.1' }).serve('t', supply);
  try {
    for (const [header, status, contentRange] of RANGES) {
      const expected = { status, range: contentRange };
      const given = await readVolume(user, fileId, 1, { range: header });
      assert.deepEqual({ status: given.status, range: given.headers['content-range'] }, expected, header);
      const url = `${offer.baseUrl}/pull/t/1?token=${offer.token}`;
      const pulled = await fetch(url, { method: 'HEAD', headers: { range: header } });
      const range = pulled.headers.get('content-range') ?? undefined;
      assert.deepEqual({ status: pulled.status, range }, expected, `${header}, pull server`);
      const remote = { layout, metadata: { name: 'a.txt', type: '' } } as Parameters<typeof answerTo>[0];
      const request = { range: header, attachment: false } as Parameters<typeof answerTo>[1];
      const { head } = answerTo(remote, request);
      const shown = { status: head.status, range: head.headers['content-range'] };
      assert.deepEqual(shown, expected, `${header}, page`);
    }
  } finally {
    await offer.close();
  }
});
