/** Requests on a real service: a visitor with Web Crypto alone, the owner on two devices, and a server that lies. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { storedSize } from '@szafa/format';
import { checkUpload } from '@szafa/protocol';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { bytesSource, looksLikeLink, looksLikeRequest, parseRequest, RequestVisit } from '../src/index.ts';
import { fileJournal, fileSource } from '../src/node/index.ts';
import { newShareId } from '../src/sharing/links.ts';
import { visitorsLayout } from '../src/sharing/request-upload.ts';
import { sizesOf } from '../src/transfers/upload/description.ts';
import { ask, filesOf, more, through, visiting } from './ask.ts';
import { proxy, service } from './hostile.ts';
import { content, engine, readAll, sameUser } from './service.ts';

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
