/** The key bag in the hands of a hostile service. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fromBase64Url, type Master, sealHeader, toBase64Url } from '@szafa/format';
import { type BagParts, bagBytes, bagJson } from '../../format/vectors/bag-builder.ts';
import { readKeys, readServerInfo } from '../src/accounts/calls.ts';
import { bytesSource, type ConnectOptions, type Pin, Szafa } from '../src/index.ts';
import { filePins } from '../src/node/index.ts';
import { flipped, proxy, type Refusal, service, stranger, szafa } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import { content, engine, newUser, optionsFor, password, sameUser } from './service.ts';

const KEYS = '/api/account/keys';
const answer = (json: object, status = 200) => ({ status, body: Buffer.from(JSON.stringify(json)) });
const onKeys =
  (keys: string): Hostility =>
  ({ path }) =>
    path === KEYS ? answer({ keys }) : undefined;
const noKeys: Hostility = ({ path }) => (path === KEYS ? answer({ error: 'none' }, 404) : undefined);
const onService =
  (service_id: string): Hostility =>
  ({ path }) =>
    path === '/api/service'
      ? answer({ service_id, version: '1', features: [], registration: 'open' })
      : undefined;

const accountOf = async (user: Szafa) => ({
  serviceId: (await readServerInfo(user.api)).service_id,
  username: user.username,
});
const sealBag = async (user: Szafa) => (await readKeys(user.api))!;
const freshPins = () => filePins(mkdtempSync(join(service.folder, 'pins-')), proxy.url);

/** A bag of this account as another device of its owner would write it. */
async function nextBag(user: Szafa, over: Partial<BagParts> & { change?: (json: object) => object } = {}) {
  const { change = (json) => json, ...parts } = over;
  const masters = parts.masters ?? (await user.keys.masters());
  const json = await bagJson(engine, {
    account: await accountOf(user),
    kek: user.keys.kek,
    masters,
    ...parts,
  });
  return toBase64Url(await bagBytes(engine, masters[0]!.key, change(json)));
}

/** Whatever a session begins with, it is refused, and nothing was made or changed on the service. */
async function refused(
  user: Szafa,
  hostility: Hostility,
  refusal: Refusal,
  more: Partial<ConnectOptions> = {},
) {
  proxy.hostility = hostility;
  for (const act of [
    (victim: Szafa) => victim.checkKeys(),
    (victim: Szafa) => victim.upload(bytesSource(content(5)), { path: 'x' }),
    (victim: Szafa) => victim.makeDir('x'),
  ]) {
    proxy.requests.length = 0;
    await assert.rejects(act(await sameUser(user, proxy.url, more)), refusal);
    assert.ok(proxy.requests.every(({ method, sent }) => /GET|HEAD/.test(method) && sent.length === 0));
  }
  proxy.hostility = () => undefined;
}

test('a bit of the bag, anywhere; a bag that is cut off; none at all; another suite', async () => {
  const bag = fromBase64Url(await sealBag(szafa));
  for (let at = 0; at < bag.length; at += 97) {
    proxy.hostility = onKeys(toBase64Url(flipped(bag, at)));
    const victim = await sameUser(szafa, proxy.url);
    const code = at === 0 ? 'unsupported' : /^(tampered|unsupported|wrong-password)$/;
    await assert.rejects(victim.checkKeys(), { code });
  }
  await refused(szafa, onKeys(toBase64Url(flipped(bag, 1))), { code: 'tampered', stage: 'bag-mac' });
  for (const length of [1, 32, 33, 34, bag.length - 1]) {
    await refused(szafa, onKeys(toBase64Url(bag.slice(0, length))), { code: 'tampered', stage: 'bag' });
  }
  const other = flipped(bag, 0);
  await refused(szafa, onKeys(toBase64Url(other)), { code: 'unsupported', stage: 'suite' });
  await refused(szafa, onKeys('A'), { code: 'tampered', stage: 'bag' });
  proxy.hostility = ({ path }) => (path === KEYS ? answer({ keys: 7 }) : undefined);
  await assert.rejects((await sameUser(szafa, proxy.url)).checkKeys(), { code: 'not-the-service' });
});

test('the bag of another account, and one that the service made itself', async () => {
  await refused(szafa, onKeys(await sealBag(stranger)), { code: 'tampered', stage: 'owner' });
  // Even with the right names in it: only what is under the owner's own key opens.
  const masters: Master[] = [{ epoch: 1, key: engine.random(32) }];
  const own = await bagJson(engine, { account: await accountOf(szafa), kek: engine.random(32), masters });
  const forged = toBase64Url(await bagBytes(engine, masters[0]!.key, own));
  await refused(szafa, onKeys(forged), { code: 'wrong-password', stage: 'entry' });
  // The owner's entry in a bag whose rest is the service's.
  const { entries } = JSON.parse(Buffer.from(fromBase64Url(await sealBag(szafa)).slice(33)).toString());
  const mixed = toBase64Url(await bagBytes(engine, masters[0]!.key, { ...own, entries, rev: 9 }));
  await refused(szafa, onKeys(mixed), { code: 'tampered', stage: 'bag-mac' });
});

test('an older bag than before, another one of the same rev, one of a lower profile', async () => {
  const pins = freshPins();
  const user = await newUser(service.url);
  const first = await sealBag(user);
  const third = await nextBag(user, { rev: 3 });
  proxy.hostility = onKeys(third);
  const device = await sameUser(user, proxy.url, { pins });
  await device.checkKeys();
  const pin = (await pins.of(user.username).load())!;
  assert.equal(pin.rev, 3);
  const rolled = { code: 'tampered', stage: 'rollback' };
  await refused(user, onKeys(first), rolled, { pins });
  await refused(user, onKeys(await nextBag(user, { rev: 2 })), rolled, { pins });
  await refused(user, onKeys(await nextBag(user, { rev: 3 })), rolled, { pins });
  assert.deepEqual(await pins.of(user.username).load(), pin, 'what was refused is not remembered');
  const weak = await nextBag(user, { rev: 4, change: (json) => ({ ...json, profile: 0 }) });
  await refused(user, onKeys(weak), { code: 'unsupported', stage: 'profile' }, { pins });
  proxy.hostility = onKeys(await nextBag(user, { rev: 5 }));
  await (await sameUser(user, proxy.url, { pins })).checkKeys();
  assert.equal((await pins.of(user.username).load())!.rev, 5);
  // Plainly: who has seen nothing before cannot notice it.
  proxy.hostility = onKeys(first);
  await (await sameUser(user, proxy.url, { pins: freshPins() })).checkKeys();
  proxy.hostility = () => undefined;
});

test('no bag, where one was seen, or where something is sealed: never a reason to make another', async () => {
  const missing = { code: 'tampered', stage: 'no-bag' };
  const pins = freshPins();
  await (await sameUser(szafa, proxy.url, { pins })).checkKeys();
  await refused(szafa, noKeys, missing, { pins });
  // A login on a new device: it has the password, and so could make one.
  for (const prepare of [
    (user: Szafa) => user.upload(bytesSource(content(3)), { path: 'a file' }),
    (user: Szafa) => user.upload(bytesSource(content(3)), { path: 'shown', plainName: true }),
    (user: Szafa) => user.makeDir('a directory'),
  ]) {
    const user = await newUser(service.url);
    await prepare(user);
    proxy.hostility = noKeys;
    const { username } = user;
    const device = await Szafa.login(optionsFor(proxy.url), { username, password });
    await assert.rejects(device.checkKeys(), missing);
    await assert.rejects(device.upload(bytesSource(content(3)), { path: 'x' }), missing);
    assert.ok(!proxy.requests.some(({ method }) => method === 'PUT'));
    proxy.hostility = () => undefined;
  }
});

test('a service that is another one than before gets nothing; one that is known from elsewhere is told of', async () => {
  const { username } = szafa;
  const pins = freshPins();
  await (await sameUser(szafa, proxy.url, { pins })).checkKeys();
  proxy.requests.length = 0;
  proxy.hostility = onService('ab'.repeat(16));
  const changed = { code: 'tampered', stage: 'service' };
  for (const enter of ['login', 'register'] as const) {
    await assert.rejects(Szafa[enter](optionsFor(proxy.url, { pins }), { username, password }), changed);
  }
  const other = { username: `other_${process.pid}`, password };
  await assert.rejects(Szafa.login(optionsFor(proxy.url, { pins }), other), changed);
  assert.deepEqual([...new Set(proxy.requests.map(({ path }) => path))], ['/api/service']);
  proxy.hostility = () => undefined;

  // One that names itself as another service would get what logs in there: whoever is about to log in hears of it.
  const folder = mkdtempSync(join(service.folder, 'pins-'));
  const known: Pin = { serviceId: 'cd'.repeat(16), rev: 1, digest: 'ab'.repeat(32) };
  await filePins(folder, 'https://elsewhere.example').of('ann').save(known);
  proxy.hostility = onService(known.serviceId);
  const said: string[][] = [];
  const options = optionsFor(proxy.url, {
    pins: filePins(folder, proxy.url),
    onKnownElsewhere: (addresses) => {
      said.push(addresses);
      assert.ok(!proxy.requests.some(({ sent }) => sent.length > 0), 'before anything is sent');
    },
  });
  proxy.requests.length = 0;
  await assert.rejects(Szafa.login(options, { username, password }), { code: 'api', status: 401 });
  assert.deepEqual(said, [['https://elsewhere.example']]);
  proxy.hostility = () => undefined;
  // What this service got for the same name and password is of no use at the other.
  await assert.rejects(Szafa.login(optionsFor(service.url), { username, password: 'wrong' }), {
    status: 401,
  });
});

test('a service that names no id, or a strange one, is none of ours', async () => {
  const strange = ['', 'x', 'AB'.repeat(16), 'ab'.repeat(17)].map((id) => answer({ service_id: id }));
  for (const said of [answer({ error: 'no such route' }, 404), answer({}), ...strange]) {
    proxy.hostility = ({ path }) => (path === '/api/service' ? said : undefined);
    const login = Szafa.login(optionsFor(proxy.url), { username: 'somebody', password });
    await assert.rejects(login, { code: 'not-the-service' });
  }
  proxy.hostility = () => undefined;
});

test('a file of a later epoch: the bag is fetched once more, and then it is refused', async () => {
  const user = await newUser(service.url);
  const [first] = await user.keys.masters();
  const second = { epoch: 2, key: engine.random(32) };
  const { fileId } = await user.upload(bytesSource(content(3)), { path: 'later' });
  const { header } = await user.openFile(fileId);
  const later = { ...(await sealHeader(engine, { ...header, master: second })) };
  const encoded = Buffer.from(JSON.stringify(later)).toString('base64');
  const rekeyed = await nextBag(user, { rev: 2, masters: [second, first!] });
  const under =
    (bag: string): Hostility =>
    ({ path, headers }) => {
      if (path === KEYS) return answer({ keys: bag });
      return path.includes('/chunk/') ? { headers: { ...headers, 'x-enc-params': encoded } } : undefined;
    };
  const old = await sealBag(user);
  proxy.hostility = under(old);
  const device = await sameUser(user, proxy.url);
  await device.checkKeys();
  proxy.requests.length = 0;
  for (let i = 0; i < 3; i++) {
    await assert.rejects(device.openFile(fileId), { code: 'tampered', stage: 'epoch' });
  }
  assert.equal(proxy.requests.filter(({ path }) => path === KEYS).length, 1, 'not for every file');
  proxy.hostility = under(rekeyed);
  const again = await sameUser(user, proxy.url);
  assert.equal((await again.openFile(fileId)).metadata.name, 'later');
  assert.equal((await again.keys.current()).epoch, 2);
  // A session that has seen the old bag only learns of the new one by the file.
  proxy.hostility = under(old);
  const third = await sameUser(user, proxy.url);
  await third.checkKeys();
  proxy.hostility = under(rekeyed);
  assert.equal((await third.openFile(fileId)).metadata.name, 'later');
  proxy.hostility = () => undefined;
  assert.equal((await again.list())[0]?.verified, true, 'names under the earlier master key stay readable');
  const without = await nextBag(user, { rev: 3, masters: [{ epoch: 3, key: second.key }] });
  proxy.hostility = under(without);
  const fourth = await sameUser(user, proxy.url);
  await assert.rejects(fourth.openFile(fileId), { code: 'tampered', stage: 'epoch' });
  proxy.hostility = () => undefined;
});

test('what is remembered is whole or refused, and never goes back', async () => {
  const folder = mkdtempSync(join(service.folder, 'pins-'));
  const pins = filePins(folder, 'https://a.example');
  const pin = (rev: number): Pin => ({ serviceId: 'ab'.repeat(16), rev, digest: `${rev}` });
  const store = pins.of('ann');
  assert.equal(await store.load(), undefined);
  assert.deepEqual(await filePins(join(folder, 'none'), 'https://a.example').services(), []);
  await store.save(pin(2));
  await store.save(pin(1));
  const { rev, digest, serviceId } = (await store.load())!;
  assert.deepEqual({ rev, digest, serviceId }, pin(2));
  assert.equal(await pins.of('Ann').load(), undefined);
  assert.equal(await filePins(folder, 'https://b.example').of('ann').load(), undefined);
  const [file] = readdirSync(folder);
  const text = readFileSync(join(folder, file!), 'utf8');
  for (const damaged of ['', '{', 'null', '{}', text.slice(0, -9), text.replace('"rev":2', '"rev":"2"')]) {
    writeFileSync(join(folder, file!), damaged);
    await assert.rejects(store.load(), { code: 'pins' });
    // It stops nobody else, and somebody hears of it.
    const told: string[] = [];
    const others = filePins(folder, 'https://b.example', (path) => told.push(path));
    await others.of('ben').save(pin(1));
    assert.deepEqual(
      (await others.services()).map(({ server }) => server),
      ['https://b.example'],
    );
    assert.deepEqual(told, [join(folder, file!)]);
  }
  await store.forget();
  await store.forget();
  assert.equal(await store.load(), undefined);
});

test('a damaged pin of the account itself stops a login before anything is sent', async () => {
  const folder = mkdtempSync(join(service.folder, 'pins-'));
  const pins = filePins(folder, proxy.url);
  await (await sameUser(szafa, proxy.url, { pins })).checkKeys();
  const [file] = readdirSync(folder);
  writeFileSync(join(folder, file!), '{');
  proxy.requests.length = 0;
  const { username } = szafa;
  const options = optionsFor(proxy.url, { pins });
  await assert.rejects(Szafa.login(options, { username, password }), { code: 'pins' });
  assert.deepEqual([...new Set(proxy.requests.map(({ path }) => path))], ['/api/service']);
  // Another account of the same server is not held up by it.
  const other = await newUser(service.url);
  const there = await Szafa.login(options, { username: other.username, password });
  await there.checkKeys();
});

const PROFILE = '/api/auth/profile';
const onProfile =
  (value: unknown, status = 200): Hostility =>
  ({ path }) =>
    path === PROFILE ? answer(status === 200 ? { profile: value } : { error: 'none' }, status) : undefined;

test('profile: asked before anything is derived; an unknown or lower one stops every way in, and an old service means 1', async () => {
  const user = await newUser(service.url);
  const { username } = user;
  const pins = freshPins();
  const options = optionsFor(proxy.url, { pins });
  const logIn = () => Szafa.login(options, { username, password });
  const sentSecrets = () =>
    proxy.requests.filter(({ sent }) => /password|current|next/.test(sent.toString()));
  const device = await logIn();
  await device.checkKeys();
  const ways: (() => Promise<unknown>)[] = [
    logIn,
    () => Szafa.open(options, { username, token: user.token!, secret: password }),
    () => device.changePassword({ password }, 'another horse, another battery'),
    () => device.changePassphrase({ password }, 'another horse, another battery'),
    () => device.deleteAccount({ password }),
  ];
  const refusals: [profile: unknown, pinned: number, refusal: Refusal][] = [
    [2, 1, { code: 'unsupported', stage: 'profile' }],
    [0, 1, { code: 'unsupported', stage: 'profile' }],
    [1, 2, { code: 'tampered', stage: 'profile' }],
    ['1', 1, { code: 'not-the-service' }],
    [null, 1, { code: 'not-the-service' }],
  ];
  for (const [value, pinned, refusal] of refusals) {
    const store = pins.of(username);
    const pin = (await store.load())!;
    await store.save({ ...pin, profile: pinned });
    proxy.hostility = onProfile(value);
    for (const way of ways) {
      proxy.requests.length = 0;
      await assert.rejects(way(), refusal);
      assert.deepEqual(sentSecrets(), []);
    }
    proxy.hostility = () => undefined;
    await store.save({ ...pin, profile: 1 });
  }
  for (const status of [404, 405]) {
    proxy.hostility = onProfile(undefined, status);
    await (await logIn()).checkKeys();
  }
  proxy.hostility = () => undefined;
  // What the bag says is pinned with it.
  assert.equal((await pins.of(username).load())!.profile, 1);
});
