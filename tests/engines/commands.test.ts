import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ListedSession, pathOf } from '@szafa/protocol';
import {
  assertError,
  assertOk,
  assertReadable,
  beginStreamed,
  checkInvariants,
  complete,
  completeStreamed,
  eventually,
  listFiles,
  makeDir,
  makeFile,
  putStreamed,
  putVolume,
  received,
  register,
  type Service,
  User,
  volumeName,
} from '../harness/index.ts';
import { type Content, fill, useEngines } from './commands.ts';
import { Kept } from './kept.ts';
import { type Meddling, S3Proxy } from './s3-proxy.ts';

const engines = useEngines();
const run = engines.run.bind(engines);
const large = engines.large.bind(engines);

/** Asserts that the recovery key still works after a migration. */
async function assertRecovers(
  service: Service,
  { user: { username }, keys, recovery }: Content,
): Promise<void> {
  const json = { username, recovery };
  const answer = await service.call({ method: 'POST', path: pathOf('recover'), json });
  assertOk(answer);
  assert.equal(answer.json['keys'], keys);
}

/** Asserts that all content survived and the account still works: an upload can be finished, and a new directory gets a new ID. */
async function assertSame(service: Service, content: Content): Promise<void> {
  const user = new User(service, content.user.username, content.user.password, content.user.token);
  for (const { fileId, file } of content.files) await assertReadable(user, fileId, file);
  assertOk(await service.call({ path: pathOf('service') }), content.about);
  assertOk(await user.get(pathOf('readKeys')), { keys: content.keys });
  await assertRecovers(service, content);
  assert.equal((await user.get(pathOf('factors'))).json['totp'], true);
  const { sessions } = (await user.get(pathOf('listSessions'))).json as { sessions: ListedSession[] };
  assert.deepEqual(
    sessions.map(({ current }) => current),
    [true],
  );
  assert.deepEqual(await received(user, content.transferId), [2]);
  assert.equal((await putVolume(user, content.transferId, 1, content.pending.volumes[0]!)).status, 200);
  assert.equal((await complete(user, content.transferId)).status, 200);
  assert.equal((await listFiles(user)).length, content.files.length + 1);
  assert.ok((await makeDir(user, 'new')) > content.dirId);
  await checkInvariants(service, user.token);
}

test('migrate moves from the folder to PostgreSQL and S3, goes on where it was broken off, and back', async () => {
  const small = await engines.service();
  const content = await fill(small);
  const kept = await Kept.fill(small);
  const id = small.id;
  const target = `${large(id).SZ_DATABASE},${large(id).SZ_VOLUMES}`;
  const up = ['migrate', '--json', '--from', small.data, '--to', target];
  assert.equal((await run(up)).code, 2, 'the service runs');
  await small.terminate();

  // A damaged volume stops the migration. The second run copies only that volume.
  const { fileId, file } = content.files[0]!;
  const name = volumeName(1, file.volumes[0]!);
  const damaged = join(small.data, 'volumes', fileId.slice(0, 2), fileId, name);
  const bytes = await readFile(damaged);
  await writeFile(damaged, Buffer.concat([bytes.subarray(1), Buffer.from('x')]));
  const first = await run(up);
  assert.equal(first.code, 1, first.errors);
  assert.ok(
    first.lines.some((line) => line['problem'] === 'volumes with wrong bytes' && line['file'] === fileId),
  );
  await writeFile(damaged, bytes);
  const second = await run(up);
  assert.equal(second.code, 0, second.errors);
  assert.equal(second.lines.at(-1)!['volumes'], 1, 'only the one that was missing');
  assert.equal((await run(up)).code, 2, 'a database that is not empty is no target');

  const node = await engines.service(large(id));
  await assertSame(node, content);
  await kept.assertIn(node);
  // The service writes the account documents after it starts on the new stores.
  const s3 = engines.ceph.client(id);
  await eventually(async () => {
    const texts = [];
    for await (const { key } of s3.list('accounts/')) texts.push((await s3.read(key))?.toString());
    for (const { username } of [content.user, kept.user])
      assert.ok(texts.some((text) => text?.includes(username)));
  });
  s3.close();
  const back = join(engines.home, 'back');
  const home = ['migrate', '--json', '--from', target, '--to', back];
  for (const args of [home, ['migrate', '--from', small.data, '--to', target]]) {
    const refused = await run(args);
    assert.equal(refused.code, 2, refused.errors);
    assert.match(refused.errors, /stop every node first/);
  }
  await node.terminate();

  const down = await run(home);
  assert.equal(down.code, 0, down.errors);
  const again = await engines.service({ SZ_DATA: back });
  const user = new User(again, content.user.username, content.user.password, content.user.token);
  for (const { fileId: one, file } of content.files) await assertReadable(user, one, file);
  await checkInvariants(again, user.token);
  await kept.assertIn(again);
  const checked = await run(['fsck', '--json'], { SZ_DATA: back });
  assert.equal(checked.code, 0, checked.errors);
});

test('migrate takes streamed uploads under way along, with what they have received', async () => {
  const small = await engines.service();
  const user = await register(small);
  const file = makeFile([3000, 200]);
  const open = await Promise.all(
    (['sized', 'unsized'] as const).map((length) => beginStreamed(user, file, length)),
  );
  for (const transferId of open) assertOk(await putStreamed(user, transferId, 2, file.volumes[1]!));
  await small.terminate();
  const { SZ_DATABASE, SZ_VOLUMES } = large(small.id);
  const moved = await run(['migrate', '--from', small.data, '--to', `${SZ_DATABASE},${SZ_VOLUMES}`]);
  assert.equal(moved.code, 0, moved.errors);
  const node = await engines.service(large(small.id));
  const same = new User(node, user.username, user.password, user.token);
  for (const transferId of open) {
    assert.deepEqual(await received(same, transferId), [2]);
    assertError(await putStreamed(same, transferId, 2, randomBytes(200)), 409);
    assertOk(await putStreamed(same, transferId, 1, file.volumes[0]!));
    const done = await completeStreamed(same, transferId, file);
    await assertReadable(same, String(done.json['file_id']), file);
  }
  await node.terminate();
});

test('migrate that is killed is just run again: all arrives, verified, nothing twice', async () => {
  const small = await engines.service();
  const content = await fill(small);
  await small.terminate();
  const { SZ_DATABASE: database } = large(small.id);
  const args = (volumes: string) => [
    'migrate',
    '--json',
    '--from',
    small.data,
    '--to',
    `${database},${volumes}`,
  ];
  let puts = 0;
  const proxy = await S3Proxy.start(engines.ceph, {
    instead: (request) => {
      if (!isOf(request, 'PUT', '/volumes/') || ++puts < 3) return false;
      command.kill();
      return true;
    },
  });
  const command = engines.begin(args(proxy.url(small.id)));
  assert.equal((await command.ended).code, null, 'it was killed');
  proxy.stop();
  const again = await run(args(engines.ceph.url(small.id)));
  assert.equal(again.code, 0, again.errors);
  const { 'volumes already there': there = 0, volumes = 0 } = again.lines.at(-1) as Record<string, number>;
  assert.equal(there + volumes, 5);
  const env = { ...large(small.id) };
  const checked = await run(['fsck', '--json'], env);
  assert.equal(checked.code, 0, checked.errors);
  assert.equal(checked.lines.at(-1)!['volumes'], 5);
  const node = await engines.service(env);
  await assertSame(node, content);
});

test('check-store tells that these stores can be relied on', async () => {
  for (const [env, promises] of [
    [{ SZ_DATA: join(engines.home, 'check') }, 4],
    [large('check'), 8],
  ] as const) {
    const result = await run(['check-store', '--json'], env);
    assert.equal(result.code, 0, result.errors);
    assert.equal(result.lines.filter((line) => 'kept' in line).length, promises);
  }
  const s3 = engines.ceph.client('check');
  assert.deepEqual(await Array.fromAsync(s3.list('')), [], 'it takes away what it has made');
  s3.close();
});

const isOf = (request: IncomingMessage, method: string, part: string) =>
  request.method === method && request.url!.includes(part);

/** Answers matching requests in place of the store. */
const answered = (wanted: (request: IncomingMessage) => boolean, status: number, body = ''): Meddling => ({
  instead: (request, response) => {
    if (!wanted(request)) return false;
    request.resume().on('end', () => response.writeHead(status).end(body));
    return true;
  },
});

const EMPTY_LIST = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

for (const [name, promise, meddling] of [
  ['twice', /^conditional put/, { status: (_, status) => (status === 412 ? 200 : status) }],
  ['hash', /^the signed payload hash/, { status: (_, status) => (status === 400 ? 200 : status) }],
  ['stale', /^a volume can be read/, answered((request) => isOf(request, 'GET', '/volumes/'), 404)],
  [
    'list',
    /^a volume can be read/,
    answered((request) => isOf(request, 'GET', 'list-type=2'), 200, EMPTY_LIST),
  ],
  ['copy', /^a copy is made/, answered((request) => 'x-amz-copy-source' in request.headers, 405)],
  ['delete', /^objects are deleted/, answered((request) => isOf(request, 'POST', '?delete'), 200)],
  [
    'parts',
    /^an incomplete body/,
    { status: (request, status) => (request.method === 'HEAD' ? 200 : status) },
  ],
] as [name: string, promise: RegExp, meddling: Meddling][]) {
  test(`check-store names the promise that a store does not keep: ${name}`, async () => {
    const proxy = await S3Proxy.start(engines.ceph, meddling);
    const result = await run(['check-store', '--json'], { SZ_VOLUMES: proxy.url(name) });
    proxy.stop();
    assert.equal(result.code, 1, result.errors);
    const broken = result.lines.filter((line) => line['problem'] === 'checks failed');
    assert.ok(
      broken.some((line) => promise.test(String(line['promise'])) && line['why'] !== ''),
      result.errors,
    );
    assert.ok(
      result.lines.some((line) => 'kept' in line),
      'others are kept',
    );
  });
}

test('a command that cannot be run says why and what there is', async () => {
  assert.match((await run(['--help'])).errors, /check-store/);
  for (const args of [
    ['nonsense'],
    ['migrate', '--to', 'x'],
    ['fsck', '--rate', 'fast'],
    ['rescue'],
    ['fsck', '--what'],
  ]) {
    const { code, errors } = await run(args, { SZ_DATA: join(engines.home, 'none') });
    assert.equal(code, 2, args.join(' '));
    assert.match(errors, /^szafa: /);
  }
});
