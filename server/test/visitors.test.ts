import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { headers, pathOf } from '@szafa/protocol';
import { InProcess, initOf } from './in-process.ts';

const random = (bytes: number) => randomBytes(bytes).toString('base64url');

interface Sent {
  status: number;
  json: Record<string, unknown>;
}

const poster =
  ({ url }: InProcess) =>
  async (path: string, json: object, more: Record<string, string> = {}): Promise<Sent> => {
    const sent = { 'content-type': 'application/json', ...more };
    const answer = await fetch(url + path, { method: 'POST', headers: sent, body: JSON.stringify(json) });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };

test('of an account that is deleted while a visitor begins an upload, as much is known as of a request that never was', async (t) => {
  const service = await InProcess.start(t);
  const { requests, deletions } = service.services.metadata;
  const post = poster(service);
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
  const { token } = (await post(pathOf('register'), account)).json;
  const texts = { id: random(16), header: random(33), access: hash, own: random(60) };
  const body = { ...texts, max_files: 5, max_bytes: 1000 };
  const made = await post(pathOf('createRequest'), body, { authorization: `Bearer ${token}` });
  assert.deepEqual(made, { status: 200, json: { ok: true } });
  assert.equal((await begin(body.id)).status, 200);
  const find = requests.find.bind(requests);
  t.mock.method(requests, 'find', async (...args: Parameters<typeof find>) => {
    const found = await find(...args);
    await deletions.begin(account.username, { actor: 'account', now: Date.now() });
    return found;
  });
  assert.deepEqual(await begin(body.id), never);
});

test('what ends while a visitor begins is called ended, and not expired', async (t) => {
  const service = await InProcess.start(t);
  const post = poster(service);
  const { requests, shares } = service.services.metadata;
  const account = { username: 'owner', password: 'a password of some length' };
  const { token } = (await post(pathOf('register'), account)).json;
  const own = { authorization: `Bearer ${token}` };
  const access = random(32);
  const hash = createHash('sha256').update(access).digest('hex');
  const texts = () => ({ id: random(16), header: random(33), access: hash, own: random(60) });
  const visitor = { [headers.shareAccess]: access };
  /** Each is found as it is, and ended before the next look. */
  const endAfter = (table: typeof requests | typeof shares) => {
    const find = table.find.bind(table) as (...args: unknown[]) => Promise<unknown>;
    t.mock.method(table, 'find', async (...args: unknown[]) => {
      const found = await find(...args);
      await table.end(String(args[0]), Date.now(), 'account', account.username);
      return found;
    });
  };

  const request = { ...texts(), max_files: 5, max_bytes: 1000 };
  assert.equal((await post(pathOf('createRequest'), request, own)).status, 200);
  endAfter(requests);
  const upload = { upload_token: random(32), chunk_count: 1, chunks: [{ size: 10 }] };
  const begun = await post(pathOf('beginUpload', { request_id: request.id }), upload, visitor);
  assert.deepEqual([begun.status, begun.json['ended']], [410, 'ended']);

  const bytes = Buffer.from('shared');
  const { transfer_id } = (await post(pathOf('init'), initOf([bytes]), own)).json;
  const put = pathOf('writeVolume', { transfer_id: String(transfer_id), idx: 1 });
  assert.equal((await fetch(service.url + put, { method: 'PUT', headers: own, body: bytes })).status, 200);
  const completed = await post(pathOf('complete', { transfer_id: String(transfer_id) }), {}, own);
  const share = { ...texts(), files: [completed.json['file_id']] };
  assert.equal((await post(pathOf('createShare'), share, own)).status, 200);
  endAfter(shares);
  const taken = await post(pathOf('takeTicket', { share_id: share.id }), { ticket: random(32) }, visitor);
  assert.deepEqual([taken.status, taken.json['ended']], [410, 'ended']);
});
