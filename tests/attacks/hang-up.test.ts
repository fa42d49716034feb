/** Clients that hang up, and requests that are refused as expected, are no faults of the server: no 5xx, no stack in the log. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { contentDigest, pathOf } from '@szafa/protocol';
import {
  assertError,
  assertOk,
  eventually,
  makeFile,
  register,
  sha256,
  upload,
  usually,
  withService,
} from '../harness/index.ts';
import { reset } from './reset.ts';

const TIMES = usually(100, 600);
const MOST_TIMES = 20 * TIMES;
const AT_ONCE = 20;

const errorsIn = (log: string) => log.split('\n').filter((line) => /"level":(50|60)/.test(line));

test('a client that hangs up behind whole requests is logged as 499, without a stack', async () => {
  await withService({}, async (service) => {
    const user = await register(service);
    const begun = await user.post(pathOf('init'), { streamed: true });
    assertOk(begun);
    const transferId = String(begun.json['transfer_id']);
    const body = 'hello';
    const put = (idx: number) =>
      [
        `PUT ${pathOf('writeVolume', { transfer_id: transferId, idx })} HTTP/1.1`,
        'Host: x',
        `Authorization: Bearer ${user.token}`,
        `Content-Digest: ${contentDigest(sha256(Buffer.from(body)))}`,
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n');
    const hangUp = (first: number) =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
        socket.on('error', () => undefined).on('close', () => resolve());
        // Several at once are not for the fast lane.
        const requests = Array.from({ length: 5 }, (_, at) => put(first + at)).join('');
        socket.write(requests, () => reset(socket));
      });
    // A server that is fast enough answers before it sees the reset: more are sent until one was too late for it.
    for (let at = 0; at < TIMES || (at < MOST_TIMES && !/"status":499/.test(service.log)); at += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, by) => hangUp(1 + ((at + by) % 1000) * 5)));
    }
    // Lines are written a little later.
    assertOk(await user.get(pathOf('me')));
    await eventually(async () => assert.match(service.log, /"status":499/));
    await service.terminate();
    assert.deepEqual(errorsIn(service.log), []);
    assert.doesNotMatch(service.log, /"status":5\d\d/);
    await service.start();
  });
});

test('an upload beyond the quota or the free space, and a write while read-only, is one line in the log', async () => {
  const env = { SZ_QUOTA: '1000', SZ_QUOTA_ENFORCE: '1' };
  await withService({ env }, async (service) => {
    const user = await register(service);
    await upload(user, makeFile([800]));
    assertError(await user.post(pathOf('init'), makeFile([900]).init), 507);
    const readOnly = (on: boolean) =>
      service.call({
        method: 'PUT',
        path: pathOf('setReadOnly'),
        token: service.systemToken,
        json: { read_only: on },
      });
    assertOk(await readOnly(true));
    // Every worker learns it within a moment.
    await eventually(async () =>
      assertError(await user.post(pathOf('createDir'), { name: randomUUID() }), 503),
    );
    assertOk(await readOnly(false));
    await service.restart({ env: { ...env, SZ_MIN_FREE: String(Number.MAX_SAFE_INTEGER), SZ_WORKERS: '1' } });
    assertError(await user.post(pathOf('init'), makeFile([10]).init), 507);
    await service.terminate();
    assert.deepEqual(errorsIn(service.log), []);
    assert.equal(service.log.match(/"level":40.*"status":507/g)?.length, 2);
    await service.start();
  });
});
