/** What somebody tried against changes of an account, and what must come of it: the owner has the old state or the new one, and is told which. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newRecoveryKey, parseHeader } from '../src/format/index.ts';
import { bytesSource, type ConnectOptions, type Engine, type Journal, Szafa } from '../src/index.ts';
import { filePins } from '../src/node/index.ts';
import { bagBytes } from '../vectors/bag-builder.ts';
import { proxy, service } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import {
  content,
  quick as engine,
  newUser as makeUser,
  password,
  optionsFor as plainOptions,
  sameUser as sameAccount,
} from './service.ts';

const KEYS = '/api/account/keys';
const CHANGE = '/api/auth/password';
const next = 'another horse, another battery';
const phrase = 'rower chmura zamek lampa';

const optionsFor = (server: string, more: Partial<ConnectOptions> = {}) =>
  plainOptions(server, { engine, ...more });
const newUser = () => makeUser(service.url, { engine });
const sameUser = (user: Szafa, more: Partial<ConnectOptions> = {}, server = proxy.url) =>
  sameAccount(user, server, { engine, ...more });
const login = (user: Szafa, secret: string, more: Partial<ConnectOptions> = {}) =>
  Szafa.login(optionsFor(service.url, more), { username: user.username, password: secret });
const freshPins = () => filePins(mkdtempSync(join(service.folder, 'pins-')), proxy.url);
const json = (body: object, status = 200) => ({ status, body: Buffer.from(JSON.stringify(body)) });
const withFile = async (user: Szafa) => (await user.upload(bytesSource(content(5)), { path: 'kept' })).fileId;

async function hostile<T>(hostility: Hostility, work: () => Promise<T>): Promise<T> {
  proxy.hostility = hostility;
  proxy.requests.length = 0;
  try {
    return await work();
  } finally {
    proxy.hostility = () => undefined;
  }
}
const changes = () => proxy.requests.filter(({ method }) => !/^(GET|HEAD)$/.test(method));

test('an answer that is none of a service: it is found out what counts', async () => {
  const user = await newUser();
  const device = await sameUser(user, { pins: freshPins() });
  const page: Hostility = ({ path, method }) =>
    path === CHANGE || (path === KEYS && method === 'PUT')
      ? { status: 200, headers: {}, body: Buffer.from('<html>welcome to the hotel</html>') }
      : undefined;
  const change = () => hostile(page, () => device.changePassword({ password }, next));
  assert.equal(await change(), 'changed');
  await (await login(user, next)).checkKeys();
  await hostile(page, () => device.setRecoveryKey({ password: next }, newRecoveryKey(engine)));
  proxy.before = (_method, path) => (path === CHANGE ? json({ ok: true, at: 'the door' }, 402) : undefined);
  await assert.rejects(device.changePassword({ password: next }, password), { status: 402 });
  proxy.before = (_method, path) =>
    path === CHANGE ? { status: 200, body: Buffer.from('<html></html>') } : undefined;
  await assert.rejects(device.changePassword({ password: next }, password), { code: 'unchanged' });
  proxy.before = undefined;
  await (await login(user, next)).checkKeys();
});

test('a service that names itself otherwise, from the first question or the second', async () => {
  const acts: [secret: string, act: (device: Szafa) => Promise<unknown>][] = [
    [next, (device) => device.changePassword({ password }, next)],
    [phrase, (device) => device.changePassphrase({ password }, phrase)],
    [password, (device) => device.setRecoveryKey({ password }, newRecoveryKey(engine))],
    [password, (device) => device.replaceMaster({ password }, newRecoveryKey(engine))],
  ];
  for (const [secret, act] of acts) {
    const user = await newUser();
    let honest = 0;
    const renamed: Hostility = ({ path }) =>
      path === '/api/service' && honest-- <= 0
        ? json({ service_id: 'ab'.repeat(16), version: '1', features: [] })
        : undefined;
    const device = await sameUser(user);
    await hostile(renamed, () => assert.rejects(act(device), { code: 'tampered', stage: 'service' }));
    assert.deepEqual(changes(), []);
    // What was derived for another id would open nothing at this one, ever again.
    honest = 1;
    await hostile(renamed, () => act(device));
    const phrased = secret === phrase ? { passphrase: phrase } : {};
    const secrets = { username: user.username, password: secret === phrase ? password : secret, ...phrased };
    await (await Szafa.login(optionsFor(service.url), secrets)).checkKeys();
  }
});

test('a password that the service learns must not be the one that opens the files', async () => {
  const username = `${(await newUser()).username}_raw`;
  const secrets = { username, password, passphrase: phrase, raw: true };
  await Szafa.register(optionsFor(service.url), secrets);
  const user = await Szafa.login(optionsFor(proxy.url), secrets);
  proxy.requests.length = 0;
  await assert.rejects(user.changePassword({ password, raw: true }, phrase), { code: 'same-secret' });
  assert.ok(!proxy.requests.some(({ sent }) => sent.includes(phrase)));
  assert.equal(await user.changePassword({ password, raw: true }, next), 'changed');
});

test('a bag that is hidden while the password changes', async () => {
  const user = await newUser();
  await withFile(user);
  const device = await Szafa.login(optionsFor(proxy.url), { username: user.username, password });
  const hidden: Hostility = ({ path }) => (path === KEYS ? json({ error: 'none' }, 404) : undefined);
  await hostile(hidden, () =>
    assert.rejects(device.changePassword({ password }, next), { code: 'tampered', stage: 'no-bag' }),
  );
  assert.deepEqual(changes(), []);
});

test('entries and masters that the service added, moved or took away stop every change', async () => {
  const key = newRecoveryKey(engine);
  const username = `${(await newUser()).username}_e`;
  const user = await Szafa.register(optionsFor(service.url), { username, password, recoveryKey: key });
  await user.replaceMaster({ password }, key);
  const bytes = Buffer.from((await user.api.keys())!, 'base64url');
  const text = JSON.parse(bytes.subarray(33).toString());
  const evil = engine.random(32);
  const [own, recovery] = text.entries;
  const [earlier] = text.earlier;
  const forged = Buffer.from(earlier.key, 'base64url');
  forged.set(engine.random(20), 60);
  for (const change of [
    { entries: [own] },
    { entries: [recovery, own] },
    { entries: [own, { type: 'recovery', key: own.key }] },
    { entries: [own, recovery, { type: 'another', key: 'AAAA' }] },
    { entries: [own, recovery, { type: 'passkey', id: 'AAAA', key: own.key }] },
    { earlier: [] },
    { earlier: [{ epoch: 1, key: forged.toString('base64url') }] },
    { epoch: 3 },
    { epoch: 9, earlier: [{ epoch: 8, key: earlier.key }] },
    { rev: text.rev + 1 },
    { identity: { x25519: text.identity.ed25519, ed25519: text.identity.x25519 } },
  ]) {
    for (const mac of [bytes.subarray(1, 33), undefined]) {
      const said = JSON.stringify({ ...text, ...change });
      const whole = mac
        ? Buffer.concat([Buffer.of(1), mac, Buffer.from(said)])
        : Buffer.from(await bagBytes(engine, evil, said));
      const given: Hostility = ({ path, method, headers }) =>
        path === KEYS && method === 'GET'
          ? { headers, ...json({ keys: whole.toString('base64url') }) }
          : undefined;
      const tampered = { code: 'tampered', stage: 'bag-mac' };
      for (const act of [
        (device: Szafa) => device.checkKeys(),
        (device: Szafa) => device.changePassword({ password }, next),
        (device: Szafa) => device.changePassphrase({ password }, phrase),
        (device: Szafa) => device.setRecoveryKey({ password }, key),
        (device: Szafa) => device.replaceMaster({ password }, key),
        (device: Szafa) => device.reseal(),
      ]) {
        const device = await sameUser(user);
        await hostile(given, () => assert.rejects(act(device), tampered, JSON.stringify(change)));
        assert.deepEqual(changes(), []);
      }
      if (!mac) continue;
      const back: Hostility = ({ path, headers, body }) =>
        path === '/api/auth/recover'
          ? { headers, ...json({ ...JSON.parse(body.toString()), keys: whole.toString('base64url') }) }
          : undefined;
      const renew = () => assert.fail('it went on');
      const recovering = () => Szafa.recover(optionsFor(proxy.url), { username, recoveryKey: key, renew });
      await hostile(back, () =>
        assert.rejects(recovering(), ({ code }: { code: string }) =>
          /^(tampered|wrong-password)$/.test(code),
        ),
      );
      assert.ok(!proxy.requests.some(({ path }) => path.endsWith('/finish')));
    }
  }
});

test('said to be changed and not, or the other way round: told at the next use, and the old or the new one works', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const pins = freshPins();
  const device = await sameUser(user, { pins });
  proxy.before = (_method, path) => (path === CHANGE ? json({ ok: true }) : undefined);
  assert.equal(await device.changePassword({ password }, next), 'changed');
  await device.replaceMaster({ password: next }, undefined).catch(() => {});
  proxy.before = undefined;
  await assert.rejects(device.checkKeys(), { code: 'tampered', stage: 'rollback' });
  await (await login(user, password)).checkKeys();
  // Done, and denied.
  for (const status of [403, 412, 500, 503, 200]) {
    const [from, to] =
      status === 403 || status === 500 || status === 200 ? [password, next] : [next, password];
    const there = await sameUser(await login(user, from), { retry: { forMs: 100, baseMs: 20, capMs: 20 } });
    const denied: Hostility = ({ path }) => (path === CHANGE ? json({ error: 'no' }, status) : undefined);
    await hostile(denied, () => there.changePassword({ password: from }, to).catch(() => {}));
    const now = await login(user, to);
    assert.equal((await now.openFile(fileId)).metadata.name, 'kept');
    assert.equal(await there.changePassword({ password: from }, to), 'already', String(status));
  }
});

test('a pin of another account, or another server, in the place of its own', async () => {
  const [user, other] = [await newUser(), await newUser()];
  const folder = mkdtempSync(join(service.folder, 'pins-'));
  const pins = filePins(folder, proxy.url);
  await (await sameUser(user, { pins })).checkKeys();
  const [own] = readdirSync(folder);
  await (await sameUser(other, { pins })).checkKeys();
  const [foreign] = readdirSync(folder).filter((name) => name !== own);
  copyFileSync(join(folder, own!), join(folder, foreign!));
  await assert.rejects(pins.of(other.username).load(), { code: 'pins' });
});

test('a name whose keys are known here is not registered again: the new keys would be refused', async () => {
  const user = await newUser();
  const { username } = user;
  const pins = freshPins();
  const device = await sameUser(user, { pins });
  await device.checkKeys();
  // Deleted from elsewhere: the name is free, and this machine knows nothing of it.
  await (await login(user, password)).deleteAccount({ password });
  proxy.requests.length = 0;
  const register = () => Szafa.register(optionsFor(proxy.url, { pins }), { username, password });
  await assert.rejects(register(), { code: 'known-account' });
  assert.deepEqual(changes(), []);
  await pins.of(username).forget();
  await (await register()).checkKeys();
});

const NAMES = '/api/files/names';
const epochOf = async (user: Szafa, fileId: string) =>
  parseHeader((await user.api.headVolume(fileId, 1)).encParams).epoch;

test('rekey: a list that tells another number of volumes makes no name that fits no file', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const device = await sameUser(user);
  await device.replaceMaster({ password }, undefined);
  for (const change of [{ chunk_count: 2 }, { size: 78 }, { sha256: 'ab'.repeat(32) }]) {
    const lying: Hostility = ({ path, body }) => {
      if (!path.startsWith('/api/files?')) return undefined;
      const list = JSON.parse(body.toString());
      return json({ ...list, files: list.files.map((file: object) => ({ ...file, ...change })) });
    };
    const { failed } = await hostile(lying, () => device.reseal());
    assert.deepEqual(
      failed.map(({ about, error }) => [about, error.code]),
      [[fileId, 'tampered']],
    );
    assert.deepEqual(changes(), []);
  }
  assert.equal((await device.reseal()).files, 1);
  const [entry] = await device.list();
  assert.equal((await device.openFile(fileId, { record: entry!.record })).metadata.name, 'kept');
});

test('rekey twice at once on one machine: nothing goes back to an earlier key', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const dirId = await user.makeDir('papers');
  // Two processes, one session.
  const [one, two] = [await sameUser(user), await sameUser(user)];
  await one.replaceMaster({ password }, undefined);
  await one.keys.masters();
  await two.replaceMaster({ password }, undefined);
  await two.reseal();
  assert.equal(await epochOf(user, fileId), 3);
  const { failed } = await one.reseal();
  assert.deepEqual(failed, []);
  assert.equal(await epochOf(user, fileId), 3, 'it was taken back');
  assert.deepEqual(
    (await two.dirs()).map((dir) => [dir.dirId, dir.name, dir.verified]),
    [[dirId, 'papers', true]],
  );
  assert.equal((await two.list())[0]!.verified, true);
});

function memoryJournal(): Journal & { entries: Map<string, Uint8Array> } {
  const entries = new Map<string, Uint8Array>();
  return {
    entries,
    load: async (key) => entries.get(key),
    store: async (key, entry) => void entries.set(key, entry),
    append: async (key, record) => {
      const entry = entries.get(key);
      if (entry) entries.set(key, new Uint8Array(Buffer.concat([entry, record])));
    },
    remove: async (key) => void entries.delete(key),
  };
}

test('an upload that was begun before a rekey goes on after it', async () => {
  const user = await newUser();
  const device = await sameUser(user);
  const journal = memoryJournal();
  const source = () => ({ ...bytesSource(content(4000)), identity: 'the same', place: '/here' });
  const options = { path: 'long', volumeSize: 1000, parallel: 1, journal };
  proxy.before = (_method, path) => (path.endsWith('/chunk/3') ? 'cut' : undefined);
  const hurried = await sameUser(user, { retry: { forMs: 100, baseMs: 20, capMs: 20 } });
  await assert.rejects(hurried.upload(source(), options), { code: 'network' });
  proxy.before = undefined;
  await device.replaceMaster({ password }, undefined);
  await device.reseal();
  proxy.requests.length = 0;
  const { fileId, resumed } = await device.upload(source(), options);
  assert.ok(resumed > 0, 'it began anew');
  assert.equal(journal.entries.size, 0);
  assert.equal(await epochOf(device, fileId), 2);
  const sent = proxy.requests.filter(({ method }) => method === 'PUT').length;
  assert.ok(sent > 0 && sent <= 2, `${sent} of 4 volumes`);
});

/** Every use of a key by this engine: no key and nonce may ever meet two plaintexts, and no key of CTR two inputs with one counter. */
function watching(): { engine: Engine; uses: Map<string, string>; seals: () => number } {
  const uses = new Map<string, string>();
  let seals = 0;
  const note = (kind: string, key: Uint8Array, nonce: Uint8Array, data: Uint8Array) => {
    seals++;
    const use = `${kind} ${key.toHex()} ${nonce.toHex()}`;
    const plain = data.toHex();
    assert.equal(uses.get(use) ?? plain, plain, 'one key and nonce for two plaintexts');
    if (kind === 'gcm') assert.ok(!uses.has(use), 'a key of a seal is used once');
    uses.set(use, plain);
  };
  const watched: Engine = {
    ...engine,
    gcmSeal(key, aad, data, nonce) {
      note('gcm', key, nonce ?? new Uint8Array(12), data);
      return engine.gcmSeal(key, aad, data, nonce);
    },
    async nameCipher(mac, key) {
      const cipher = await engine.nameCipher(mac, key);
      const keyText = key.toHex();
      return {
        mac: (data) => cipher.mac(data),
        async ctr(counter, data) {
          const result = await cipher.ctr(counter, data);
          // Opening shows the same pair as sealing did: the plaintext is the one whose MAC is the counter; note the smaller of the two.
          const [a, b] = [data.toHex(), result.toHex()].sort();
          const use = `ctr ${keyText} ${counter.toHex()}`;
          assert.equal(uses.get(use) ?? `${a}${b}`, `${a}${b}`, 'one counter for two names');
          uses.set(use, `${a}${b}`);
          seals++;
          return result;
        },
      };
    },
  };
  return { engine: watched, uses, seals: () => seals };
}

test('no key and nonce for two plaintexts: passwords, recovery keys, rekeys, cut off and done again', async () => {
  const { engine: watched, seals } = watching();
  const user = await makeUser(service.url, { engine: watched });
  for (const name of ['a', 'b', 'c']) await user.upload(bytesSource(content(5)), { path: name });
  const [first] = await user.list();
  await user.copyTo(first!, 'a copy');
  await user.makeDir('papers');
  const retry = { forMs: 100, baseMs: 20, capMs: 20 };
  const device = await sameAccount(user, proxy.url, { engine: watched, retry });
  let current = password;
  for (let round = 0; round < 3; round++) {
    const other = `${next} ${round}`;
    await device.changePassword({ password: current }, other);
    await device.setRecoveryKey({ password: other }, newRecoveryKey(watched));
    await device.replaceMaster({ password: other }, newRecoveryKey(watched));
    proxy.before = (_method, path) => (path === NAMES ? 'cut' : undefined);
    await device.reseal().catch(() => {});
    proxy.before = undefined;
    let lost = 0;
    const losing: Hostility = ({ path }) => (path === NAMES && lost++ === 0 ? 'cut' : undefined);
    assert.deepEqual((await hostile(losing, () => device.reseal())).failed, []);
    assert.equal((await device.list()).length, 4);
    current = other;
  }
  assert.ok(seals() > 100, `${seals()} seals`);
});
