import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import http2 from 'node:http2';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import {
  admin,
  assertOk,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  RawConnection,
  readVolume,
  register,
  Service,
  send,
  upload,
} from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';
import { cases, compare, linesOf, type Stage, setStage, wasHandedOver } from '../nodes/accel.ts';
import { fromFolder, Nginx } from '../nodes/nginx.ts';

/** nginx as it is in deploy/, which sends the volumes in a folder itself; and a second one, which does not. */
const service = new Service({
  env: { SZ_WORKERS: '1', SZ_TRUST_PROXY: '127.0.0.1', SZ_ACCEL: '1' },
});
let accelerated: Nginx;
let plain: Nginx;
let stage: Stage;
before(async () => {
  await service.start();
  // As the warning at the start asks for it.
  for (const folder of [service.home, service.data]) await chmod(folder, 0o710);
  accelerated = await Nginx.create([service, service], fromFolder(service.data));
  plain = await Nginx.create([service, service]);
  stage = await setStage(accelerated);
});
after(async () => {
  await accelerated?.stop();
  await plain?.stop();
  await service.stop();
});

test('an answer is the same, header for header and byte for byte, whether nginx or the node sends the volume', async () => {
  for (const one of cases(stage, 'folder')) await compare(service, accelerated, plain, one);
});

test('clients that speak HTTP/2 get the same', async () => {
  const session = http2.connect(accelerated.secureUrl, { rejectUnauthorized: false });
  try {
    const path = pathOf('readVolume', { file_id: stage.fileId, idx: 3 });
    const stream = session.request({ ':path': path, authorization: `Bearer ${stage.owner.token}` });
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    const body = Buffer.concat(await Array.fromAsync(stream as AsyncIterable<Buffer>));
    assert.ok(body.equals(stage.volumes[2]!));
    assert.equal(head['x-chunk-count'], '3');
    assert.equal((await linesOf(service, head)).at(-1)?.accel, true);
  } finally {
    session.close();
  }
});

test('a client that calls the node itself gets the bytes from it, unless it is a trusted proxy that offers to send them', async () => {
  const { owner, fileId, volumes } = stage;
  const call = { path: pathOf('readVolume', { file_id: fileId, idx: 1 }), token: owner.token };
  for (const headers of [{}, { 'x-szafa-accel': '1' }, { 'x-szafa-accel': 's3' }, { 'x-szafa-accel': '' }]) {
    const answer = await send(service.url, { ...call, headers });
    assert.ok(answer.body.equals(volumes[0]!), JSON.stringify(headers));
    assert.equal(answer.headers['x-accel-redirect'], undefined);
  }
  const offered = await send(service.url, { ...call, headers: { 'x-szafa-accel': 'folder' } });
  assert.equal(offered.body.length, 0);
  assert.match(String(offered.headers['x-accel-redirect']), /^\/szafa-folder\/[0-9a-f]{2}\/[0-9a-f]{32}\/1/);
});

test('bytes count when they are handed over', async () => {
  const count = async () => {
    const { text } = await admin(service).get(pathOf('metrics'));
    return parseMetrics(text).get('szafa_volume_bytes_total{direction="out"}') ?? 0;
  };
  const before = await count();
  await readVolume(stage.owner, stage.fileId, 1, { range: 'bytes=0-99' });
  await readVolume(stage.owner, stage.fileId, 3);
  assert.equal((await count()) - before, 100 + stage.volumes[2]!.length);
});

/** Requests that one of the rules is about, and whether the volume is left to nginx. */
async function rules(): Promise<[name: string, left: boolean, token: string, fileId: string][]> {
  const { owner, fileId, stranger } = stage;
  const user = await register(service);
  const [dir, other] = [await makeDir(user), await makeDir(user)];
  const inside = (await upload(user, makeFile([100], { dir_id: dir }))).fileId;
  const trashed = (await upload(user, makeFile([100]))).fileId;
  assertOk(await user.post(pathOf('trashFiles'), { files: [trashed] }));
  const tokenFor = async (scope: string, more = {}) => {
    const answer = await user.post(pathOf('createToken'), { device: 'd', scope, ...more });
    assertOk(answer);
    return String(answer.json['token']);
  };
  const [slow, disabled] = [await register(service), await register(service)];
  const [slowFile, lostFile] = [(await upload(slow)).fileId, (await upload(disabled)).fileId];
  const { username } = slow;
  assertOk(await admin(service).put(pathOf('limitAccount', { username }), { download_rate: 10_000_000 }));
  assertOk(await admin(service).post(pathOf('disableAccount', { username: disabled.username })));
  return [
    ['its owner', true, owner.token, fileId],
    ['the system token, which reads only its own', false, service.systemToken, fileId],
    ['a stranger', false, stranger.token, fileId],
    ['nobody', false, 'x'.repeat(43), fileId],
    ['an unknown file', false, owner.token, '0'.repeat(32)],
    ['a file in the trash', false, user.token, trashed],
    ['a token that reads', true, await tokenFor('read'), inside],
    ['a token that adds', false, await tokenFor('append'), inside],
    ['a token for the directory', true, await tokenFor('read', { dir_id: dir }), inside],
    ['a token for another one', false, await tokenFor('read', { dir_id: other }), inside],
    ['an account with a rate', false, slow.token, slowFile],
    ['a disabled account', false, disabled.token, lostFile],
  ];
}

test('an offer changes nothing but who sends the bytes: not who may read, nor what is logged and counted', async () => {
  const counted = async () => {
    const all = parseMetrics((await admin(service).get(pathOf('metrics'))).text);
    const ours = [...all].filter(([key]) => /^szafa_(requests_total|answers_total)\{/.test(key));
    assert.equal(all.get('szafa_requests_in_flight'), 1, 'the scrape itself');
    return new Map(ours.filter(([key]) => !key.includes('/metrics')));
  };
  const increase = (from: Map<string, number>, to: Map<string, number>) =>
    [...to].map(([key, value]) => [key, value - (from.get(key) ?? 0)]).filter(([, by]) => by !== 0);
  for (const [name, left, token, fileId] of await rules()) {
    const ask = async (headers = {}) => {
      const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
      const before = await counted();
      const answer = await send(service.url, { path, token, headers });
      const [{ reqId: _, time: __, ms: ___, accel = false, ...line } = {}] = (await linesOf(
        service,
        answer.headers,
      )) as Record<string, unknown>[];
      return { answer, accel, line, counts: increase(before, await counted()) };
    };
    const [offered, plainly] = [await ask({ 'x-szafa-accel': 'folder' }), await ask()];
    assert.equal(offered.accel, left, name);
    assert.equal(plainly.accel, false, name);
    assert.equal(offered.answer.headers['x-accel-redirect'] !== undefined, left, name);
    assert.equal(offered.answer.status, plainly.answer.status, name);
    assert.deepEqual(offered.line, plainly.line, name);
    assert.deepEqual(Object.keys(offered.line), Object.keys(plainly.line), name);
    assert.deepEqual(offered.counts, plainly.counts, name);
    if (!left) assert.ok(offered.answer.body.equals(plainly.answer.body), name);
  }
});

test('a volume that the node sends in spite of an offer is in flight once', async () => {
  const user = await register(service);
  const { username } = user;
  const { fileId } = await upload(user, makeFile([400_000]));
  assertOk(
    await admin(service).put(pathOf('limitAccount', { username }), { download_rate: limits.leastRate }),
  );
  const connection = await RawConnection.open(service.url);
  try {
    const line = `GET ${pathOf('readVolume', { file_id: fileId, idx: 1 })} HTTP/1.1\r\nHost: x\r\n`;
    connection.write(`${line}Authorization: Bearer ${user.token}\r\nX-Szafa-Accel: folder\r\n\r\n`);
    await connection.until(({ statuses }) => statuses.length === 1);
    const { text } = await admin(service).get(pathOf('metrics'));
    assert.equal(parseMetrics(text).get('szafa_requests_in_flight'), 2, 'it, and the scrape itself');
  } finally {
    connection.destroy();
  }
});

test('a node that stops tells those that are connected', async () => {
  const stopping = await new Service({
    env: { SZ_WORKERS: '1', SZ_TRUST_PROXY: '127.0.0.1', SZ_ACCEL: '1' },
  }).start();
  const user = await register(stopping);
  const { fileId, file } = await upload(user, makeFile([10]));
  const line = `GET ${pathOf('readVolume', { file_id: fileId, idx: 1 })} HTTP/1.1\r\nHost: x\r\n`;
  const ask = `${line}Authorization: Bearer ${user.token}\r\nX-Szafa-Accel: folder\r\n\r\n`;
  const connection = await RawConnection.open(stopping.url);
  try {
    connection.write(ask);
    const { text } = await connection.until(({ statuses }) => statuses.length === 1);
    assert.match(text, /x-accel-redirect: .*connection: keep-alive/is);
    const stopped = stopping.terminate();
    // Until the worker has heard of it.
    let last = text;
    for (let asked = 1; /connection: keep-alive/i.test(last); asked++) {
      const before = connection.answer.text.length;
      connection.write(ask);
      await connection.until(({ statuses, closed }) => closed || statuses.length > asked);
      last = connection.answer.text.slice(before);
    }
    assert.match(last, /^HTTP\/1.1 200 .*connection: close/is);
    const { text: all } = await connection.until(({ closed }) => closed);
    assert.ok(all.endsWith(file.volumes[0]!.toString('latin1')), 'the node answers itself');
    await stopped;
  } finally {
    connection.destroy();
    await stopping.stop();
  }
});

test('what nginx cannot read, the node sends; what is gone, it says', async () => {
  const { owner } = stage;
  const { fileId, file } = await upload(owner, makeFile([500, 600]));
  const folder = join(service.data, 'volumes', fileId.slice(0, 2), fileId);
  const names = (await readdir(folder)).filter((name) => /^[0-9]/.test(name)).sort();
  await chmod(join(folder, names[0]!), 0o600);
  const answer = await readVolume(owner, fileId, 1, { range: 'bytes=0-9' });
  assert.equal(answer.status, 206);
  assert.ok(answer.body.equals(file.volumes[0]!.subarray(0, 10)));
  const lines = await linesOf(service, answer.headers, process.getuid?.() === 0 ? 2 : 1);
  if (process.getuid?.() === 0)
    assert.deepEqual(
      lines.map(({ accel }) => accel),
      [true, undefined],
    );
  await rm(join(folder, names[1]!));
  const gone = await readVolume(owner, fileId, 2);
  assert.equal(gone.status, 404);
  assert.equal(typeof gone.json['error'], 'string');
});

test('the group can read volumes whose names it knows, and nothing else', async () => {
  await upload(stage.owner, makeFile(Array<number>(70).fill(10)));
  const small = await putFile(stage.owner, newTransferId(), makeFile([50]));
  assert.equal(small.status, 200, small.text);
  const clone = await stage.owner.post(pathOf('cloneFile', { file_id: stage.fileId }), {});
  assert.equal(clone.status, 200, clone.text);
  for (const fileId of [String(small.json['file_id']), String(clone.json['file_id'])]) {
    assert.equal(await wasHandedOver(service, await readVolume(stage.owner, fileId, 1)), true);
  }
  const groups = new Set<string>();
  for (const name of await readdir(service.data, { recursive: true })) {
    const { mode } = await stat(join(service.data, name));
    if ((mode & 0o077) === 0) continue;
    groups.add(
      name
        .replace(/^volumes\/../, 'volumes/ab')
        .replace(/[0-9a-f]{32,}/g, '#')
        .replace(/\/\d+/, '/1'),
    );
    assert.equal(mode & 0o077, name.split('/').length === 4 ? 0o040 : 0o010, name);
  }
  const found = [...groups].sort();
  assert.deepEqual(found.slice(0, 3), ['volumes', 'volumes/ab', 'volumes/ab/#']);
  assert.match(found[3]!, /^volumes\/ab\/#\/1/);
  assert.equal(found.length, 4, found.join(', '));
});

test('no log tells a token, or where a volume is', async () => {
  for (const { access, error } of [await accelerated.logs(), await plain.logs()]) {
    accelerated.witness.checkLogs(access + error);
    assert.doesNotMatch(access + error, /szafa-folder/);
    assert.match(access, new RegExp(`"path":"/api/files/${stage.fileId.slice(0, 6)}…/chunk/3"`));
  }
  accelerated.witness.checkLogs(service.log);
});
