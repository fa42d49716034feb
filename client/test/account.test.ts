/** What an owner does to an account, with answers that get lost and a service that gives other keys. */

import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newRecoveryKey } from '@szafa/format';
import { readKeys } from '../src/accounts/calls.ts';
import { bytesSource, type ConnectOptions, Szafa } from '../src/index.ts';
import { filePins } from '../src/node/index.ts';
import { proxy, service, stranger } from './hostile.ts';
import {
  content,
  quick as engine,
  newUser as makeUser,
  password,
  optionsFor as plainOptions,
  readAll,
  sameUser as sameAccount,
} from './service.ts';

const KEYS = '/api/account/keys';
const CHANGE = '/api/auth/password';
const FINISH = '/api/auth/recover/finish';
const next = 'another horse, another battery';

const optionsFor = (server: string, more: Partial<ConnectOptions> = {}) =>
  plainOptions(server, { engine, ...more });
const newUser = (server: string) => makeUser(server, { engine });
const sameUser = (user: Szafa, server: string, more: Partial<ConnectOptions> = {}) =>
  sameAccount(user, server, { engine, ...more });
const login = (user: Szafa, secret: string, more: Partial<ConnectOptions> = {}) =>
  Szafa.login(optionsFor(service.url, more), { username: user.username, password: secret });
/** Logs in, opens the keys, and reads the file. */
async function reads(user: Szafa, secret: string, fileId: string): Promise<void> {
  const device = await login(user, secret);
  await device.checkKeys();
  assert.deepEqual(await readAll((await device.openFile(fileId)).stream()), content(5));
}
const refusedLogin = (user: Szafa, secret: string) => assert.rejects(login(user, secret), { status: 401 });
const freshPins = () => filePins(mkdtempSync(join(service.folder, 'pins-')), proxy.url);

async function withFile(user: Szafa): Promise<string> {
  return (await user.upload(bytesSource(content(5)), { path: 'kept' })).fileId;
}

/** Only the answers to this path are lost; `reached` says whether the service hears the request. */
function losing(path: string, reached: boolean): void {
  if (reached) proxy.hostility = (passing) => (passing.path === path ? 'cut' : undefined);
  else proxy.before = (_method, asked) => (asked === path ? 'cut' : undefined);
}
function honest(): void {
  proxy.hostility = () => undefined;
  proxy.before = undefined;
}

test('a new password: the files stay, other sessions end, the session that changed it goes on', async () => {
  const user = await newUser(service.url);
  const fileId = await withFile(user);
  const other = await login(user, password);
  const before = await readKeys(user.api);
  assert.equal(await user.changePassword({ password }, next), 'changed');
  assert.notEqual(await readKeys(user.api), before);
  await refusedLogin(user, password);
  await reads(user, next, fileId);
  await assert.rejects(other.api.call('me'), { status: 401 });
  assert.equal((await user.openFile(fileId)).metadata.name, 'kept');
  assert.equal(await user.changePassword({ password: next }, password), 'changed', 'by what it has learnt');
  await assert.rejects(user.changePassword({ password: 'wrong' }, next), { code: 'wrong-password' });
  await reads(user, password, fileId);
});

test('the answer to a change of password is lost, or the request: it is found out which one counts', async () => {
  const user = await newUser(service.url);
  const fileId = await withFile(user);
  const device = await sameUser(user, proxy.url, { pins: freshPins() });
  losing(CHANGE, false);
  await assert.rejects(device.changePassword({ password }, next), { code: 'unchanged' });
  honest();
  await reads(user, password, fileId);
  losing(CHANGE, true);
  assert.equal(await device.changePassword({ password }, next), 'changed');
  honest();
  await reads(user, next, fileId);
  // Nobody can be asked.
  const third = 'a third horse, a third battery';
  proxy.hostility = ({ path }) => (path === CHANGE ? 'cut' : undefined);
  let changed = false;
  proxy.before = (_method, path) => {
    const late = changed;
    changed ||= path === CHANGE;
    return late ? 'cut' : undefined;
  };
  const hurried = await sameUser(device, proxy.url, { retry: { forMs: 100, baseMs: 20, capMs: 20 } });
  await assert.rejects(hurried.changePassword({ password: next }, third), { code: 'unsettled' });
  honest();
  assert.equal(await hurried.changePassword({ password: next }, third), 'already');
  assert.equal((await hurried.openFile(fileId)).metadata.name, 'kept');
  await reads(user, third, fileId);
});

test('two devices at once: one wins, the other is told', async () => {
  const user = await newUser(service.url);
  const fileId = await withFile(user);
  const [one, two] = [await login(user, password), await login(user, password)];
  const results = await Promise.allSettled([
    one.changePassword({ password }, next),
    two.changePassword({ password }, 'the other one of the two'),
  ]);
  const failed = results.filter((result) => result.status === 'rejected');
  assert.equal(failed.length, 1, 'one and no more');
  const { code, status } = failed[0]!.reason as { code: string; status?: number };
  assert.ok(code === 'keys-changed' || code === 'wrong-password' || status === 401, code);
  await reads(user, results[0]!.status === 'fulfilled' ? next : 'the other one of the two', fileId);
});

test('files under a passphrase: the password changes beside it, and it beside the password', async () => {
  const [passphrase, another] = ['rower chmura zamek lampa', 'lampa zamek chmura rower'];
  const { username } = await newUser(service.url);
  const secrets = { username: `${username}_p`, password, passphrase };
  const user = await Szafa.register(optionsFor(service.url), secrets);
  const fileId = await withFile(user);
  const bag = await readKeys(user.api);
  assert.equal(await user.changePassword({ password }, next), 'changed');
  assert.equal(await readKeys(user.api), bag, 'the keys are not under the password');
  assert.equal(await user.changePassword({ password }, next), 'already');
  const enter = (phrase: string) =>
    Szafa.login(optionsFor(service.url), { ...secrets, password: next, passphrase: phrase });
  assert.equal((await (await enter(passphrase)).openFile(fileId)).metadata.name, 'kept');
  // Who has no keys must not be taken for somebody whose files are under a passphrase.
  const bare = await Szafa.open(optionsFor(service.url), { username: secrets.username, token: user.token! });
  await assert.rejects(bare.changePassword({ password: next }, password), { code: 'wrong-password' });
  assert.equal(await user.changePassphrase({ password: next }, another), 'changed');
  assert.equal((await (await enter(another)).openFile(fileId)).metadata.name, 'kept');
  await assert.rejects((await enter(passphrase)).checkKeys(), { code: 'wrong-password' });
  assert.equal(await user.changePassphrase({ password: next }, another), 'already');
  // The new password is the passphrase: the bag fits already, and yet nothing is done.
  assert.equal(await user.changePassword({ password: next }, another), 'changed');
  await reads(user, another, fileId);
});

test('an account whose password is sent as it is', async () => {
  const { username } = await newUser(service.url);
  const secrets = { username: `${username}_r`, password, raw: true };
  const user = await Szafa.register(optionsFor(service.url), secrets);
  const proof = { password, raw: true };
  assert.equal(await user.changePassword(proof, next), 'changed');
  await Szafa.login(optionsFor(service.url), { ...secrets, password: next });
  assert.equal(await user.changePassword(proof, next), 'already');
  await assert.rejects(user.setRecoveryKey({ ...proof, password: next }, newRecoveryKey(engine)), {
    code: 'locked',
  });
});

test('the recovery key opens the account once: then another one does', async () => {
  const [first, second, third] = [1, 2, 3].map(() => newRecoveryKey(engine));
  const name = `${(await newUser(service.url)).username}_k`;
  const secrets = { username: name, password, recoveryKey: first };
  const user = await Szafa.register(optionsFor(service.url), secrets);
  const fileId = await withFile(user);
  const recover = (recoveryKey: typeof first, nextKey: typeof first, secret: string, server = service.url) =>
    Szafa.recover(optionsFor(server, { pins: freshPins() }), {
      username: name,
      recoveryKey: recoveryKey!,
      renew: async () => ({ password: secret, recoveryKey: nextKey! }),
    });
  const back = await recover(first, second, next);
  assert.equal((await back.openFile(fileId)).metadata.name, 'kept');
  await assert.rejects(user.api.call('me'), { status: 401 });
  await refusedLogin(user, password);
  await reads(user, next, fileId);
  let asked = false;
  const used = Szafa.recover(optionsFor(service.url), {
    username: name,
    recoveryKey: first!,
    renew: async () => {
      asked = true;
      return { password, recoveryKey: third! };
    },
  });
  await assert.rejects(used, { code: 'wrong-password' });
  assert.ok(!asked, 'nobody chooses a password for nothing');
  await back.setRecoveryKey({ password: next }, third!);
  await assert.rejects(recover(second, first, password), { code: 'wrong-password' });
  // The answer is lost on its way back, and then the request on its way there.
  losing(FINISH, true);
  const found = await recover(third, second, password, proxy.url);
  honest();
  assert.equal((await found.openFile(fileId)).metadata.name, 'kept');
  losing(FINISH, false);
  await assert.rejects(recover(second, first, next, proxy.url), { code: 'unchanged' });
  honest();
  await reads(user, password, fileId);
  await recover(second, first, next);
  await reads(user, next, fileId);
});

test('a recovery from a service that gives other keys sends nothing that they could be used with', async () => {
  const key = newRecoveryKey(engine);
  const username = `${(await newUser(service.url)).username}_h`;
  const user = await Szafa.register(optionsFor(service.url), { username, password, recoveryKey: key });
  const pins = freshPins();
  const old = (await readKeys(user.api))!;
  await user.changePassword({ password }, next);
  await (await sameUser(user, proxy.url, { pins })).checkKeys();
  const other = await Szafa.register(optionsFor(service.url), {
    username: `${username}2`,
    password,
    recoveryKey: newRecoveryKey(engine),
  });
  const swapped = await withEntryOf(user, other);
  for (const [keys, refusal] of [
    [old, { code: 'tampered', stage: 'rollback' }],
    [(await readKeys(stranger.api))!, { code: 'tampered', stage: 'owner' }],
    [(await readKeys(other.api))!, { code: 'tampered', stage: 'owner' }],
    [swapped, { code: 'tampered', stage: 'rollback' }],
    ['AA', { code: 'unsupported', stage: 'suite' }],
  ] as const) {
    proxy.requests.length = 0;
    proxy.hostility = ({ path, headers, body }) => {
      if (path !== '/api/auth/recover') return undefined;
      return { headers, body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), keys })) };
    };
    const renew = () => assert.fail('it went on');
    const options = optionsFor(proxy.url, { pins });
    await assert.rejects(Szafa.recover(options, { username, recoveryKey: key, renew }), refusal);
    assert.ok(!proxy.requests.some(({ path }) => path === FINISH));
  }
  // A device that has seen nothing before: what was put together does not open, or has no MAC of its owner's.
  proxy.hostility = ({ path, headers, body }) =>
    path === '/api/auth/recover'
      ? { headers, body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), keys: swapped })) }
      : undefined;
  const renew = () => assert.fail('it went on');
  const options = optionsFor(proxy.url);
  await assert.rejects(Szafa.recover(options, { username, recoveryKey: key, renew }), {
    code: 'wrong-password',
    stage: 'entry',
  });
  // Another service gets a secret that is of no use at this one.
  const info = { service_id: 'ab'.repeat(16), version: '1', features: [], registration: 'open' };
  proxy.hostility = ({ path }) =>
    path === '/api/service' ? { status: 200, body: Buffer.from(JSON.stringify(info)) } : undefined;
  await assert.rejects(Szafa.recover(options, { username, recoveryKey: key, renew }), {
    message: /username or the recovery key is wrong/,
  });
  await assert.rejects(
    Szafa.recover(optionsFor(proxy.url, { pins }), { username, recoveryKey: key, renew }),
    { code: 'tampered', stage: 'service' },
  );
  honest();
});

/** This account's bag with the recovery entry of another one. */
async function withEntryOf(user: Szafa, other: Szafa): Promise<string> {
  const json = async (one: Szafa) => {
    const bytes = Buffer.from((await readKeys(one.api))!, 'base64url');
    return { head: bytes.subarray(0, 33), text: JSON.parse(bytes.subarray(33).toString()) };
  };
  const [own, foreign] = [await json(user), await json(other)];
  own.text.entries[1] = foreign.text.entries[1];
  return Buffer.concat([own.head, Buffer.from(JSON.stringify(own.text))]).toString('base64url');
}

test('keys that are not those of before stop every change before anything is sent', async () => {
  const user = await newUser(service.url);
  const pins = freshPins();
  const old = (await readKeys(user.api))!;
  await user.changePassword({ password }, next);
  await (await sameUser(user, proxy.url, { pins })).checkKeys();
  const answers: [body: object, status: number, stage: string][] = [
    [{ keys: old }, 200, 'rollback'],
    [{ keys: await readKeys(stranger.api) }, 200, 'owner'],
    [{ error: 'none' }, 404, 'no-bag'],
  ];
  for (const [json, status, stage] of answers) {
    proxy.hostility = ({ path, headers }) =>
      path === KEYS ? { status, headers, body: Buffer.from(JSON.stringify(json)) } : undefined;
    const victim = () => sameUser(user, proxy.url, { pins });
    for (const act of [
      async () => (await victim()).changePassword({ password: next }, password),
      async () => (await victim()).changePassphrase({ password: next }, 'rower chmura zamek'),
      async () => (await victim()).setRecoveryKey({ password: next }, newRecoveryKey(engine)),
      async () => (await victim()).replaceMaster({ password: next }, newRecoveryKey(engine)),
    ]) {
      proxy.requests.length = 0;
      await assert.rejects(act(), { code: 'tampered', stage });
      assert.ok(proxy.requests.every(({ method }) => method === 'GET'));
    }
  }
  honest();
});

test('sessions by their devices, the end of one and of all others, and of the account', async () => {
  const { username } = await newUser(service.url);
  const enter = (how: 'register' | 'login', device: string) =>
    Szafa[how](optionsFor(service.url), { username: `${username}_s`, password, device });
  const first = await enter('register', 'desk');
  const [second, third] = [await enter('login', 'laptop'), await enter('login', 'phone')];
  const listed = await first.sessions();
  assert.deepEqual(listed.map(({ device, current }) => [device, current]).sort(), [
    ['desk', true],
    ['laptop', false],
    ['phone', false],
  ]);
  await first.endSession(listed.find(({ device }) => device === 'laptop')!.id);
  await assert.rejects(second.api.call('me'), { status: 401 });
  await third.api.call('me');
  assert.equal(await first.endOtherSessions(), 1);
  await assert.rejects(third.api.call('me'), { status: 401 });
  const pins = freshPins();
  const leaving = await sameUser(first, proxy.url, { pins });
  await leaving.checkKeys();
  await assert.rejects(leaving.deleteAccount({ password: 'wrong' }), { status: 403 });
  assert.ok(await pins.of(leaving.username).load());
  await leaving.deleteAccount({ password });
  await assert.rejects(first.api.call('me'), { status: 401 });
  assert.equal(await pins.of(leaving.username).load(), undefined);
  // The name is free, and what was known of the one before is no trouble to the next.
  await (await enter('register', 'desk')).checkKeys();
});
