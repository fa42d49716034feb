/** Requests for files: how one is made, what is told of it, and how it ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits, pathOf, type RequestBody, type UploadBody } from '@szafa/protocol';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  completeStreamed,
  eventually,
  listFiles,
  makeFile,
  putStreamed,
  register,
  upload,
  useService,
  WITHOUT_SHARES,
} from '../harness/index.ts';
import { ask, bodyOf, end, file, listed, service, strict, Visitor } from './requests.ts';
import { random } from './shares.ts';

const off = useService(WITHOUT_SHARES);

describe('requests', () => {
  test('whoever knows the link uploads, without an account, and the file is the owner’s, under a name of the service', async () => {
    const { owner, visitor, body } = await ask();
    const opened = await visitor.open();
    assertOk(opened, { header: body.header, expires_at: null, files_left: 5, bytes_left: 100_000 });
    assert.equal(opened.headers['cache-control'], 'no-store');
    const made = file();
    const fileId = await visitor.send(made);
    const [record, ...more] = await listFiles(owner);
    assert.deepEqual(more, []);
    assert.equal(record!.file_id, fileId);
    assert.equal(record!.file_name, `delivery-${body.id}`);
    assert.deepEqual([record!.size, record!.dir_id, record!.user_id], [4500, null, owner.username]);
    await assertReadable(owner, fileId, made);
    assertOk(await visitor.open(), {
      header: body.header,
      expires_at: null,
      files_left: 4,
      bytes_left: 95_500,
    });
    const [own] = await listed(owner);
    const { created_at, ...rest } = own!;
    assert.ok(Math.abs(Date.now() - Date.parse(created_at)) < 60_000);
    const counts = { max_files: 5, max_bytes: 100_000, delivered: 1, delivered_bytes: 4500, uploading: 0 };
    assert.deepEqual(rest, { id: body.id, own: body.own, ...counts, expires_at: null, ended: null });
    // What was delivered counts, whatever becomes of it.
    assertOk(await owner.delete(pathOf('deleteFile', { file_id: fileId })));
    assert.equal((await visitor.open()).json['files_left'], 4);
    await checkInvariants(service, owner.token);
  });

  test('without the right access every request is as one that never was, live or over', async () => {
    const [live, over, never] = [await ask(), await ask(), random(16)];
    assertOk(await end(over.owner, over.body.id));
    const strangers = [live.body.id, over.body.id, never].map((id) => new Visitor(service, id, random(32)));
    const answers = await Promise.all(strangers.flatMap((one) => [one.open(), one.begin(file())]));
    assert.deepEqual(
      new Set(answers.map(({ status, body }) => `${status} ${body}`)),
      new Set(['404 {"error":"there is no such link"}']),
    );
    for (const access of ['', 'x'.repeat(5000), '%00', live.body.access])
      assertError(await live.visitor.open(access), 404);
    assert.equal((await listed(live.owner))[0]!.uploading, 0);
  });

  test('who knows the link is told why it is over, and an upload under way ends with it', async () => {
    for (const why of ['ended', 'expired'] as const) {
      const { owner, visitor, body } = await (why === 'ended' ? ask({}, strict) : ask({}, strict, 5000));
      const made = file([500]);
      const { user, transferId } = await visitor.upload(made);
      assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!));
      if (why === 'ended') assertOk(await end(owner, body.id));
      else await new Promise((resolve) => setTimeout(resolve, Date.parse(body.expires_at!) - Date.now() + 5));
      assert.equal((await visitor.open()).json['ended'], why);
      assertError(await visitor.begin(made), 410);
      assertDetail(await putStreamed(user, transferId, 1, made.volumes[0]!), 401);
      assertDetail(await completeStreamed(user, transferId, made), 401);
      assert.deepEqual(await listFiles(owner), []);
      // The sweeper gives it up, and its bytes are free again.
      await eventually(async () => {
        const answer = await upload(owner, makeFile([1000])).catch(() => undefined);
        assert.ok(answer);
      });
      assert.deepEqual(
        (await listed(owner)).map(({ ended: over, uploading }) => [over, uploading]),
        why === 'ended' ? [] : [['expired', 0]],
      );
    }
  });

  test('bad bodies are refused, and only the owner sees and ends a request', async () => {
    const { owner, visitor, body } = await ask();
    const other = await register(service);
    assertError(await other.post(pathOf('createRequest'), { ...bodyOf('x'), id: body.id }), 409);
    assertError(await end(other, body.id), 404);
    assert.deepEqual(await listed(other), []);
    assertOk(await owner.post(pathOf('createRequest'), body));
    assertError(await owner.post(pathOf('createRequest'), { ...body, header: random(33) }), 409);
    const bad: Partial<Record<keyof RequestBody, unknown>>[] = [
      { id: 'short' },
      { header: '' },
      { header: 'not base64!' },
      { header: 'x'.repeat(limits.requestHeaderChars + 1) },
      { access: 'AB'.repeat(32) },
      { own: '' },
      { max_files: 0 },
      { max_files: limits.requestFiles + 1 },
      { max_files: '5' },
      { max_files: undefined },
      { max_bytes: 0 },
      { max_bytes: 1.5 },
      { max_bytes: 2 ** 60 },
      { expires_at: 'tomorrow' },
      { expires_at: '2020-01-01T00:00:00Z' },
    ];
    for (const over of bad)
      assertError(await owner.post(pathOf('createRequest'), { ...bodyOf('x'), ...over }), 400);
    const begins: Partial<Record<keyof UploadBody, unknown>>[] = [
      { upload_token: 'short' },
      { upload_token: undefined },
      { chunk_count: undefined },
      { chunk_count: 3 },
      { chunks: [] },
      { chunks: [{ size: -1 }, { size: 1 }] },
      {
        chunks: [
          { size: 1, idx: 1 },
          { size: 1, idx: 1 },
        ],
      },
      { chunks: [{ size: 2 ** 53 }, { size: 1 }] },
      { chunks: 'x' },
      // Each takes a file in the store, and none would be counted.
      { chunk_count: 2, chunks: [{ size: 0 }, { size: 0 }] },
      { chunk_count: 2, chunks: [{ size: limits.requestVolumeBytes - 1 }, { size: 0 }] },
      { chunk_count: 10_000, chunks: Array(10_000).fill({ size: 9 }) },
    ];
    for (const over of begins) assertError(await visitor.begin(file(), random(32), over), 400);
    assert.equal((await listed(owner)).length, 1);
    assert.equal((await visitor.open()).json['files_left'], 5);
    assertError(await admin(service).get(pathOf('listRequests')), 403);
  });

  test('of an account that is disabled or deleted nothing is known, and nothing goes on', async () => {
    const { owner, visitor } = await ask();
    const made = file();
    const { user, transferId } = await visitor.upload(made);
    const operator = admin(service);
    assertOk(await operator.post(pathOf('disableAccount', { username: owner.username })));
    assertError(await visitor.open(), 404);
    assertDetail(await putStreamed(user, transferId, 1, made.volumes[0]!), 401);
    assertOk(await operator.post(pathOf('enableAccount', { username: owner.username })));
    assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!));
    assertOk(await owner.call('DELETE', pathOf('leave'), { json: { password: owner.password } }));
    assertError(await visitor.open(), 404);
    assertDetail(await putStreamed(user, transferId, 2, made.volumes[1]!), 401);
  });

  test('an operator lists and ends requests; both stand in the audit log, and numbers tell', async () => {
    const { owner, visitor, body } = await ask();
    await visitor.send(file());
    const operator = admin(service);
    const list = async () => {
      const answer = await operator.get(`${pathOf('listAllRequests')}?account=${owner.username}`);
      return answer.json['requests'] as { id: string; owner: string; delivered: number }[];
    };
    assert.deepEqual(
      (await list()).map(({ id, owner: by, delivered }) => [id, by, delivered]),
      [[body.id, owner.username, 1]],
    );
    assertOk(await operator.delete(pathOf('endAnyRequest', { id: body.id })));
    assertError(await operator.delete(pathOf('endAnyRequest', { id: body.id })), 404);
    assert.deepEqual(await list(), []);
    assert.equal((await visitor.open()).json['ended'], 'ended');
    assert.equal((await listed(owner))[0]!.ended, 'ended');
    assertOk(await end(owner, body.id));
    assert.deepEqual(await listed(owner), []);
    const audit = await operator.get(`${pathOf('audit')}?account=${owner.username}`);
    const entries = (audit.json['entries'] as { action: string; actor: string; detail: string }[]).slice(
      0,
      2,
    );
    assert.deepEqual(
      entries.map(({ action, actor, detail }) => [action, actor, detail]),
      [
        ['request ended', 'system token', body.id],
        ['request made', 'account', body.id],
      ],
    );
    const metrics = (await operator.get(pathOf('metrics'))).body.toString();
    for (const name of [
      'szafa_requests ',
      'szafa_request_uploads_total ',
      'szafa_request_refusals_total{reason="over"}',
    ])
      assert.ok(metrics.includes(name), name);
  });
});

test('where sharing is off nothing is asked for or taken, and clients can tell', async () => {
  const owner = await register(off);
  assertError(await owner.post(pathOf('createRequest'), bodyOf('x')), 403);
  assertOk(await owner.get(pathOf('listRequests')), { requests: [] });
  const visitor = new Visitor(off, random(16), random(32));
  assertError(await visitor.open(), 404);
  assertError(await visitor.begin(file()), 404);
  const features = (await off.call({ method: 'GET', path: pathOf('service') })).json['features'] as string[];
  assert.ok(!features.includes('requests'));
});
