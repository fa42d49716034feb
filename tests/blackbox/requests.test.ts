import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  contentDigest,
  headers,
  type ListedRequest,
  limits,
  pathOf,
  type RequestBody,
  type RouteName,
  routes,
  type UploadBody,
} from '@szafa/protocol';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  completeBody,
  completeStreamed,
  eventually,
  headOf,
  listFiles,
  type MadeFile,
  makeFile,
  putStreamed,
  RawConnection,
  received,
  register,
  type Service,
  SocketClient,
  STRICT_QUOTA,
  sha256,
  User,
  upload,
  useService,
  WITHOUT_SHARES,
  withService,
} from '../harness/index.ts';

const service = useService();
const off = useService(WITHOUT_SHARES);
const strict = useService(STRICT_QUOTA);

const random = (bytes: number) => randomBytes(bytes).toString('base64url');
const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** What somebody who was given a link can do. */
class Visitor {
  readonly service: Service;
  readonly id: string;
  readonly access: string;

  constructor(at: Service, id: string, access: string) {
    this.service = at;
    this.id = id;
    this.access = access;
  }

  open(access = this.access): Promise<Answer> {
    const path = pathOf('openRequest', { request_id: this.id });
    return this.service.call({ method: 'GET', path, headers: { [headers.shareAccess]: access } });
  }

  begin(
    file: MadeFile,
    token = random(32),
    over: Partial<Record<keyof UploadBody, unknown>> = {},
  ): Promise<Answer> {
    const { chunk_count, chunks } = file.init;
    const sizes = chunks.map(({ size }) => ({ size }));
    return this.service.call({
      method: 'POST',
      path: pathOf('beginUpload', { request_id: this.id }),
      headers: { [headers.shareAccess]: this.access },
      json: { upload_token: token, chunk_count, chunks: sizes, ...over },
    });
  }

  /** An upload that was begun. */
  async upload(file: MadeFile): Promise<{ user: User; transferId: string }> {
    const token = random(32);
    const answer = await this.begin(file, token);
    assertOk(answer);
    return { user: new User(this.service, '', '', token), transferId: String(answer.json['transfer_id']) };
  }

  /** The whole way. */
  async send(file: MadeFile): Promise<string> {
    const { user, transferId } = await this.upload(file);
    for (const [at, bytes] of file.volumes.entries())
      assertOk(await putStreamed(user, transferId, at + 1, bytes), { ok: true });
    const answer = await completeStreamed(user, transferId, file);
    assertOk(answer);
    return String(answer.json['file_id']);
  }
}

function bodyOf(access: string, over: Partial<RequestBody> = {}): RequestBody {
  const texts = { id: random(16), header: random(33), access: digest(access), own: random(60) };
  return { ...texts, max_files: 5, max_bytes: 100_000, ...over };
}

async function ask(
  over: Partial<RequestBody> = {},
  at = service,
  expiresIn?: number,
): Promise<{ owner: User; visitor: Visitor; body: RequestBody }> {
  const owner = await register(at);
  const access = random(32);
  const until = expiresIn && { expires_at: new Date(Date.now() + expiresIn).toISOString() };
  const body = bodyOf(access, { ...over, ...until });
  assertOk(await owner.post(pathOf('createRequest'), body), { ok: true });
  return { owner, visitor: new Visitor(at, body.id, access), body };
}

async function listed(owner: User): Promise<ListedRequest[]> {
  const answer = await owner.get(pathOf('listRequests'));
  assertOk(answer);
  return answer.json['requests'] as ListedRequest[];
}

const end = (owner: User, id: string) => owner.delete(pathOf('endRequest', { request_id: id }));
const file = (sizes: number[] = [4096, 404]) => makeFile(sizes, { enc_params: { sealed: 'by a visitor' } });

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

  test('of many at once, no more begin than there is room for, in number and in bytes', async () => {
    const { owner, visitor } = await ask({ max_files: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => visitor.begin(file([100]))));
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 409);
      assert.deepEqual([answer.json['files_left'], answer.json['bytes_left']], [0, 99_700]);
    }
    assert.equal((await listed(owner))[0]!.uploading, 3);
    const small = await ask({ max_bytes: 1000, max_files: 100 });
    const many = await Promise.all(Array.from({ length: 12 }, () => small.visitor.begin(file([300]))));
    assert.equal(many.filter(({ status }) => status === 200).length, 3);
    assertError(await small.visitor.begin(file([101])), 409);
    assertOk(await small.visitor.begin(file([100])));
  });

  test('the same token is the same upload, counted once; one that is cancelled counts no more', async () => {
    const { owner, visitor } = await ask({ max_files: 1 });
    const [made, token] = [file(), random(32)];
    const answers = await Promise.all(Array.from({ length: 6 }, () => visitor.begin(made, token)));
    for (const answer of answers) assertOk(answer);
    const [transferId, ...others] = new Set(answers.map(({ json }) => String(json['transfer_id'])));
    assert.deepEqual(others, []);
    const user = new User(service, '', '', token);
    assertOk(await putStreamed(user, transferId!, 1, made.volumes[0]!));
    assert.deepEqual(await received(user, transferId!), [1]);
    assertError(await visitor.begin(made), 409);
    // At another request it is no token.
    const other = await ask();
    assertError(await other.visitor.begin(made, token), 400);
    assert.equal((await listed(other.owner))[0]!.uploading, 0);
    assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId! })));
    assertDetail(await putStreamed(user, transferId!, 2, made.volumes[1]!), 401);
    await visitor.send(made);
    assert.equal((await listed(owner))[0]!.ended, 'used up');
  });

  test('too many cannot be on their way at a time', async () => {
    const { visitor } = await ask({ max_files: 1000 });
    for (let at = 0; at < limits.uploadsOfRequest; at++) assertOk(await visitor.begin(file([1])));
    const refused = await visitor.begin(file([1]));
    assertError(refused, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
  });

  test('the token of an upload reaches its own transfer, by what it was begun with, and nothing else of the account', async () => {
    const { owner, visitor } = await ask();
    const made = file();
    const [mine, other] = [await visitor.upload(made), await visitor.upload(made)];
    const ownTransfer = await upload(owner, makeFile([10]));
    for (const transferId of [other.transferId, ownTransfer.transferId, random(16)]) {
      assertDetail(await putStreamed(mine.user, transferId, 1, made.volumes[0]!), 401);
      assertDetail(await completeStreamed(mine.user, transferId, made), 401);
      assertDetail(await mine.user.get(pathOf('received', { transfer_id: transferId })), 401);
      assertDetail(await mine.user.delete(pathOf('cancel', { transfer_id: transferId })), 401);
    }
    // Every other route that needs a token.
    const params = {
      transfer_id: mine.transferId,
      file_id: ownTransfer.fileId,
      dir_id: 1,
      idx: 1,
      number: 1,
    };
    const reached = new Set<RouteName>(['received', 'writeVolume', 'complete', 'cancel']);
    for (const name of Object.keys(routes) as RouteName[]) {
      const { access, method } = routes[name];
      if (access === 'open' || reached.has(name)) continue;
      const ids = {
        session_id: 'x',
        passkey_id: 'x',
        share_id: 'x',
        request_id: visitor.id,
        id: 'x',
        username: 'x',
      };
      const answer = await mine.user.call(method, pathOf(name, { ...params, ...ids } as never));
      assert.equal(answer.status, 401, `${name}: ${answer.excerpt}`);
    }
    // Neither other sizes than it said, nor more volumes, nor another size for the record.
    const [first] = made.volumes;
    assertError(
      await putStreamed(mine.user, mine.transferId, 1, Buffer.concat([first!, Buffer.from('x')])),
      409,
    );
    assertError(await putStreamed(mine.user, mine.transferId, 3, first!), 409);
    for (const [at, bytes] of made.volumes.entries())
      assertOk(await putStreamed(mine.user, mine.transferId, at + 1, bytes));
    for (const file_size of [0, 1499, 1501, 2 ** 50])
      assertError(await completeStreamed(mine.user, mine.transferId, made, { file_size }), 400);
    assertError(await completeStreamed(mine.user, mine.transferId, made, { chunk_count: 1 }), 409);
    // Whatever it is called there.
    const named = { file_name: 'README.txt' };
    const done = await completeStreamed(mine.user, mine.transferId, made, named);
    assertOk(done);
    assertOk(await completeStreamed(mine.user, mine.transferId, made, { file_name: 'other' }), done.json);
    const names = (await listFiles(owner)).map(({ file_name }) => file_name);
    assert.deepEqual(
      names.toSorted(),
      [`delivery-${visitor.id}`, ownTransfer.file.init.file_name].toSorted(),
    );
    assertError(await mine.user.delete(pathOf('cancel', { transfer_id: mine.transferId })), 409);
  });

  test('of one volume a visitor sends few bodies at a time: each takes room that the request does not count', async () => {
    await withService({}, async (own) => {
      const { owner, visitor } = await ask({}, own);
      const made = file([4096]);
      const { user, transferId } = await visitor.upload(made);
      const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
      await using connections = new AsyncDisposableStack();
      const statuses: (number | undefined)[] = [];
      for (let at = 0; at < 6; at++) {
        const connection = await RawConnection.open(own.url);
        connections.defer(() => connection.destroy());
        const said = [`Content-Digest: ${contentDigest(sha256(Buffer.from([at])))}`, 'Expect: 100-continue'];
        connection.write(`${headOf(path, 4096, user.token, said)}\r\n\r\n`);
        statuses.push((await connection.until((answer) => answer.statuses.length > 0)).statuses[0]);
      }
      assert.deepEqual(statuses, [100, 100, 100, 100, 429, 429]);
      await connections.disposeAsync();
      await eventually(async () => assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!)));
      assertOk(await completeStreamed(user, transferId, made));
      assert.equal((await listFiles(owner)).length, 1);
    });
  });

  test('volumes also come by the volume socket', async () => {
    const { owner, visitor } = await ask();
    const made = file([2000]);
    const { user, transferId } = await visitor.upload(made);
    const socket = await SocketClient.open(service);
    try {
      const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
      const said = [`Content-Digest: ${contentDigest(sha256(made.volumes[0]!))}`];
      const head = headOf(path, 2000, user.token, said);
      assert.equal((await socket.put(head, made.volumes[0]!)).status, 200);
    } finally {
      socket.close();
    }
    assertOk(await completeStreamed(user, transferId, made));
    assert.equal((await listFiles(owner)).length, 1);
  });

  test('the quota of the owner counts', async () => {
    const { owner, visitor } = await ask({}, strict);
    await visitor.send(file([600]));
    assertError(await visitor.begin(file([500])), 507);
    assert.equal((await listed(owner))[0]!.uploading, 0);
    assertOk(await visitor.begin(file([400])));
    assertError(await owner.post(pathOf('init'), makeFile([1]).init), 507);
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

  test('a request survives another password; what a visitor sends goes on', async () => {
    const { owner, visitor } = await ask();
    const made = file();
    const { user, transferId } = await visitor.upload(made);
    assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!));
    const next = 'another-password';
    assertOk(await owner.post(pathOf('changePassword'), { current: owner.password, next }));
    assertOk(await putStreamed(user, transferId, 2, made.volumes[1]!));
    assertOk(await user.post(pathOf('complete', { transfer_id: transferId }), completeBody(made)));
    assert.equal((await listFiles(owner)).length, 1);
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
