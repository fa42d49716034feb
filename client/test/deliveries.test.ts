/** What came by a request, in the hands of its owner: on two devices at once, and beside a server that lies. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestAccess, toBase64Url } from '@szafa/format';
import { pathOf } from '@szafa/protocol';
import { Api, linkHeaders } from '../src/call.ts';
import { bytesSource, parseRequest, RequestVisit } from '../src/index.ts';
import { completeTransfer, readVolumeHeaders, writeVolume } from '../src/transfers/calls.ts';
import { ask, filesOf, more, visiting } from './ask.ts';
import { proxy, service } from './hostile.ts';
import { content, engine, optionsFor, sameUser } from './service.ts';

test('several are taken over with one list of what is there; a type that nobody would write keeps none from it', async () => {
  const { owner, link } = await ask({ folder: 'in' });
  const visit = await RequestVisit.begin(link, visiting);
  for (const type of ['text/plain', 'x'.repeat(5000), 'text/\u202eplain'])
    await visit.upload(bytesSource(content(10)), { name: 'a', type });
  const device = await sameUser(owner, proxy.url, more);
  const deliveries = await device.deliveries();
  assert.deepEqual(deliveries.map(({ type }) => type).sort(), ['text/plain', undefined, undefined]);
  const [tree, given, sealedIds] = [await device.tree(), new Set<string>(), await device.sealedIds()];
  proxy.requests.length = 0;
  for (const delivery of deliveries) await device.takeOver(delivery, { tree, given, sealedIds });
  assert.deepEqual([...given], ['in/a', 'in/a (2)', 'in/a (3)']);
  assert.deepEqual((await filesOf(owner)).sort(), [...given].sort());
  assert.equal(proxy.requests.filter(({ path }) => path.startsWith('/api/files?')).length, 0);
});

test('what the server does not give is not called forged: it says so, or is gone, or ends the list', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  for (const name of ['a', 'b']) await visit.upload(bytesSource(content(10)), { name });
  const device = await sameUser(owner, proxy.url, more);
  const [first, second] = await device.deliveries();
  let status = 500;
  proxy.before = async (method, path) =>
    method === 'HEAD' && path.includes(first!.fileId) ? { status, body: Buffer.from('{}') } : undefined;
  try {
    const [unread, sound] = await device.deliveries();
    assert.deepEqual([unread!.problem?.code, sound!.problem], ['api', undefined]);
    status = 404;
    assert.deepEqual(
      (await device.deliveries()).map(({ fileId }) => fileId),
      [second!.fileId],
    );
    status = 401;
    await assert.rejects(device.deliveries(), { code: 'api', status: 401 });
  } finally {
    proxy.before = undefined;
  }
});

test('what another device takes over while it is dropped stays', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  await visit.upload(bytesSource(content(10)), { name: 'a' });
  const device = await sameUser(owner, proxy.url, more);
  const [delivery] = await device.deliveries();
  let taken: string | undefined;
  proxy.before = async (_method, path) => {
    if (path === pathOf('trashFiles')) taken ??= await owner.takeOver(delivery!);
    return undefined;
  };
  try {
    await assert.rejects(device.dropDelivery(delivery!), { code: 'conflict' });
  } finally {
    proxy.before = undefined;
  }
  assert.equal(taken, 'inbox/2026/a');
  assert.deepEqual(await filesOf(owner), ['inbox/2026/a']);
  assert.deepEqual(await owner.listTrash(), []);
});

test('what another device takes over while deliveries are listed is none of them', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  for (const name of ['a', 'b']) await visit.upload(bytesSource(content(10)), { name });
  const device = await sameUser(owner, proxy.url, more);
  const [taken, left] = await owner.deliveries();
  proxy.before = async (method, path) => {
    const isFirst = method === 'HEAD' && path.includes(taken!.fileId);
    if (isFirst && (await filesOf(owner)).length === 0) await owner.takeOver(taken!);
    return undefined;
  };
  try {
    assert.deepEqual(
      (await device.deliveries()).map(({ fileId, problem }) => [fileId, problem]),
      [[left!.fileId, undefined]],
    );
  } finally {
    proxy.before = undefined;
  }
  assert.deepEqual(await filesOf(owner), [`inbox/2026/${taken!.name}`]);
});

test('what two devices do to a delivery at the same moment is done by one, and told to the other', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  for (const name of ['a', 'b']) await visit.upload(bytesSource(content(10)), { name });
  const device = await sameUser(owner, proxy.url, more);
  const [first, second] = await device.deliveries();
  /** Does something when this device is about to ask for that. */
  const meanwhile = (path: string, act: () => Promise<unknown>) => {
    let done: Promise<unknown> | undefined;
    proxy.before = async (_method, asked) => {
      if (asked !== path) return undefined;
      done ??= act();
      await done;
      return undefined;
    };
  };
  try {
    const files = [first!.fileId];
    meanwhile(pathOf('readTrashed', { file_id: first!.fileId }), () =>
      owner.api.call('emptyTrash', { body: { files } }).then(({ removed }) => removed),
    );
    await assert.rejects(device.dropDelivery(first!), { code: 'conflict' });
    meanwhile(pathOf('renameFiles'), () => owner.dropDelivery(second!));
    await assert.rejects(device.takeOver(second!), { code: 'conflict' });
  } finally {
    proxy.before = undefined;
  }
  assert.deepEqual(await owner.deliveries(), []);
  assert.deepEqual(await owner.listTrash(), []);
  assert.deepEqual(await filesOf(owner), []);
});

test('what is not wanted is dropped, and nothing that is one’s own since', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  for (const name of ['a', 'b']) await visit.upload(bytesSource(content(10)), { name });
  const device = await sameUser(owner, proxy.url, more);
  const [kept, unwanted] = await device.deliveries();
  await device.dropDelivery(unwanted!);
  assert.deepEqual(
    (await device.deliveries()).map(({ fileId }) => fileId),
    [kept!.fileId],
  );
  await assert.rejects(device.dropDelivery(unwanted!), { code: 'conflict' });
  const before = (await readVolumeHeaders(owner.api, kept!.fileId, 1)).encParams;
  const encParams = Buffer.from(JSON.stringify(before)).toString('base64');
  await device.takeOver(kept!);
  for (const who of [device, owner])
    for (const act of [() => who.dropDelivery(kept!), () => who.takeOver(kept!)])
      await assert.rejects(act, { code: 'conflict' });
  // The service shows it again as what it was.
  proxy.hostility = ({ method, path, headers, body }) => {
    if (method === 'HEAD') return { headers: { ...headers, 'x-enc-params': encParams } };
    if (!path.startsWith('/api/files?')) return undefined;
    return { body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), files: [kept!.record] })) };
  };
  try {
    const rev = { code: 'tampered', stage: 'rev' };
    const [again] = await device.deliveries();
    assert.equal((again!.problem as { stage?: string }).stage, rev.stage);
    await assert.rejects(device.takeOver(again!, { folder: '' }), rev);
    await assert.rejects(device.dropDelivery(again!), rev);
  } finally {
    proxy.hostility = () => undefined;
  }
  assert.deepEqual(await filesOf(owner), [`inbox/2026/${kept!.name}`]);
});

test('whatever a visitor writes beside it, a delivery is taken over or dropped', async () => {
  const { owner, link } = await ask();
  const { id, key } = parseRequest(link);
  const access = toBase64Url(await requestAccess(engine, key));
  const { api } = owner;
  const sha256 = (await engine.sha256(content(10))).toHex();
  const send = async (encParams: object) => {
    const token = toBase64Url(engine.random(32));
    const body = { upload_token: token, chunk_count: 1, chunks: [{ size: 10 }] };
    const { transfer_id } = await api.call('beginUpload', {
      params: { request_id: id },
      headers: linkHeaders(access),
      body,
    });
    const { server: at, ...options } = optionsFor(service.url);
    const visitor = new Api({ ...options, server: at, token });
    await writeVolume(visitor, transfer_id, 1, content(10), { sha256 });
    const total_sha256 = sha256;
    const said = {
      file_name: 'x',
      file_size: 10,
      total_sha256,
      chunk_count: 1,
      enc_params: { ...encParams },
    };
    await completeTransfer(visitor, transfer_id, said);
  };
  // As what only an owner's own header has.
  for (const params of [{ szafa: 1 }, { szafa: 99, szafa_delivery: 1, sealed: 'AAAA' }, {}])
    await send(params);
  const device = await sameUser(owner, proxy.url, more);
  const came = await device.deliveries();
  assert.equal(came.length, 3);
  proxy.requests.length = 0;
  for (const delivery of came) {
    assert.ok(delivery.problem);
    await assert.rejects(device.takeOver(delivery), { code: delivery.problem.code });
    await device.dropDelivery(delivery);
  }
  const lists = proxy.requests.filter(({ path }) => path.startsWith('/api/files?'));
  assert.equal(lists.length, 0, 'not a list for each of many');
  assert.deepEqual(await device.deliveries(), []);
});

test('a delivery that nobody with the link has made, or whose record is another, is told and not taken over', async () => {
  const { owner, link } = await ask();
  const visit = await RequestVisit.begin(link, visiting);
  await visit.upload(bytesSource(content(100)), { name: 'a' });
  const device = await sameUser(owner, proxy.url, more);
  const [good] = await owner.deliveries();
  // The second is no text: a message that wants one from it must not end the whole list.
  for (const [params, code] of [
    [`{"szafa_delivery":1,"sealed":"${'A'.repeat(200)}"}`, 'tampered'],
    ['{"szafa_delivery":{"toString":1,"valueOf":1}}', 'unsupported'],
  ] as const) {
    const forged = Buffer.from(params).toString('base64');
    proxy.hostility = ({ method, headers }) =>
      method === 'HEAD' ? { headers: { ...headers, 'x-enc-params': forged } } : undefined;
    const [odd] = await device.deliveries();
    assert.equal(odd!.problem?.code, code);
    await assert.rejects(device.takeOver(good!), { code });
  }
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const json = JSON.parse(body.toString()) as { files: { sha256: string }[] };
    return {
      body: Buffer.from(
        JSON.stringify({ ...json, files: json.files.map((one) => ({ ...one, sha256: '0'.repeat(64) })) }),
      ),
    };
  };
  try {
    const [bad] = await device.deliveries();
    assert.equal(bad!.problem?.code, 'tampered');
    await assert.rejects(device.takeOver(bad!, { folder: '' }), { code: 'tampered' });
  } finally {
    proxy.hostility = () => undefined;
  }
  assert.equal(await device.takeOver(good!, { folder: '' }), 'a');
});

test('a visitor who chooses a file id that the account has, in the trash too, or that came before: only the first is taken over', async () => {
  const { owner, link } = await ask({ folder: 'in' });
  const send = async (id: Uint8Array, name: string) => {
    const choosing = {
      ...engine,
      random: (length: number) => (length === 16 ? id.slice() : engine.random(length)),
    };
    const visit = await RequestVisit.begin(link, { ...visiting, engine: choosing as typeof engine });
    await visit.upload(bytesSource(content(10)), { name });
  };
  const own = async (path: string) => {
    const { fileId } = await owner.upload(bytesSource(content(20)), { path });
    const entry = (await owner.list()).find((one) => one.fileId === fileId)!;
    return { entry, id: (await owner.openFile(fileId)).header.fileId };
  };
  const [kept, thrown] = [await own('kept'), await own('thrown')];
  await owner.trash([thrown.entry]);
  const twice = new Uint8Array(16).fill(7);
  await send(kept.id, 'as kept');
  await send(thrown.id, 'as thrown');
  await send(twice, 'first');
  await send(twice, 'second');
  const device = await sameUser(owner, proxy.url, more);
  const byName = new Map((await device.deliveries()).map((one) => [one.name, one]));
  const refusal = { code: 'tampered', stage: 'delivery' };
  proxy.requests.length = 0;
  const sealedIds = await device.sealedIds();
  // Two lists, whatever the number of files.
  assert.equal(proxy.requests.length, 2);
  for (const options of [{}, { sealedIds }]) {
    for (const name of ['as kept', 'as thrown'])
      await assert.rejects(device.takeOver(byName.get(name)!, options), refusal);
  }
  const first = { tree: await device.tree(), given: new Set<string>(), sealedIds };
  assert.equal(await device.takeOver(byName.get('first')!, first), 'in/first');
  for (const options of [first, {}])
    await assert.rejects(device.takeOver(byName.get('second')!, options), refusal);
  assert.deepEqual((await filesOf(owner)).sort(), ['in/first', 'kept']);
  await device.dropDelivery(byName.get('second')!);
});
