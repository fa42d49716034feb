/** Small files that travel together, with the real service behind a proxy that sees every request. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { filePages } from '../src/files/calls.ts';
import { bytesSource, type Szafa, type UploadProgress } from '../src/index.ts';
import { batching, nodeTransport } from '../src/node/index.ts';
import { type HostileProxy, startProxy } from './proxy.ts';
import { content, engine, newUser, readAll, type Service, sameUser, startService } from './service.ts';

let service: Service;
let proxy: HostileProxy;
const transport = nodeTransport();
before(async () => {
  service = await startService();
  proxy = await startProxy(service.url);
});
after(async () => {
  await proxy.stop();
  await service.stop();
  transport.close();
  await engine.close();
});

const TOGETHER = pathOf('writeFiles');
const isAlone = (path: string) => /\/api\/transfer\/[\w-]+\/file$/.test(path);
const sizeOf = (at: number) => [0, 1, 1000, 65_536, 200_000][at % 5]!;

/** A new account, and what it asks for from now on. */
async function visitor(): Promise<Szafa> {
  proxy.before = undefined;
  proxy.hostility = () => undefined;
  const szafa = await newUser(service.url);
  const known = await sameUser(szafa, proxy.url, { transport: batching(transport) });
  await known.tree();
  proxy.requests.length = 0;
  return known;
}

const sentTogether = () => proxy.requests.filter(({ path }) => path === TOGETHER);
const sentAlone = () => proxy.requests.filter(({ path }) => isAlone(path));
const filesIn = (sent: Buffer) =>
  (JSON.parse(sent.subarray(0, sent.indexOf('\n')).toString()) as { files: unknown[] }).files.length;

function putAll(
  szafa: Szafa,
  count: number,
  more: (at: number) => {
    signal?: AbortSignal;
    onProgress?: (progress: UploadProgress) => void;
  } = () => ({}),
) {
  return Promise.allSettled(
    Array.from({ length: count }, (_, at) =>
      szafa.upload(bytesSource(content(sizeOf(at), at + 1)), { path: `f${at}`, ...more(at) }),
    ),
  );
}

/** Each is there once, with its bytes. */
async function assertThere(szafa: Szafa, numbers: number[]): Promise<void> {
  const tree = await (await sameUser(szafa, service.url)).tree();
  const files = (await Array.fromAsync(filePages(szafa.api, 'listFiles'))).flat();
  assert.equal(files.length, numbers.length);
  for (const at of numbers) {
    const node = tree.file(`f${at}`);
    assert.ok(node, `f${at}`);
    const remote = await szafa.openFile(node.entry.fileId);
    assertBytes(await readAll(remote.pieces()), content(sizeOf(at), at + 1));
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

test('files that wait at the same time travel together, and each tells how far it is', async () => {
  const szafa = await visitor();
  const told: UploadProgress[][] = upTo(80).map(() => []);
  const results = await putAll(szafa, 80, (at) => ({ onProgress: (progress) => told[at]!.push(progress) }));
  const tree = await (await sameUser(szafa, service.url)).tree();
  for (const [at, result] of results.entries()) {
    assert.equal(result.status, 'fulfilled');
    assert.equal(result.value.fileId, tree.file(`f${at}`)?.entry.fileId, 'it is told its own file');
  }
  const counts = sentTogether().map(({ sent }) => filesIn(sent));
  assert.equal(counts.reduce((sum, count) => sum + count, 0) + sentAlone().length, 80);
  assert.ok(counts.length + sentAlone().length < 20, `${counts} together, ${sentAlone().length} alone`);
  assert.ok(Math.max(...counts) <= limits.batchFiles);
  for (const [at, progress] of told.entries()) {
    const total = sizeOf(at);
    assert.deepEqual(progress.at(-1), { done: total, stored: total, total });
    for (const { done } of progress) assert.ok(done <= total);
  }
  await assertThere(szafa, upTo(80));
});

test('one that waits alone, and one that is not small, has a request of its own', async () => {
  const szafa = await visitor();
  await szafa.upload(bytesSource(content(1000, 3)), { path: 'f2' });
  await Promise.all(
    [1, 2, 3].map((at) => szafa.upload(bytesSource(content(300_000, at)), { path: `large${at}` })),
  );
  assert.equal(sentTogether().length, 0);
  assert.equal(sentAlone().length, 4);
});

test('an answer that is lost makes no second file of any of them', async () => {
  const szafa = await visitor();
  let lost = 3;
  proxy.hostility = ({ path }) => (path === TOGETHER && lost-- > 0 ? 'cut' : undefined);
  const results = await putAll(szafa, 40);
  assert.ok(lost < 3, 'some were lost');
  for (const result of results) assert.equal(result.status, 'fulfilled');
  await assertThere(szafa, upTo(40));
});

test('what is refused to one is told to that one', async () => {
  const szafa = await visitor();
  proxy.hostility = ({ path, body }) => {
    if (path !== TOGETHER) return undefined;
    const { files } = JSON.parse(body.toString()) as { files: object[] };
    return {
      body: Buffer.from(JSON.stringify({ files: [{ status: 507, error: 'full' }, ...files.slice(1)] })),
    };
  };
  const results = await putAll(szafa, 40);
  const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  assert.equal(refused.length, sentTogether().length);
  for (const error of refused) assert.deepEqual([error.status, error.message], [507, 'full']);
});

test('a service that does not take them together gets one after the other', async () => {
  const refusals = [
    { status: 404, body: Buffer.from('{"error":"no such route"}') },
    { status: 405, body: Buffer.from('{"error":"no such method"}') },
    { status: 413, body: Buffer.from('<html>too large</html>') },
    { status: 200, body: Buffer.from('{"files":[]}') },
    { status: 200, body: Buffer.from('hello') },
  ];
  for (const refusal of refusals) {
    const szafa = await visitor();
    proxy.before = (_method, path) => (path === TOGETHER ? refusal : undefined);
    for (const result of await putAll(szafa, 20)) assert.equal(result.status, 'fulfilled');
    assert.equal(sentAlone().length, 20);
    const asked = sentTogether().length;
    assert.ok(asked >= 1 && asked <= 2, `asked ${asked} times`);
    await assertThere(szafa, upTo(20));
    await Promise.all([100, 105].map((at) => szafa.upload(bytesSource(content(9, at)), { path: `f${at}` })));
    assert.equal(sentTogether().length, asked, 'and is not asked again');
  }
});

test('what refuses all of them for one is asked of each', async () => {
  const szafa = await visitor();
  const refusal = { status: 403, body: Buffer.from('{"error":"not there"}') };
  proxy.before = (_method, path) => (path === TOGETHER ? refusal : undefined);
  for (const result of await putAll(szafa, 10)) assert.equal(result.status, 'fulfilled');
  assert.equal(sentAlone().length, 10);
  proxy.before = (_method, path) =>
    path === TOGETHER ? { status: 401, body: Buffer.from('{"detail":"who are you"}') } : undefined;
  const refused = await putAll(szafa, 10);
  assert.equal(refused.filter((result) => result.status === 'rejected').length, 10);
  assert.equal(sentAlone().length, 10, 'and what is so for all is not');
});

test('one that is given up leaves the others alone; when all are, nobody waits', async () => {
  const szafa = await visitor();
  const controllers = upTo(12).map(() => new AbortController());
  const held = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  proxy.before = async (_method, path) => {
    if (path !== TOGETHER) return undefined;
    arrived.resolve();
    await held.promise;
    return undefined;
  };
  const all = putAll(szafa, 12, (at) => ({ signal: controllers[at]!.signal }));
  await arrived.promise;
  controllers[3]!.abort(new Error('enough'));
  controllers[7]!.abort(new Error('enough'));
  held.resolve();
  const results = await all;
  assert.deepEqual(
    results.flatMap(({ status }, at) => (status === 'rejected' ? [at] : [])),
    [3, 7],
  );
  proxy.before = async () => new Promise(() => {});
  const none = upTo(12).map(() => new AbortController());
  const waiting = putAll(szafa, 12, (at) => ({ signal: none[at]!.signal }));
  setTimeout(() => {
    for (const controller of none) controller.abort(new Error('enough'));
  }, 100);
  for (const result of await waiting) {
    assert.equal(result.status, 'rejected');
    assert.equal(result.reason.message, 'enough');
  }
});
