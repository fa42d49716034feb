/** What somebody tried against changes of an account, and what must come of it: the owner has the old state or the new one, and is told which. */

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newRecoveryKey } from '@szafa/format';
import { bagBytes } from '../../format/vectors/bag-builder.ts';
import { readKeys } from '../src/accounts/calls.ts';
import { type ConnectOptions, Szafa } from '../src/index.ts';
import { filePins } from '../src/node/index.ts';
import { proxy, service } from './hostile.ts';
import { changes, hostile, json, newUser, next, optionsFor, sameUser, withFile } from './hostile-account.ts';
import type { Hostility } from './proxy.ts';
import { quick as engine, password } from './service.ts';

const KEYS = '/api/account/keys';
const CHANGE = '/api/auth/password';
const phrase = 'rower chmura zamek lampa';

const login = (user: Szafa, secret: string, more: Partial<ConnectOptions> = {}) =>
  Szafa.login(optionsFor(service.url, more), { username: user.username, password: secret });
const freshPins = () => filePins(mkdtempSync(join(service.folder, 'pins-')), proxy.url);

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
        ? json({ service_id: 'ab'.repeat(16), version: '1', features: [], registration: 'open' })
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
  const bytes = Buffer.from((await readKeys(user.api))!, 'base64url');
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
