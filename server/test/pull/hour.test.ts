import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import { InProcess } from '../in-process.ts';
import { honest, serve, TOKEN } from './fixture.ts';

/** "The pull is aborted after 3600 seconds." They are not waited for: what is due then is called at once. */
test('a pull is aborted after 3600 s: 409; nothing is asked for any more or recorded, the next one goes on', async (t) => {
  assert.equal(limits.pullSeconds, 3600);
  const service = await InProcess.start(t);
  const bytes = [randomBytes(1000), randomBytes(2000)];
  const transfer_id = await service.begin(bytes);
  const volumes = new Map(bytes.map((volume, at) => [at + 1, volume]));
  const reached = Promise.withResolvers<void>();
  const dropped = Promise.withResolvers<void>();
  let silent = true;
  const client = await serve(t, (request, response, idx) => {
    if (idx !== 2 || !silent) return honest(volumes)(request, response, idx);
    response.on('close', dropped.resolve);
    reached.resolve();
  });
  const timers = t.mock.method(globalThis, 'setTimeout');
  const path = pathOf('pull', { transfer_id });
  const running = service.call('POST', path, { base_url: client.url, token: TOKEN });
  await reached.promise;
  const landed = async () =>
    (await service.call('GET', pathOf('pullStatus', { transfer_id }))).json['pulled'];
  for (let tries = 0; tries < 200 && (await landed()) !== 1; tries++)
    await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 50)));
  const hour = timers.mock.calls.filter(({ arguments: [, delay] }) => delay === 3_600_000);
  assert.equal(hour.length, 1, 'one timer of 3600 s for one pull');
  timers.mock.restore();
  hour[0]!.arguments[0]!();

  const answer = await running;
  assert.deepEqual([answer.status, Object.keys(answer.json)], [409, ['error']]);
  assert.match(String(answer.json['error']), /too long/);
  await dropped.promise;
  const received = await service.call('GET', pathOf('received', { transfer_id }));
  assert.deepEqual(received.json, { received: [] });

  silent = false;
  const again = await service.call('POST', path, { base_url: client.url, token: TOKEN });
  assert.deepEqual(again.json, { ok: true, pulled: 2, total: 2 });
  assert.deepEqual(client.requests, ['1', '2', '2'], 'what had landed is not asked for again');
});
