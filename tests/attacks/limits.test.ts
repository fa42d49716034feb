/** Transfers, quota and pulls: what an account may have at once, however it asks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  begin,
  complete,
  eventually,
  makeDir,
  makeFile,
  PullServer,
  putAll,
  register,
  sendRaw,
  sha256,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService({
  env: {
    SZ_QUOTA: '1000',
    SZ_QUOTA_ENFORCE: '1',
    SZ_OPEN_TRANSFERS: '5',
    SZ_OPEN_VOLUMES: '20000',
    SZ_PULLS_ACCOUNT: '2',
    SZ_PULLS: '3',
  },
});
const TOKEN = 'one-time-pull-token-0123456789';

const init = (user: User, file = makeFile([1])) => user.post(pathOf('init'), file.init);
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();
const cancel = (user: User, transferId: string) => user.delete(pathOf('cancel', { transfer_id: transferId }));
const used = async (user: User) => Number((await user.get(pathOf('quota'))).json['used_bytes']);

test('open transfers of an account are bounded, also when all are begun at once; those that are done do not count', async () => {
  const user = await register(service);
  const answers = await Promise.all(Array.from({ length: 12 }, () => init(user)));
  assert.deepEqual(statuses(answers), [...Array(5).fill(200), ...Array(7).fill(429)]);
  const refused = answers.find(({ status }) => status === 429)!;
  assertError(refused, 429);
  assert.match(refused.text, /complete or cancel/);
  assert.ok(Number(refused.headers['retry-after']) >= 1);
  const open = answers.find(({ status }) => status === 200)!;
  assertOk(await cancel(user, String(open.json['transfer_id'])));
  for (let at = 0; at < 8; at++) await upload(user, makeFile([1]));
  assertOk(await init(user));
  assertError(await init(user), 429);
});

test('ten thousand empty volumes cost no quota and are bounded all the same', async () => {
  const user = await register(service);
  const empty = sha256(Buffer.alloc(0));
  const chunks = Array.from({ length: 10_000 }, () => ({ size: 0, sha256: empty }));
  const many = { ...makeFile([]).init, chunk_count: 10_000, chunks };
  assertOk(await user.post(pathOf('init'), many));
  assertOk(await user.post(pathOf('init'), many));
  assertError(await user.post(pathOf('init'), many), 429);
  assertError(await init(user), 429);
});

test('an enforced quota is that of who completes', async () => {
  const [ann, ben] = [await register(service), await register(service)];
  const answers: Answer[] = [];
  for (let at = 0; at < 3; at++) {
    const file = makeFile([400]);
    const transferId = await begin(ann, file);
    await putAll(ann, transferId, file);
    answers.push(await complete(ben, transferId));
    if (answers.at(-1)!.status === 200) continue;
    assertError(answers.at(-1)!, 507);
    assertOk(await complete(ann, transferId));
  }
  assert.deepEqual(statuses(answers), [200, 200, 507]);
  assert.deepEqual([await used(ben), await used(ann)], [800, 400]);
});

test('twelve clones at once do not pass an enforced quota', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([200]));
  const dirs = await Promise.all(Array.from({ length: 12 }, () => makeDir(user)));
  const answers = await Promise.all(
    dirs.map((dirId) => user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId })),
  );
  assert.deepEqual(statuses(answers), [...Array(4).fill(200), ...Array(8).fill(507)]);
  assert.equal(await used(user), 1000);
});

const pull = (user: User, transferId: string, baseUrl: string, headers: Record<string, string> = {}) =>
  user.call('POST', pathOf('pull', { transfer_id: transferId }), {
    json: { base_url: baseUrl, token: TOKEN },
    headers,
  });

/** A client's server that says nothing until it is told to. */
async function silentServer() {
  const file = makeFile([10]);
  const opened = Promise.withResolvers<void>();
  const server = await new PullServer(file, { answer: () => opened.promise.then(() => false) }).listen();
  const seen = () => new Set(server.requests.map(({ transferId }) => transferId));
  return { server, file, seen, open: () => opened.resolve() };
}

test('so many pulls at once for an account, and for a node; the others wait a while and get 429', async () => {
  const [ann, ben] = [await register(service), await register(service)];
  const { server, file, seen, open } = await silentServer();
  await using _ = server;
  const start = async (user: User) => pull(user, await begin(user, file), server.url);
  const running = [start(ann), start(ann), start(ben)];
  await eventually(async () => assert.equal(seen().size, 3));
  const refused = await Promise.all([start(ann), start(ann), start(ben)]);
  for (const answer of refused) {
    assertError(answer, 429);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
  }
  assert.equal(seen().size, 3);
  // Whoever waits when a place gets free gets it.
  const waiting = start(ann);
  open();
  for (const answer of await Promise.all([...running, waiting]))
    assertOk(answer, { ok: true, pulled: 1, total: 1 });
});

test('a cancelled transfer ends its pull: its tool is not left to run for an hour', async () => {
  const user = await register(service);
  const { server, file, seen } = await silentServer();
  await using _ = server;
  const transferId = await begin(user, file);
  const pulled = pull(user, transferId, server.url);
  await eventually(async () => assert.equal(seen().size, 1));
  assertOk(await cancel(user, transferId));
  assertError(await pulled, 404);
});

/** A pull is refused, and nothing was asked of the address. */
async function assertRefused(
  user: User,
  ask: (transferId: string, baseUrl: string) => Promise<number>,
): Promise<void> {
  const file = makeFile([10]);
  await using server = await new PullServer(file).listen();
  assert.equal(await ask(await begin(user, file), server.url), 409);
  assert.deepEqual(server.requests, []);
}

for (const [name, value] of [
  ['X-Forwarded-For', '203.0.113.9'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['Forwarded', 'for=203.0.113.9'],
  ['Via', '1.1 proxy'],
  ['X-Real-IP', '203.0.113.9'],
  ['Host', 'files.example.org'],
] as const) {
  test(`behind a proxy that is not trusted (${name}: ${value}) no address is the caller's own`, async () => {
    const user = await register(service);
    await assertRefused(user, async (transferId, url) => {
      const answer = await pull(user, transferId, url, { [name]: value });
      assertError(answer, 409);
      return answer.status;
    });
  });
}

test('nor with HTTP/1.0, as nginx speaks it where it adds no header; without a sign of a proxy it is', async () => {
  const user = await register(service);
  const { host } = new URL(service.url);
  await assertRefused(user, async (transferId, url) => {
    const body = JSON.stringify({ base_url: url, token: TOKEN });
    const { statuses: found } = await sendRaw(
      service.url,
      `POST ${pathOf('pull', { transfer_id: transferId })} HTTP/1.0\r\nHost: ${host}\r\nConnection: close\r\n` +
        `Authorization: Bearer ${user.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return found[0]!;
  });
  const file = makeFile([10]);
  await using server = await new PullServer(file).listen();
  for (const headers of [{}, { Host: `localhost:${new URL(service.url).port}` }]) {
    assertOk(await pull(user, await begin(user, file), server.url, headers));
  }
});
