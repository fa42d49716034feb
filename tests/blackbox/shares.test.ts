import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { headers, type ListedShare, pathOf, type ShareBody } from '@szafa/protocol';
import {
  type Answer,
  admin,
  assertError,
  assertOk,
  type MadeFile,
  makeFile,
  register,
  type Service,
  sha256,
  type User,
  upload,
  useService,
  WITHOUT_SHARES,
  withService,
} from '../harness/index.ts';

const service = useService();
const off = useService(WITHOUT_SHARES);

const random = (bytes: number) => randomBytes(bytes).toString('base64url');
const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** What somebody who was given a link can do. */
class Visitor {
  readonly #service: Service;
  readonly id: string;
  readonly access: string;

  constructor(at: Service, id: string, access: string) {
    this.#service = at;
    this.id = id;
    this.access = access;
  }

  open(ticket?: string, access = this.access): Promise<Answer> {
    const said = { [headers.shareAccess]: access, ...(ticket && { [headers.shareTicket]: ticket }) };
    return this.#service.call({
      method: 'GET',
      path: pathOf('openShare', { share_id: this.id }),
      headers: said,
    });
  }

  take(ticket: string, access = this.access): Promise<Answer> {
    const path = pathOf('takeTicket', { share_id: this.id });
    const said = { [headers.shareAccess]: access };
    return this.#service.call({ method: 'POST', path, headers: said, json: { ticket } });
  }

  read(ticket: string, number: number, idx: number, more: Record<string, string> = {}): Promise<Answer> {
    const path = pathOf('readSharedVolume', { share_id: this.id, number, idx });
    return this.#service.call({ method: 'GET', path, headers: { [headers.shareTicket]: ticket, ...more } });
  }
}

interface Shared {
  owner: User;
  visitor: Visitor;
  file: MadeFile;
  fileId: string;
  body: ShareBody;
}

function bodyOf(files: string[], access: string, over: Partial<ShareBody> = {}): ShareBody {
  return { id: random(16), files, header: random(300), access: digest(access), own: random(60), ...over };
}

async function share(over: Partial<ShareBody> = {}, at = service): Promise<Shared> {
  const owner = await register(at);
  const { fileId, file } = await upload(
    owner,
    makeFile([1000, 5000], { enc_params: { secret: 'of the owner' } }),
  );
  const access = random(32);
  const body = bodyOf([fileId], access, over);
  assertOk(await owner.post(pathOf('createShare'), body), { ok: true });
  return { owner, visitor: new Visitor(at, body.id, access), file, fileId, body };
}

async function listed(owner: User): Promise<ListedShare[]> {
  const answer = await owner.get(pathOf('listShares'));
  assertOk(answer);
  return answer.json['shares'] as ListedShare[];
}

const end = (owner: User, id: string) => owner.delete(pathOf('endShare', { share_id: id }));

describe('shares', () => {
  test('whoever knows the link gets the header, takes a ticket and reads, without a token', async () => {
    const { owner, visitor, file, body } = await share({ downloads: 3 });
    const opened = await visitor.open();
    assertOk(opened, { header: body.header, expires_at: null, downloads_left: 3, missing: [] });
    assert.equal(opened.headers['cache-control'], 'no-store');
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    const volume = await visitor.read(ticket, 1, 2);
    assert.equal(volume.status, 200);
    assert.ok(volume.body.equals(file.volumes[1] as Buffer));
    assert.equal(volume.headers['x-chunk-count'], '2');
    assert.equal(volume.headers.etag, `"${sha256(file.volumes[1]!)}"`);
    // What is the owner's is not given out.
    assert.equal(volume.headers['x-enc-params'], undefined);
    const all = [opened, volume].map((answer) =>
      JSON.stringify([answer.headers, answer.body.toString('latin1')]),
    );
    assert.ok(all.every((text) => !text.includes(owner.username) && !text.includes(file.init.file_name)));
    const part = await visitor.read(ticket, 1, 2, { range: 'bytes=10-19' });
    assert.equal(part.status, 206);
    assert.ok(part.body.equals((file.volumes[1] as Buffer).subarray(10, 20)));
    assert.equal(
      (await visitor.read(ticket, 1, 1, { 'if-none-match': `"${sha256(file.volumes[0]!)}"` })).status,
      304,
    );
    assertError(await visitor.read(ticket, 1, 1, { range: 'bytes=5000-' }), 416);
    for (const [number, idx] of [
      [1, 3],
      [2, 1],
      [0, 1],
      [1, 0],
      [1, 2 ** 40],
      [2 ** 40, 1],
    ] as const) {
      assertError(await visitor.read(ticket, number, idx), 404);
    }
    const [own] = await listed(owner);
    const { created_at, ...rest } = own!;
    assert.ok(Math.abs(Date.now() - Date.parse(created_at)) < 60_000);
    const counts = { downloads: 3, downloaded: 1, files: 1, missing: 0, ended: null, expires_at: null };
    assert.deepEqual(rest, { id: body.id, own: body.own, to: null, ...counts });
  });

  test('without the right access every share is as one that never was, live or over', async () => {
    const [live, over, never] = [await share(), await share(), random(16)];
    assertOk(await end(over.owner, over.body.id));
    const ticket = random(32);
    assertOk(await live.visitor.take(ticket));
    const strangers = [live.body.id, over.body.id, never].map((id) => new Visitor(service, id, random(32)));
    const answers = await Promise.all(
      strangers.flatMap((one) => [one.open(), one.open(ticket), one.take(ticket)]),
    );
    assert.deepEqual(
      new Set(answers.map(({ status, body }) => `${status} ${body}`)),
      new Set(['404 {"error":"there is no such link"}']),
    );
    const reads = await Promise.all(strangers.map((one) => one.read(random(32), 1, 1)));
    assert.equal(new Set(reads.map(({ status, body }) => `${status} ${body}`)).size, 1);
    assertError(reads[0]!, 404);
    // Neither with odd texts.
    for (const access of ['', 'x'.repeat(5000), '%00', live.body.access])
      assertError(await live.visitor.open(undefined, access), 404);
    for (const id of ['', '.', '%2e%2e', 'x'.repeat(3000)]) {
      const answer = await service.call({ method: 'GET', path: `/api/shares/${id}` });
      assert.ok([401, 404].includes(answer.status), `${id}: ${answer.status}`);
    }
  });

  test('the owner replaces what is kept beside a share, and nobody else does, nor of a text that is another one by now', async () => {
    const { owner, visitor, body } = await share();
    const header = (await visitor.open()).json['header'];
    const write = (user: User, id: string, json: object) =>
      user.put(pathOf('writeOwn', { share_id: id }), json);
    const [own, later] = [random(60), random(60)];
    const said = { own, match: digest(body.own) };
    const stranger = await register(service);
    assertError(await write(stranger, body.id, said), 404);
    for (const id of [random(16), '%00', 'x'.repeat(3000)]) assertError(await write(owner, id, said), 404);
    for (const bad of [{ own }, { ...said, own: '' }, { ...said, own: 'x y' }, { ...said, match: 'ab' }])
      assertError(await write(owner, body.id, bad), 400);
    assertOk(await write(owner, body.id, said), { ok: true });
    assertError(await write(owner, body.id, { own: later, match: digest(body.own) }), 412);
    assert.equal((await listed(owner))[0]!.own, own);
    assert.equal((await visitor.open()).json['header'], header);
    assertOk(await end(owner, body.id));
    assertError(await write(owner, body.id, { own: later, match: digest(own) }), 404);
  });

  test('who knows the link is told why it is over', async () => {
    const ended = await share();
    assertOk(await end(ended.owner, ended.body.id));
    assert.deepEqual((await ended.visitor.open()).json['ended'], 'ended');
    const used = await share({ downloads: 1 });
    const ticket = random(32);
    assertOk(await used.visitor.take(ticket));
    const late = await used.visitor.take(random(32));
    assertError(late, 410);
    assert.equal(late.json['ended'], 'used up');
    assert.equal((await used.visitor.open()).json['ended'], 'used up');
    // Whoever downloads it goes on.
    assertOk(await used.visitor.open(ticket));
    assertOk(await used.visitor.take(ticket));
    assert.equal((await used.visitor.read(ticket, 1, 1)).status, 200);
    assert.equal((await listed(used.owner))[0]!.ended, 'used up');
    const access = random(32);
    const expires_at = new Date(Date.now() + 3000).toISOString();
    const soon = bodyOf([used.fileId], access, { expires_at });
    assertOk(await used.owner.post(pathOf('createShare'), soon));
    const [visitor, reader] = [new Visitor(service, soon.id, access), random(32)];
    assertOk(await visitor.take(reader));
    assert.equal((await visitor.read(reader, 1, 1)).status, 200);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(expires_at) - Date.now() + 5));
    assertError(await visitor.read(reader, 1, 1), 404);
    assert.equal((await visitor.open()).json['ended'], 'expired');
    const found = (await listed(used.owner)).find(({ id }) => id === soon.id);
    assert.equal(found?.ended, 'expired');
  });

  test('of many at once, exactly as many get a ticket as there are, and each counts once however often it reads', async () => {
    const { owner, visitor } = await share({ downloads: 7 });
    const tickets = Array.from({ length: 20 }, () => random(32));
    const answers = await Promise.all([...tickets, ...tickets].map((ticket) => visitor.take(ticket)));
    const good = new Set(answers.flatMap(({ status }, at) => (status === 200 ? [tickets[at % 20]!] : [])));
    assert.equal(good.size, 7);
    assert.ok(answers.every(({ status }) => status === 200 || status === 410));
    const reads = [...good].flatMap((ticket) => [
      visitor.read(ticket, 1, 1),
      visitor.read(ticket, 1, 2, { range: 'bytes=1-2' }),
    ]);
    assert.deepEqual(new Set((await Promise.all(reads)).map(({ status }) => status)), new Set([200, 206]));
    assert.equal((await listed(owner))[0]!.downloaded, 7);
  });

  test('a share survives a rename and ends with its file', async () => {
    const { owner, visitor, fileId, file } = await share();
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    const head = await owner.call('HEAD', pathOf('readHeader', { file_id: fileId, idx: 1 }));
    const enc_params = Buffer.from('{"other":1}').toString('base64');
    const names = {
      file_id: fileId,
      file_name: 'other',
      enc_params,
      match: digest(String(head.headers['x-enc-params'])),
    };
    assertOk(await owner.post(pathOf('renameFiles'), { files: [names] }));
    assert.ok((await visitor.read(ticket, 1, 1)).body.equals(file.volumes[0] as Buffer));
    // What is in the trash is not served, and is again when it is restored.
    assertOk(await owner.post(pathOf('trashFiles'), { files: [fileId] }));
    assertError(await visitor.read(ticket, 1, 1), 404);
    assert.deepEqual(
      (await listed(owner)).map(({ missing }) => missing),
      [1],
    );
    assertError(await owner.post(pathOf('createShare'), bodyOf([fileId], 'x')), 404);
    assertOk(await owner.post(pathOf('restoreFiles'), { files: [fileId] }));
    assert.equal((await visitor.read(ticket, 1, 1)).status, 200);
    assertOk(await owner.delete(pathOf('deleteFile', { file_id: fileId })));
    assertError(await visitor.read(ticket, 1, 1), 404);
    assert.equal((await visitor.open()).json['ended'], 'ended');
    const [own] = await listed(owner);
    assert.deepEqual([own!.files, own!.missing, own!.ended], [1, 1, null]);
  });

  test('of several files the others stay, and visitors are told which are gone', async () => {
    const owner = await register(service);
    const ids = [];
    for (let at = 0; at < 3; at++) ids.push((await upload(owner, makeFile([100 + at]))).fileId);
    const access = random(32);
    const body = bodyOf(ids, access);
    assertOk(await owner.post(pathOf('createShare'), body));
    const visitor = new Visitor(service, body.id, access);
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    assertOk(await owner.delete(pathOf('deleteFile', { file_id: ids[1]! })));
    assert.deepEqual((await visitor.open()).json['missing'], [2]);
    const lengths = [];
    for (const number of [1, 2, 3]) lengths.push((await visitor.read(ticket, number, 1)).status);
    assert.deepEqual(lengths, [200, 404, 200]);
  });

  test('only own files are shared, and bad bodies are refused', async () => {
    const { owner, fileId, body } = await share();
    const other = await register(service);
    const foreign = await other.post(pathOf('createShare'), bodyOf([fileId], 'x'));
    assertError(foreign, 404);
    assert.deepEqual(foreign.json['files'], [fileId]);
    assertError(await other.post(pathOf('createShare'), { ...bodyOf([fileId], 'x'), id: body.id }), 409);
    assertError(await end(other, body.id), 404);
    assertOk(await owner.post(pathOf('createShare'), body));
    assertError(await owner.post(pathOf('createShare'), { ...body, header: random(300) }), 409);
    for (const none of ['', '\0', '\ud800', 'x'.repeat(100_000)]) {
      const answer = await owner.post(pathOf('createShare'), bodyOf([fileId, none], 'x'));
      assertError(answer, 404);
      assert.deepEqual(answer.json['files'], [none]);
    }
    const good = bodyOf([fileId], 'x');
    const bad: Partial<Record<keyof ShareBody, unknown>>[] = [
      { id: 'short' },
      { id: `${'x'.repeat(21)}/` },
      { files: [] },
      { files: [fileId, fileId] },
      { files: [1] },
      { header: '' },
      { header: 'not base64!' },
      { access: 'AB'.repeat(32) },
      { own: '' },
      { own: 'x'.repeat(9000) },
      { downloads: 0 },
      { downloads: 1.5 },
      { downloads: '3' },
      { expires_at: 'tomorrow' },
      { expires_at: '2020-01-01T00:00:00Z' },
    ];
    for (const over of bad) assertError(await owner.post(pathOf('createShare'), { ...good, ...over }), 400);
    assert.equal((await listed(owner)).length, 1);
    for (const ticket of [undefined, '', 'x', 1, random(33)]) {
      const path = pathOf('takeTicket', { share_id: body.id });
      assertError(await service.call({ method: 'POST', path, json: { ticket } }), 400);
    }
    const large = await owner.post(pathOf('createShare'), { ...good, header: 'x'.repeat(8 * 1_048_576 + 1) });
    assertError(large, 400, 413);
    assertError(await admin(service).get(pathOf('listShares')), 403);
  });

  test('an operator lists and ends shares; both stand in the audit log, and numbers tell', async () => {
    const { owner, visitor, body } = await share();
    const operator = admin(service);
    const list = async () => {
      const answer = await operator.get(`${pathOf('listAllShares')}?account=${owner.username}`);
      return answer.json['shares'] as { id: string; owner: string; files: number }[];
    };
    assert.deepEqual(
      (await list()).map(({ id, files }) => [id, files]),
      [[body.id, 1]],
    );
    assertOk(await operator.delete(pathOf('endAnyShare', { id: body.id })));
    assertError(await operator.delete(pathOf('endAnyShare', { id: body.id })), 404);
    assert.deepEqual(await list(), []);
    assert.equal((await visitor.open()).json['ended'], 'ended');
    assert.equal((await listed(owner))[0]!.ended, 'ended');
    const audit = await operator.get(`${pathOf('audit')}?account=${owner.username}`);
    const entries = (audit.json['entries'] as { action: string; actor: string; detail: string }[]).slice(
      0,
      2,
    );
    assert.deepEqual(
      entries.map(({ action, actor, detail }) => [action, actor, detail]),
      [
        ['share ended', 'system token', body.id],
        ['share made', 'account', body.id],
      ],
    );
    const metrics = (await operator.get(pathOf('metrics'))).body.toString();
    for (const name of [
      'szafa_shares ',
      'szafa_share_downloads_total ',
      'szafa_share_refusals_total{reason="over"}',
    ]) {
      assert.ok(metrics.includes(name), name);
    }
  });
});

test('where sharing is off nothing is shared or served, and clients can tell', async () => {
  const owner = await register(off);
  const { fileId } = await upload(owner, makeFile([10]));
  assertError(await owner.post(pathOf('createShare'), bodyOf([fileId], 'x')), 403);
  assertOk(await owner.get(pathOf('listShares')), { shares: [] });
  const visitor = new Visitor(off, random(16), random(32));
  for (const answer of [
    await visitor.open(),
    await visitor.take(random(32)),
    await visitor.read(random(32), 1, 1),
  ]) {
    assertError(answer, 404);
  }
  const features = async (at: Service) =>
    (await at.call({ method: 'GET', path: pathOf('service') })).json['features'] as string[];
  assert.ok((await features(service)).includes('shares'));
  assert.ok(!(await features(off)).includes('shares'));
});

test('an address that asks too often is sent away for a while; who reads with a ticket is not', async () => {
  await withService({ env: { SZ_WORKERS: '2' } }, async (strict) => {
    const { visitor } = await share({}, strict);
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    const stranger = new Visitor(strict, random(16), random(32));
    let refused: Answer | undefined;
    for (let at = 0; at < 40 && !refused; at++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => stranger.open()));
      refused = answers.find(({ status }) => status === 429);
    }
    assert.ok(refused, 'nobody was refused');
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.equal((await visitor.read(ticket, 1, 1)).status, 200);
  });
});
