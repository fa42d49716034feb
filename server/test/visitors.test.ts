import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { headers, pathOf } from '@szafa/protocol';
import { InProcess } from './in-process.ts';

const random = (bytes: number) => randomBytes(bytes).toString('base64url');

test('of an account that is deleted while a visitor begins an upload, as much is known as of a request that never was', async (t) => {
  const service = await InProcess.start(t);
  const { requests, departures } = service.services.metadata;
  const post = async (path: string, json: object, more: Record<string, string>) => {
    const sent = { 'content-type': 'application/json', ...more };
    const answer = await fetch(service.url + path, {
      ...{ method: 'POST', headers: sent, body: JSON.stringify(json) },
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };
  const access = random(32);
  const hash = createHash('sha256').update(access).digest('hex');
  const begin = (request_id: string) =>
    post(
      pathOf('beginUpload', { request_id }),
      { upload_token: random(32), chunk_count: 1, chunks: [{ size: 10 }] },
      { [headers.shareAccess]: access },
    );
  const never = await begin(random(16));
  assert.equal(never.status, 404);

  const account = { username: 'owner', password: 'a password of some length' };
  const { token } = (await post(pathOf('register'), account, {})).json;
  const texts = { id: random(16), header: random(33), access: hash, own: random(60) };
  const body = { ...texts, max_files: 5, max_bytes: 1000 };
  const made = await post(pathOf('createRequest'), body, { authorization: `Bearer ${token}` });
  assert.deepEqual(made, { status: 200, json: { ok: true } });
  assert.equal((await begin(body.id)).status, 200);
  const find = requests.find.bind(requests);
  t.mock.method(requests, 'find', async (...args: Parameters<typeof find>) => {
    const found = await find(...args);
    await departures.begin(account.username, { actor: 'account', now: Date.now() });
    return found;
  });
  assert.deepEqual(await begin(body.id), never);
});
