/** Passkeys at a service that lies, or whose answer is lost: nothing opens but one's own keys, and what counts is found out. */

import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import { Authenticator } from '../../tests/harness/authenticator.ts';
import { readKeys } from '../src/accounts/calls.ts';
import { FactorError, newTotpSecret, Szafa } from '../src/index.ts';
import { filePins } from '../src/node/index.ts';
import { type HostileProxy, type Hostility, startProxy } from './proxy.ts';
import {
  engine,
  newUser,
  optionsFor,
  password,
  quick,
  type Service,
  startService,
  transport,
} from './service.ts';

const ORIGIN = 'https://files.szafa.test';
const KEYS = '/api/account/keys';
const ENTER = '/api/auth/passkeys/login';
const proof = { password };
let service: Service;
let proxy: HostileProxy;
before(async () => {
  service = await startService({ SZ_ORIGIN: ORIGIN });
  proxy = await startProxy(service.url);
});
after(async () => {
  await proxy.stop();
  await service.stop();
  transport.close();
  await engine.close();
});

const at = (server: string, more = {}) => optionsFor(server, { engine: quick, ...more });
const json = (body: object, status = 200) => ({ status, body: Buffer.from(JSON.stringify(body)) });
const freshPins = () => filePins(mkdtempSync(join(service.folder, 'pins-')), proxy.url);

async function hostile<T>(hostility: Hostility, work: () => Promise<T>): Promise<T> {
  proxy.hostility = hostility;
  try {
    return await work();
  } finally {
    proxy.hostility = () => undefined;
  }
}

/** An account with a passkey that opens its keys, and what its authenticator makes of PRF_INPUT. */
async function withPasskey() {
  const user = await newUser(service.url, { engine: quick });
  const [key, secret] = [new Authenticator(ORIGIN), quick.random(32)];
  const made = key.make(await user.newPasskey());
  const before = (await readKeys(user.api))!;
  await user.addPasskey(proof, { id: key.name, name: 'phone', ...made, secret });
  const enter = async (more = {}) => {
    const options = at(proxy.url, more);
    const answer = key.answer(await Szafa.passkeyChallenge(options));
    const entered = await Szafa.loginWithPasskey(options, { answer, secret });
    await entered.checkKeys();
    return entered;
  };
  return { user, key, secret, before, enter };
}

test('a passkey opens the keys of its account, and none that a lying service gives instead', async () => {
  const [one, two] = [await withPasskey(), await withPasskey()];
  const keys = (user: Szafa) => readKeys(user.api);
  const pins = freshPins();
  assert.equal((await one.enter({ pins })).username, one.user.username);
  const foreign = (await keys(two.user))!;
  const give =
    (text: string): Hostility =>
    (passing) =>
      passing.path === KEYS ? json({ keys: text }) : undefined;
  const name =
    (username: string): Hostility =>
    (passing) => {
      if (passing.path !== ENTER) return undefined;
      return json({ ...JSON.parse(passing.body.toString()), username });
    };
  const lies: [what: string, lie: Hostility, refusal: object][] = [
    ['the bag of another account', give(foreign), { code: 'tampered', stage: 'owner' }],
    ['a bag from before the passkey', give(one.before), { code: 'tampered', stage: 'rollback' }],
    ['no bag', ({ path }) => (path === KEYS ? json({ error: 'none' }, 404) : undefined), { stage: 'no-bag' }],
    [
      'another name, with the bag of that account',
      (passing) => name(two.user.username)(passing) ?? give(foreign)(passing),
      { code: 'tampered', stage: 'entry' },
    ],
    ['another name', name(two.user.username), { code: 'tampered', stage: 'owner' }],
    ['no name at all', name('../x'), { name: 'RuleError' }],
    [
      'another service id',
      ({ path }) =>
        path === '/api/service'
          ? json({ service_id: 'ab'.repeat(16), version: '1', features: [], registration: 'open' })
          : undefined,
      { code: 'tampered', stage: 'service' },
    ],
  ];
  for (const [what, lie, refusal] of lies) {
    await assert.rejects(
      hostile(lie, () => one.enter({ pins })),
      refusal,
      what,
    );
  }
  // On a device that knows nothing yet, the older bag has no entry for it, and another id derives another key.
  const rest: [Hostility, object][] = [
    [give(one.before), { code: 'tampered', stage: 'entry' }],
    [lies.at(-1)![1], { code: 'tampered', stage: 'owner' }],
  ];
  for (const [lie, refusal] of rest)
    await assert.rejects(
      hostile(lie, () => one.enter()),
      refusal,
    );
  // The id of its passkey in a bag of the service's making: another secret does not open what is there.
  const wrong = {
    answer: one.key.answer(await Szafa.passkeyChallenge(at(service.url))),
    secret: quick.random(32),
  };
  const opened = await Szafa.loginWithPasskey(at(service.url), wrong);
  await assert.rejects(opened.checkKeys(), { code: 'wrong-password' });
  await one.enter({ pins });
});

test('an answer to a change of factors that is lost: it is found out what counts', async () => {
  const user = await newUser(service.url, { engine: quick });
  const { username } = user;
  const device = await Szafa.login(at(proxy.url), { username, password });
  const factors = () => user.factors();
  /** Done, and not told; or not done at all. */
  const lost =
    (path: RegExp): Hostility =>
    (passing) =>
      path.test(passing.path) && passing.method !== 'GET' ? 'cut' : undefined;
  const never = async (path: RegExp, work: () => Promise<unknown>) => {
    proxy.before = (method, called) => (path.test(called) && method !== 'GET' ? { status: 502 } : undefined);
    await assert.rejects(work(), { code: 'unchanged' });
    proxy.before = undefined;
  };
  const TOTP = /factors\/totp$/;
  const secret = newTotpSecret(quick);
  const step = stepAt(Date.now());
  await never(TOTP, () => device.setTotp(proof, secret, codeOf(secret, step)));
  assert.equal((await factors()).totp, false);
  await hostile(lost(TOTP), () => device.setTotp(proof, secret, codeOf(secret, step)));
  assert.equal((await factors()).totp, true);

  const ADD = /passkeys$/;
  for (const prf of [undefined, quick.random(32)]) {
    const key = new Authenticator(ORIGIN);
    const made = async () => ({
      ...{ id: key.name, name: 'ring', secret: prf },
      ...key.make(await device.newPasskey()),
    });
    const passkey = await made();
    await never(ADD, () => device.addPasskey(proof, passkey));
    await hostile(lost(ADD), () => device.addPasskey(proof, passkey));
    assert.deepEqual(
      (await factors()).passkeys.map(({ id, alone }) => [id, alone]),
      [[key.name, prf !== undefined]],
    );
    await device.checkKeys();
    if (prf) {
      // Codes go by it, though nobody heard that they did.
      const asked: unknown = await device.removeTotp(proof, {}).catch((error: unknown) => error);
      assert.ok(asked instanceof FactorError);
      const answer = key.answer(asked.passkey!);
      await hostile(lost(TOTP), () => device.removeTotp(proof, { passkey: answer }));
      assert.equal((await factors()).totp, false);
    }
    const REMOVE = /passkeys\/[^/]+$/;
    await never(REMOVE, () => device.removePasskey(proof, key.name));
    await hostile(lost(REMOVE), () => device.removePasskey(proof, key.name));
    assert.deepEqual((await factors()).passkeys, []);
    await device.checkKeys();
  }
  await (await Szafa.login(at(service.url), { username, password })).checkKeys();
});
