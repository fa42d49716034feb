import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { deriveAccountKeys } from '@szafa/format';
import { pathOf } from '@szafa/protocol';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { readServerInfo } from '../src/accounts/calls.ts';
import {
  Api,
  alike,
  bytesSource,
  displayName,
  Szafa,
  safeSegments,
  sameContent,
  type Transport,
  webEngine,
} from '../src/index.ts';
import { filePins, nodeTransport } from '../src/node/index.ts';
import { completeTransfer, receivedVolumes, writeVolume } from '../src/transfers/calls.ts';
import { startProxy } from './proxy.ts';
import {
  content,
  engine,
  newUser,
  optionsFor,
  password,
  quick,
  readAll,
  type Service,
  sameUser,
  startService,
  transport,
} from './service.ts';

let service: Service;
before(async () => {
  service = await startService();
});
after(async () => {
  await service.stop();
  transport.close();
  await engine.close();
});

test('files of every size come back, and any device reads them with the password alone', async () => {
  const szafa = await newUser(service.url, { engine });
  const size = 1000;
  for (const length of [0, 1, size - 1, size, size + 1, 3 * size]) {
    await szafa.upload(bytesSource(content(length)), {
      path: `n${length}`,
      volumeSize: size,
      type: 'text/plain',
    });
  }
  const { username } = szafa;
  const second = await Szafa.login({ server: service.url, engine: webEngine() }, { username, password });
  const entries = await second.list();
  assert.deepEqual(
    entries.map(({ name, verified, size: bytes }) => [name, verified, bytes]),
    [3000, 1001, 1000, 999, 1, 0].map((length) => [`n${length}`, true, length]),
  );
  for (const { fileId, record, size: length } of entries) {
    const remote = await second.openFile(fileId, { record });
    assertBytes(await readAll(remote.stream()), content(length));
    assert.equal(remote.metadata.type, 'text/plain');
    await remote.verify();
  }
  const remote = await second.openFile(entries[0]!.fileId);
  assertBytes(await remote.readRange(990, 1020), content(3000).slice(990, 2010));
  assertBytes(await remote.readRange(2990, 50), content(3000).slice(2990));
  await second.upload(bytesSource(content(5)), { path: 'from the second' });
  assert.deepEqual((await szafa.list())[0]?.name, 'from the second');
});

test('the service never gets the password, and a wrong one opens nothing', async () => {
  const proxy = await startProxy(service.url);
  try {
    const szafa = await newUser(proxy.url);
    await szafa.upload(bytesSource(content(10)), { path: 'secret name' });
    const sent = Buffer.concat(proxy.requests.map(({ sent: bytes }) => bytes)).toString('latin1');
    assert.ok(!sent.includes(password) && !sent.includes('secret name'));
    const { username, token } = szafa;
    const secrets = { username, password: `${password}.` };
    await assert.rejects(Szafa.login(optionsFor(service.url), secrets), { code: 'api', status: 401 });
    const wrong = await Szafa.open(optionsFor(service.url), { username, token: token!, secret: 'another' });
    const [entry] = await wrong.list();
    assert.equal(entry?.verified, false);
    assert.equal(entry?.problem?.code, 'wrong-password');
    await assert.rejects(wrong.openFile(entry!.fileId), { code: 'wrong-password' });
    await assert.rejects(wrong.upload(bytesSource(content(1)), { path: 'x' }), { code: 'wrong-password' });
  } finally {
    await proxy.stop();
  }
});

test('a passphrase for the files; a raw password opens none', async () => {
  const options = optionsFor(service.url);
  const raw = { username: `raw_${process.pid}`, password, raw: true };
  const locked = await Szafa.register(options, raw);
  await assert.rejects(locked.upload(bytesSource(content(1)), { path: 'x' }), { code: 'locked' });
  await assert.rejects(locked.makeDir('x'), { code: 'locked' });
  assert.deepEqual(await locked.list(), []);
  const open = await Szafa.login(options, { ...raw, passphrase: 'the files' });
  await open.upload(bytesSource(content(7)), { path: 'x' });
  const again = await Szafa.login(options, { ...raw, passphrase: 'the files' });
  assert.equal((await again.list())[0]?.name, 'x');
  const other = await Szafa.login(options, { ...raw, passphrase: 'other' });
  assert.equal((await other.list())[0]?.verified, false);
});

test('two devices that make the first keys at once: one bag is stored, and both use it', async () => {
  const username = `both_${process.pid}`;
  const bare = new Api(optionsFor(service.url));
  const { service_id: serviceId } = await readServerInfo(bare);
  const { authSecret } = await deriveAccountKeys(quick, { serviceId, username }, password);
  await bare.call('register', { body: { username, password: authSecret } });
  // Both have seen that there is none before either stores one.
  const both = Promise.withResolvers<void>();
  let storing = 0;
  const statuses: number[] = [];
  const held: Transport = async (request) => {
    if (request.method !== 'PUT') return transport(request);
    if (++storing === 2) both.resolve();
    await both.promise;
    const response = await transport(request);
    statuses.push(response.status);
    return response;
  };
  const options = optionsFor(service.url, { transport: held });
  const login = () => Szafa.login(options, { username, password });
  const devices = await Promise.all([login(), login()]);
  const [one, two] = await Promise.all(devices.map((device) => device.keys.current()));
  assert.deepEqual(statuses.toSorted(), [200, 412]);
  assert.equal(one!.key.toHex(), two!.key.toHex());
  const third = await login();
  assert.equal((await third.keys.current()).key.toHex(), one!.key.toHex());
});

test('an answer that is lost makes no second bag; a session without the password makes none', async () => {
  const username = `lost_${process.pid}`;
  const bare = new Api(optionsFor(service.url));
  const { service_id: serviceId } = await readServerInfo(bare);
  const { authSecret, kek } = await deriveAccountKeys(quick, { serviceId, username }, password);
  const { token } = await bare.call('register', { body: { username, password: authSecret } });
  const kept = await Szafa.open(optionsFor(service.url), { username, token, kek });
  await assert.rejects(kept.upload(bytesSource(content(1)), { path: 'x' }), { code: 'locked' });
  const proxy = await startProxy(service.url);
  try {
    let cut = 0;
    proxy.hostility = ({ method }) => (method === 'PUT' && cut++ === 0 ? 'cut' : undefined);
    const szafa = await Szafa.open(optionsFor(proxy.url), {
      ...{ username, token, secret: password, isPassword: true },
    });
    const { key } = await szafa.keys.current();
    assert.equal(cut, 2);
    assert.equal((await kept.keys.current()).key.toHex(), key.toHex(), 'the first attempt had worked');
  } finally {
    await proxy.stop();
  }
});

test('a session that goes on asks for the keys once, and for nothing else', async () => {
  const pins = filePins(join(service.folder, 'config'), service.url);
  const szafa = await newUser(service.url, { pins });
  await szafa.upload(bytesSource(content(3)), { path: 'one' });
  const proxy = await startProxy(service.url);
  try {
    const later = await sameUser(szafa, proxy.url, { pins });
    await later.upload(bytesSource(content(3)), { path: 'two' });
    const asked = proxy.requests.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f]{32}/, 'ID')}`);
    assert.equal(asked.length, 2, asked.join('\n'));
    assert.equal((await later.list()).filter(({ verified }) => verified).length, 2);
    assert.equal(proxy.requests.length, 3);
  } finally {
    await proxy.stop();
  }
});

test('several wait for the keys: who gives up takes them from nobody else, and the last one ends the request', {
  timeout: 20_000,
}, async () => {
  const known = await newUser(service.url);
  const answers: PromiseWithResolvers<void>[] = [];
  const slow: Transport = async (request) => {
    if (!request.url.endsWith(pathOf('readKeys'))) return transport(request);
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    request.signal?.addEventListener('abort', () => answer.reject(request.signal!.reason));
    await answer.promise;
    return transport(request);
  };
  const { keys } = await sameUser(known, service.url, { transport: slow });
  const [one, two] = [new AbortController(), new AbortController()];
  const first = keys.current(one.signal);
  const second = keys.current(two.signal);
  one.abort(new Error('enough'));
  await assert.rejects(first, { message: 'enough' });
  two.abort(new Error('me too'));
  await assert.rejects(second, { message: 'me too' });
  assert.equal(answers.length, 1);
  await assert.rejects(answers[0]!.promise);
  const third = keys.current(new AbortController().signal);
  const fourth = new AbortController();
  const gone = assert.rejects(keys.current(fourth.signal));
  fourth.abort();
  await gone;
  answers[1]!.resolve();
  assert.equal((await third).epoch, 1);
  assert.equal(answers.length, 2);
});

test('a small file can be compared, read, and compared again', async () => {
  const szafa = await newUser(service.url);
  await szafa.upload(bytesSource(content(100)), { path: 'compared' });
  const [entry] = await szafa.list();
  const remote = await szafa.openFile(entry!.fileId, { record: entry!.record });
  assert.equal(await sameContent(remote, bytesSource(content(100))), true);
  (await remote.read(1)).release();
  assert.equal(await sameContent(remote, bytesSource(content(100))), true);
});

test('directories under sealed names, from any device, also before the first file', async () => {
  const szafa = await newUser(service.url);
  const dirId = await szafa.makeDir('Zdjęcia');
  await assert.rejects(szafa.makeDir('Zdjęcia'), { code: 'api', status: 409 });
  const second = await sameUser(szafa, service.url);
  await second.makeDir('shown', { plain: true });
  const names = (await szafa.dirs()).map(({ name, verified }) => `${name} ${verified}`).sort();
  assert.deepEqual(names, ['Zdjęcia true', 'shown false']);
  const { fileId } = await second.upload(bytesSource(content(3)), { path: 'Zdjęcia/in it' });
  const [entry] = await szafa.list({ dirId });
  assert.deepEqual([entry?.fileId, entry?.name], [fileId, 'in it']);
  await assert.rejects(szafa.makeDir('d'.repeat(33)), { code: 'name' });
});

test('long names, plain names, and files of other clients', async () => {
  const szafa = await newUser(service.url);
  const long = `${'ż'.repeat(300)}/${'x'.repeat(1000)}.txt`;
  await szafa.upload(bytesSource(content(1)), { path: long });
  await szafa.upload(bytesSource(content(2)), { path: 'shown/pla\u0007in.txt', plainName: true });
  const chunks = [{ size: 3, sha256: Buffer.from(await engine.sha256(content(3))).toString('hex') }];
  const init = {
    file_name: 'foreignforeignforeignforeign',
    file_size: 3,
    total_sha256: '0'.repeat(64),
    chunk_count: 1,
    chunks,
  };
  const { transfer_id: id } = await szafa.api.call('init', { body: { ...init, enc_params: { iv: 'x' } } });
  await writeVolume(szafa.api, id, 1, content(3));
  await completeTransfer(szafa.api, id);
  const entries = await szafa.list();
  assert.deepEqual(
    entries.map(({ name, verified, problem }) => [name, verified, problem]),
    [
      ['foreignforeignforeignforeign', false, undefined],
      ['plain.txt', false, undefined],
      [long, true, undefined],
    ],
  );
  await assert.rejects(szafa.openFile(entries[0]!.fileId), { code: 'unsupported', stage: 'params' });
  assert.equal((await szafa.openFile(entries[1]!.fileId)).metadata.name, 'shown/pla\u0007in.txt');
  await assert.rejects(szafa.upload(bytesSource(content(1)), { path: 'n'.repeat(10_000) }), { code: 'name' });
});

test('hostile names do not reach a path or a terminal', () => {
  assert.deepEqual(safeSegments('../../etc/passwd'), ['etc', 'passwd']);
  assert.deepEqual(safeSegments('/abs//./x'), ['abs', 'x']);
  assert.deepEqual(safeSegments('..'), ['unnamed']);
  // A name of any length is short at once: a link may bring one of millions of letters.
  const began = performance.now();
  assert.deepEqual(safeSegments(`${'ż'.repeat(1_000_000)}.txt`), [`${'ż'.repeat(125)}.txt`]);
  assert.ok(performance.now() - began < 10_000);
  assert.deepEqual(safeSegments('a\\..\\b'), ['a_.._b']);
  assert.equal(safeSegments(`${'ż'.repeat(300)}.txt`)[0]?.endsWith('ż.txt'), true);
  assert.ok(Buffer.byteLength(safeSegments(`${'ż'.repeat(300)}.txt`)[0]!) <= 255);
  assert.equal(displayName('a\u001b[31mb\nc\u202ed'), 'a\ufffd[31mb\ufffdc\ufffdd');
  // What joins letters or pictures is a part of their spelling, and anywhere else a sign that nobody sees.
  for (const name of [
    '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.txt',
    '\u{1f468}\u200d\u{1f469}',
    '\u2764\ufe0f\u200d\u{1f525}',
    '\u0915\u094d\u200d\u0937',
  ]) {
    assert.deepEqual([displayName(name), safeSegments(name)], [name, [name]]);
  }
  for (const [name, shown] of [
    ['in\u200dvoice', 'in\ufffdvoice'],
    ['\u200cx', '\ufffdx'],
    ['\u043e\u200d', '\u043e\ufffd'],
    ['e\u0301\u200d', 'e\u0301\ufffd'],
    ['\u0645\u200c\u200c', '\u0645\u200c\ufffd'],
    ['\u0645\u200b', '\u0645\ufffd'],
  ] as const) {
    assert.equal(displayName(name), shown);
  }
});

test('names that some disk takes for one are alike', () => {
  // FAT and Windows drop dots and blanks at the end.
  for (const [one, other] of [
    ['Report.', 'report'],
    ['report. .', 'report'],
    ['STRASSE', 'stra\u00dfe'],
    ['caf\u00e9', 'cafe\u0301'],
  ] as const) {
    assert.equal(alike(one), alike(other), one);
  }
  assert.notEqual(alike('.report'), alike('report'));
});

test('a streamed transfer through the interface: digests with the volumes, the rest at the end', async () => {
  const { api } = await newUser(service.url);
  for (const transport of [undefined, nodeTransport({ throttle: async () => undefined })]) {
    const calls = transport ? new Api({ server: service.url, token: api.token, transport }) : api;
    const volumes = [content(70_000), content(0), content(9)];
    const digests = volumes.map((bytes) => createHash('sha256').update(bytes).digest('hex'));
    const { transfer_id } = await calls.call('init', { body: { streamed: true } });
    await assert.rejects(writeVolume(calls, transfer_id, 1, volumes[0]!), { status: 400 });
    const file = {
      file_name: 'n',
      file_size: 70_009,
      total_sha256: digests[0]!,
      enc_params: {},
      chunk_count: volumes.length,
    };
    for (const at of [2, 0]) {
      await writeVolume(calls, transfer_id, at + 1, volumes[at]!, { sha256: digests[at] });
    }
    assert.deepEqual(await completeTransfer(calls, transfer_id, file), { received: [1, 3] });
    await writeVolume(calls, transfer_id, 2, volumes[1]!, { sha256: digests[1] });
    assert.deepEqual(
      await receivedVolumes(calls, transfer_id),
      volumes.map((bytes, at) => ({ idx: at + 1, size: bytes.length, sha256: digests[at] })),
    );
    const done = await completeTransfer(calls, transfer_id, file);
    assert.ok('file_id' in done);
    assert.deepEqual(await completeTransfer(calls, transfer_id, file), done);
    transport?.close();
  }
});
