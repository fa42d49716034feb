/** Requests on a real service: a visitor with Web Crypto alone, the owner on two devices, and a server that lies. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkUpload, pathOf } from '@szafa/protocol';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { Api } from '../src/api/api.ts';
import { toBase64Url } from '../src/format/bytes.ts';
import { storedSize } from '../src/format/layout.ts';
import { requestAccess } from '../src/format/request.ts';
import {
  bytesSource,
  type ConnectOptions,
  looksLikeLink,
  looksLikeRequest,
  parseRequest,
  type RequestOptions,
  RequestVisit,
  type Szafa,
  webEngine,
} from '../src/index.ts';
import { fileJournal, fileSource } from '../src/node/index.ts';
import { newShareId } from '../src/shares/links.ts';
import { visitorsLayout } from '../src/shares/request-upload.ts';
import { sizesOf } from '../src/upload/description.ts';
import { proxy, service } from './hostile.ts';
import { content, engine, newUser, optionsFor, quick, readAll, sameUser } from './service.ts';

const more: Partial<ConnectOptions> = { engine: quick };
const { server: _, ...visiting } = optionsFor('', { engine: webEngine() });

async function ask(over: Partial<RequestOptions> = {}): Promise<{ owner: Szafa; link: string; id: string }> {
  const owner = await newUser(service.url, more);
  const made = await owner.requestLink({ folder: 'inbox/2026', files: 10, size: 100_000, ...over });
  return { owner, ...made };
}

const through = (link: string) => link.replace(service.url, proxy.url);
const filesOf = async (user: Szafa) => (await user.tree()).files().map(({ path }) => path);

test('what a visitor sends is in no list before it is taken over, and then a file as any other, on every device', async () => {
  const { owner, link, id } = await ask({ note: 'the photos, please' });
  const visit = await RequestVisit.begin(link, visiting);
  assert.equal(visit.note, 'the photos, please');
  assert.equal(visit.limits.files, 10);
  assert.ok(visit.takes(100_000) && !visit.takes(200_000));
  const bytes = content(5000);
  const seen: number[] = [];
  const options = { volumeSize: 1, mtime: 1_767_225_600_000.4, type: 'image/jpeg' };
  await visit.upload(bytesSource(bytes), {
    ...options,
    name: 'a.jpg',
    onProgress: ({ stored }) => seen.push(stored),
  });
  assert.equal(seen.at(-1), 5000);
  assert.deepEqual(await owner.list(), []);
  const other = await sameUser(owner, service.url, more);
  const [delivery, ...none] = await other.deliveries();
  assert.deepEqual(none, []);
  const { fileId: _file, createdAt: _at, record: _record, sealed: _sealed, ...said } = delivery!;
  const facts = { name: 'a.jpg', size: 5000, mtime: 1_767_225_600_000, type: 'image/jpeg' };
  assert.deepEqual(said, { requestId: id, folder: 'inbox/2026', ...facts });
  assert.equal(await other.takeOver(delivery!), 'inbox/2026/a.jpg');
  assert.deepEqual(await other.deliveries(), []);
  const [entry] = await owner.list();
  assert.deepEqual([entry!.path, entry!.verified, entry!.misplaced], ['inbox/2026/a.jpg', true, undefined]);
  const file = await owner.openFile(entry!.fileId, { record: entry!.record });
  assert.equal(file.header.metadata.source, `request/${id}`);
  assertBytes(await readAll(file.stream()), bytes);
  // It is taken over once.
  await assert.rejects(owner.takeOver(delivery!), { code: 'conflict' });
  const [own] = await owner.requests();
  assert.deepEqual(
    [own!.link, own!.folder, own!.delivered, own!.note],
    [link, 'inbox/2026', 1, 'the photos, please'],
  );
});

test('a visitor chooses neither folder nor version: the last part of a name, a number behind it where it is taken', async () => {
  const { owner, link } = await ask({ folder: 'in' });
  await owner.upload(bytesSource(content(3)), { path: 'in/passwd' });
  const visit = await RequestVisit.begin(link, visiting);
  for (const name of ['../../etc/passwd', '/in/passwd', 'in\u202e/x\u0007y', '..'])
    await visit.upload(bytesSource(content(10)), { name, type: 'inode/directory' });
  for (const delivery of await owner.deliveries()) await owner.takeOver(delivery);
  const wanted = ['in/passwd', 'in/passwd (2)', 'in/passwd (3)', 'in/unnamed', 'in/x\ufffdy'];
  assert.deepEqual((await filesOf(owner)).sort(), wanted.sort());
  const tree = await owner.tree();
  assert.equal(tree.file('in/passwd')!.entry.size, 3);
  const taken = tree.file('in/passwd (2)')!.entry;
  assert.equal((await owner.openFile(taken.fileId)).header.metadata.type, undefined);
});

test('several are taken over with one list of what is there; a type that nobody would write keeps none from it', async () => {
  const { owner, link } = await ask({ folder: 'in' });
  const visit = await RequestVisit.begin(link, visiting);
  for (const type of ['text/plain', 'x'.repeat(5000), 'text/\u202eplain'])
    await visit.upload(bytesSource(content(10)), { name: 'a', type });
  const device = await sameUser(owner, proxy.url, more);
  const deliveries = await device.deliveries();
  assert.deepEqual(deliveries.map(({ type }) => type).sort(), ['text/plain', undefined, undefined]);
  const [tree, given] = [await device.tree(), new Set<string>()];
  proxy.requests.length = 0;
  for (const delivery of deliveries) await device.takeOver(delivery, { tree, given });
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
    meanwhile(pathOf('readTrashed', { file_id: first!.fileId }), () => owner.api.emptyTrash(files));
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
  const before = (await owner.api.headVolume(kept!.fileId, 1)).encParams;
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
    const { transfer_id } = await api.beginUpload(id, body, { access });
    const { server: at, ...options } = optionsFor(service.url);
    const visitor = new Api({ ...options, server: at, token });
    await visitor.writeVolume(transfer_id, 1, content(10), { sha256 });
    const total_sha256 = sha256;
    const said = {
      file_name: 'x',
      file_size: 10,
      total_sha256,
      chunk_count: 1,
      enc_params: { ...encParams },
    };
    await visitor.completeStreamed(transfer_id, said);
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

test('the volumes of a visitor are never more than a service takes, whatever was wished for', () => {
  for (const size of [0, 1, 4095, 4096, 4097, 8192, 8193, 1_000_000, 2 ** 31, 2 ** 40])
    for (const wish of [undefined, 1, 100, 4096, 5000, 65_536, 2 ** 20]) {
      const layout = visitorsLayout(size, wish);
      const volumes = sizesOf(layout).map((one, at) => ({ ...one, idx: at + 1, sha256: '' }));
      checkUpload({ volumes, storedSize: storedSize(layout) });
    }
});

test('a server that puts a key of its own into a request is noticed before anything is sent', async () => {
  const { link } = await ask();
  proxy.requests.length = 0;
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/requests/')) return undefined;
    const header = Buffer.from(JSON.parse(body.toString()).header as string, 'base64url');
    header[10]! ^= 1;
    return {
      body: Buffer.from(
        JSON.stringify({ ...JSON.parse(body.toString()), header: header.toString('base64url') }),
      ),
    };
  };
  try {
    await assert.rejects(RequestVisit.begin(through(link), visiting), { code: 'tampered', stage: 'request' });
    assert.deepEqual(
      proxy.requests.map(({ method }) => method),
      ['GET'],
    );
  } finally {
    proxy.hostility = () => undefined;
  }
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

test('an upload that was cut off goes on with its journal, counted once', async () => {
  const { owner, link } = await ask({ files: 1 });
  const path = join(service.folder, 'cut off');
  const bytes = content(24_000, 7);
  writeFileSync(path, bytes);
  const journal = fileJournal(join(service.folder, 'request journal'));
  const send = async (at: string) => {
    const source = await fileSource(path);
    try {
      const visit = await RequestVisit.begin(at, visiting);
      return await visit.upload(source, { name: 'big', volumeSize: 4096, parallel: 1, journal });
    } finally {
      await source.close();
    }
  };
  const cutAfter = (volumes: number) => {
    let sent = 0;
    proxy.before = (method) => (method === 'PUT' && ++sent > volumes ? 'cut' : undefined);
  };
  cutAfter(3);
  await assert.rejects(send(through(link)), { code: 'network' });
  proxy.before = undefined;
  // The journal is of one server: the same address again.
  const { resumed } = await send(through(link));
  assert.ok(resumed >= 3, `${resumed}`);
  const [delivery] = await owner.deliveries();
  await owner.takeOver(delivery!);
  const [entry] = await owner.list();
  assertBytes(await readAll((await owner.openFile(entry!.fileId)).stream()), bytes);
  // One file was asked for.
  await assert.rejects(send(through(link)), { code: 'link-over', why: 'full' });
});

test('a request that has ended says so, also in the middle of an upload', async () => {
  const { owner, link, id } = await ask();
  const visit = await RequestVisit.begin(through(link), visiting);
  let ended: Promise<void> | undefined;
  proxy.before = (method) => {
    if (method === 'PUT') ended ??= owner.endRequest(id);
    return undefined;
  };
  try {
    const slow = { ...bytesSource(content(24_000)), check: async () => ended };
    await assert.rejects(visit.upload(slow, { name: 'a', volumeSize: 4096 }), {
      code: 'link-over',
      why: 'ended',
    });
  } finally {
    proxy.before = undefined;
  }
  await assert.rejects(RequestVisit.begin(link, visiting), { code: 'link-over', why: 'ended' });
  assert.deepEqual(await owner.requests(), []);
  assert.deepEqual(await owner.deliveries(), []);
  const stray = link.replace(id, `${id.slice(0, -1)}B`);
  for (const text of [link.slice(0, -1), link.replace('/r/', '/s/'), link.replace('#', '//#'), stray, 'x'])
    await assert.rejects(RequestVisit.begin(text, visiting), { code: 'link' });
  for (const text of [` ${link}\n`, link.replace('#', '/#'), link.replace('http', 'HTTP')])
    assert.equal(parseRequest(text).id, id);
  assert.ok(looksLikeRequest(link.slice(0, -9)) && !looksLikeLink(link));
});

test('no id of a request or a share begins as an option of a command does', () => {
  const drawn = [0xf8, 0xfb, 0xff].map((first) => new Uint8Array(16).fill(first, 0, 1));
  assert.equal(newShareId({ engine: { ...engine, random: () => drawn.shift()! } }), `_w${'A'.repeat(20)}`);
});
