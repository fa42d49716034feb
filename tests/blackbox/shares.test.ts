/** What is shared, and what becomes of it: by its owner, by an operator, with its files. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf, type ShareBody } from '@szafa/protocol';
import {
  admin,
  assertError,
  assertOk,
  makeFile,
  register,
  type Service,
  type User,
  upload,
  useService,
  WITHOUT_SHARES,
} from '../harness/index.ts';
import { bodyOf, digest, end, listed, random, service, share, Visitor } from './shares.ts';

const off = useService(WITHOUT_SHARES);

describe('shares', () => {
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
