/** Lists of files that say something else than their owner has sealed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { FileRecord } from '@szafa/protocol';
import { bytesSource, isAhead, type Version } from '../src/index.ts';
import { completeTransfer, writeVolume } from '../src/transfers/calls.ts';
import { proxy, service, szafa } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import { content, newUser, sameUser } from './service.ts';

/** A list that says something else; the records in it are those of the service. */
const onList =
  (change: (files: FileRecord[]) => FileRecord[]): Hostility =>
  ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const list = JSON.parse(body.toString()) as { files: FileRecord[] };
    return { body: Buffer.from(JSON.stringify({ ...list, files: change(list.files) })) };
  };

test('names exchanged between records', async () => {
  proxy.hostility = onList((files) =>
    files.map((file, i) => ({ ...file, file_name: files.at(-1 - i)!.file_name })),
  );
  const entries = await (await sameUser(szafa, proxy.url)).list();
  assert.ok(entries.every(({ verified }) => !verified));
  assert.ok(entries.every(({ problem }) => problem && 'stage' in problem && problem.stage === 'name'));
  proxy.hostility = () => undefined;
});

test('a number that would be bound as a smaller one: the name is not that of this record', async () => {
  proxy.hostility = onList((files) =>
    files.map((one) => ({ ...one, chunk_count: one.chunk_count + 2 ** 32 })),
  );
  const entries = await (await sameUser(szafa, proxy.url)).list();
  assert.ok(entries.length > 0 && entries.every(({ verified, size }) => !verified && size >= 0));
  proxy.hostility = () => undefined;
});

test('lists of anything: another kind of value in any field is not this service, and nothing else', async () => {
  const user = await sameUser(szafa, proxy.url);
  const values = [null, 5, -1, 1.5, 1e300, 'x', {}, [], true, undefined];
  const kinds: Record<keyof FileRecord, (value: unknown) => boolean> = {
    file_id: (value) => typeof value === 'string',
    file_name: (value) => typeof value === 'string',
    size: (value) => value === 5,
    sha256: (value) => typeof value === 'string',
    user_id: (value) => value === null || typeof value === 'string',
    dir_id: (value) => value === null || value === 5,
    dir_name: (value) => typeof value === 'string',
    chunk_count: (value) => value === 5,
    created_at: (value) => typeof value === 'string',
    enc_params: (value) => value === undefined || typeof value === 'string',
  };
  for (const [field, fits] of Object.entries(kinds)) {
    for (const value of values) {
      proxy.hostility = onList((files) => files.map((one) => ({ ...one, [field]: value })));
      const listed = user.list();
      if (fits(value)) await listed;
      else await assert.rejects(listed, { code: 'not-the-service' }, `${field}: ${JSON.stringify(value)}`);
    }
  }
  for (const value of values) {
    if (Array.isArray(value)) continue;
    const body = Buffer.from(JSON.stringify({ files: value, dirs: value, received: value }));
    proxy.hostility = () => ({ status: 200, body });
    await assert.rejects(user.list(), { code: 'not-the-service' });
    await assert.rejects(user.dirs(), { code: 'not-the-service' });
    await assert.rejects(
      user.api.call('received', { params: { transfer_id: 'x' } }).then(({ received }) => received),
      { code: 'not-the-service' },
    );
    const credentials = { username: 'somebody', password: 'a password of his' };
    await assert.rejects(user.api.call('login', { body: credentials }), { code: 'not-the-service' });
  }
  proxy.hostility = () => undefined;
});

test('a plain name in place of a sealed one: shown as not verified, and refused when it is opened', async () => {
  const owner = await newUser(service.url);
  await owner.upload(bytesSource(content(10)), { path: 'draft.txt' });
  await owner.upload(bytesSource(content(10, 2)), { path: 'folder/kept.txt', plainName: true });
  for (const plain of ['invoice.txt', 'Draft.txt', 'draft.txt ', 'kept.txt ']) {
    proxy.hostility = onList((files) => files.map((file) => ({ ...file, file_name: plain })));
    const user = await sameUser(owner, proxy.url);
    const entries = await user.list();
    assert.equal(entries.length, 2);
    for (const { fileId, record, name, verified } of entries) {
      assert.deepEqual([name, verified], [plain, false]);
      await assert.rejects(user.openFile(fileId, { record }), { code: 'tampered', stage: 'name' });
    }
    const problems = (await user.versions(entries)).map(({ problem }) => problem?.code);
    assert.deepEqual(problems, ['tampered', 'tampered']);
  }
  // The plain name that the owner gave, as the service keeps it, is no attack.
  proxy.hostility = () => undefined;
  const [kept] = await owner.list();
  assert.deepEqual([kept!.name, kept!.verified], ['kept.txt', false]);
  const { metadata } = await owner.openFile(kept!.fileId, { record: kept!.record });
  assert.equal(metadata.name, 'folder/kept.txt');
});

test('the order of the list: the newest is the one that says so under its seal', async () => {
  const owner = await newUser(service.url);
  const now = Date.now();
  for (const [at, added] of [now - 1000, now, now - 2000].entries()) {
    await owner.upload(bytesSource(content(10, at)), { path: 'v', added });
  }
  // A clock that was ahead makes nothing the newest for ever.
  await owner.upload(bytesSource(content(10)), { path: 'v', added: now - 3000, after: 1 });
  const times = (versions: Version[]) => versions.map(({ metadata }) => metadata?.added);
  for (const reorder of [(files: FileRecord[]) => files, (files: FileRecord[]) => files.toReversed()]) {
    proxy.hostility = onList((files) =>
      reorder(files).map((file, at) => ({ ...file, created_at: new Date(at * 1e10).toISOString() })),
    );
    const user = await sameUser(owner, proxy.url);
    const versions = await user.versions(await user.list());
    assert.deepEqual(times(versions), [now - 3000, now, now - 1000, now - 2000]);
    assert.ok(versions.every(({ metadata }) => !isAhead(metadata!)));
  }
  proxy.hostility = () => undefined;
  await owner.upload(bytesSource(content(10)), { path: 'v', added: now + 90_000_000, after: 2 });
  const [first] = await owner.versions(await owner.list());
  assert.ok(first?.metadata && isAhead(first.metadata));
  assert.ok(!isAhead({ ...first.metadata, added: now + 80_000_000 }, now));
});

test('equal gen and added: the greater file id is the newest, whatever the order of the list, and only then headers are read', async () => {
  const owner = await newUser(service.url);
  const added = Date.now();
  for (let at = 0; at < 4; at++) await owner.upload(bytesSource(content(10, at)), { path: 'v', added });
  await owner.upload(bytesSource(content(10)), { path: 'v', added: added - 1 });
  await owner.upload(bytesSource(content(10)), { path: 'alone', added });
  const sealedIds = new Map<string, string>();
  for (const { fileId, path, age } of await owner.list()) {
    if (path === 'v' && age!.added === added)
      sealedIds.set(fileId, (await owner.openFile(fileId)).header.fileId.toHex());
  }
  const expected = [...sealedIds].sort(([, a], [, b]) => (a < b ? 1 : -1)).map(([id]) => id);
  for (const reorder of [(files: FileRecord[]) => files, (files: FileRecord[]) => files.toReversed()]) {
    proxy.hostility = onList(reorder);
    const user = await sameUser(owner, proxy.url);
    proxy.requests.length = 0;
    const node = (await user.tree()).file('v')!;
    assert.equal(proxy.requests.filter(({ method }) => method === 'HEAD').length, 4);
    assert.equal(node.entry.fileId, expected[0]);
    assert.deepEqual(
      node.versions.slice(0, 4).map(({ fileId }) => fileId),
      expected,
    );
    const versions = await user.versions(node.versions.toReversed());
    assert.deepEqual(
      versions.slice(0, 4).map(({ entry }) => entry.fileId),
      expected,
    );
  }
  // One of them cannot be opened: it may be the newest, so the path is not shown as sound.
  proxy.hostility = (passing) =>
    passing.path.includes(expected[3]!)
      ? { headers: { ...passing.headers, 'x-enc-params': 'e30=' } }
      : undefined;
  const broken = (await (await sameUser(owner, proxy.url)).tree()).file('v')!;
  assert.equal(broken.problem?.code, 'unsupported');
  proxy.hostility = () => undefined;
});

test('sums beyond 2^53, which two files of another client make, hide neither the tree nor the quota', async () => {
  const user = await newUser(service.url);
  const dirId = await user.makeDir('folder');
  const volume = new Uint8Array([1]);
  const sha256 = createHash('sha256').update(volume).digest('hex');
  for (const file_name of ['a', 'b']) {
    const size = { file_size: Number.MAX_SAFE_INTEGER, total_sha256: sha256, chunk_count: 1 };
    const chunks = [{ idx: 1, size: 1, sha256 }];
    const body = { file_name, ...size, chunks, enc_params: { alg: 'other' }, dir_id: dirId };
    const { transfer_id } = await user.api.call('init', { body });
    await writeVolume(user.api, transfer_id, 1, volume);
    await completeTransfer(user.api, transfer_id);
  }
  const { used_bytes, remain_bytes } = await user.quota();
  assert.deepEqual([used_bytes, remain_bytes], [2 * Number.MAX_SAFE_INTEGER, 0]);
  assert.deepEqual(
    (await user.dirs()).map(({ size }) => size),
    [2 * Number.MAX_SAFE_INTEGER],
  );
  assert.equal((await user.tree()).files().length, 2);
});
