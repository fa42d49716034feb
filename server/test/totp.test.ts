import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '@szafa/protocol';
import { Accounts } from '../src/accounts/accounts.ts';
import { keysCondition } from '../src/accounts/key-bag.ts';
import { Sessions } from '../src/accounts/sessions.ts';
import { codeOf, stepAt, stepOf } from '../src/platform/totp.ts';
import { InProcess } from './in-process.ts';

/** Of RFC 6238: "12345678901234567890" in base32. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const STEP_MS = 30_000;

test('codes are those of RFC 6238', () => {
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const) {
    assert.equal(codeOf(SECRET, stepAt(seconds * 1000)), code);
    assert.equal(stepOf(SECRET, code, seconds * 1000), stepAt(seconds * 1000));
  }
  const now = 1_111_111_109_000;
  for (const away of [-2, -1, 0, 1, 2]) {
    const step = stepOf(SECRET, '081804', now + away * STEP_MS);
    assert.equal(step, Math.abs(away) > 1 ? undefined : stepAt(now));
  }
  assert.equal(stepOf(SECRET, '81804', now), undefined);
});

test('a second factor over time: each code once, wrong ones are counted for the account, from wherever', async (t) => {
  const { metadata, config } = (await InProcess.start(t)).services;
  let now = 1_700_000_000_000;
  const settings = { ...config, loginAttempts: 3, loginAddressAttempts: 100, loginWaitMs: 100_000 };
  const accounts = new Accounts(metadata, settings, { now: () => now });
  const sessions = new Sessions(metadata, settings, 'system-token-of-a-test', () => now);
  const from = (network = '192.0.2.1') => ({ network, shared: false });
  const account = { username: 'alice', password: 'correct horse battery' };
  const { password } = account;
  const { token } = await accounts.register(account, from());
  const { caller } = await sessions.identify(`Bearer ${token}`, routes.me, metadata.sessions.lookUp());
  const code = (away = 0) => codeOf(SECRET, stepAt(now) + away);
  /** One that counts at no step around. */
  const wrong = () => ['000000', '000001', '000002', '000003'].find((one) => !stepOf(SECRET, one, now))!;
  const asked = (status: number) => ({ status, extra: { factors: ['totp'] } });
  const factors = (totp: boolean) => ({ totp, passkeys: [], passkeys_offered: false });
  const logIn = (given?: string, network?: string) =>
    accounts.login({ ...account, ...(given !== undefined && { code: given }) }, from(network));

  await logIn('123456'); // there is none yet
  const on = { password, secret: SECRET, code: code() };
  await assert.rejects(accounts.factors.setTotp(caller, { ...on, password: 'another one' }, from()), {
    status: 403,
    extra: {},
  });
  await assert.rejects(accounts.factors.setTotp(caller, { ...on, code: wrong() }, from()), asked(403));
  assert.deepEqual(await accounts.factors.list(caller), factors(false));
  await accounts.factors.setTotp(caller, on, from());
  assert.deepEqual(await accounts.factors.list(caller), factors(true));
  await assert.rejects(accounts.factors.setTotp(caller, on, from()), { status: 409 });

  await assert.rejects(logIn(), asked(401));
  await assert.rejects(logIn(code()), asked(401), 'the one that turned it on');
  now += STEP_MS;
  assert.equal((await logIn(code())).username, 'alice');
  await assert.rejects(logIn(code()), asked(401), 'again');
  await assert.rejects(logIn(code(-1)), asked(401), 'an earlier one');
  await logIn(code(1));
  now += 3 * STEP_MS;

  // A right password does not begin a new count, and neither does another address.
  for (const at of [1, 2, 3]) {
    await assert.rejects(logIn(wrong(), `192.0.2.${at}`), asked(401));
    await assert.rejects(logIn(undefined, `192.0.2.${at}`), asked(401), 'asked for, as before');
  }
  await assert.rejects(logIn(code(), '192.0.2.4'), { status: 429 });
  const off = () => accounts.factors.removeTotp(caller, { password, code: code() }, from('192.0.2.5'));
  await assert.rejects(off(), { status: 429 });
  // The owner still has the password: what needs no code goes on.
  await accounts.changePassword(caller, { current: password, next: password }, keysCondition({}), from());
  now += settings.loginWaitMs;
  await logIn(code(), '192.0.2.4');
  for (let at = 0; at < 2; at++) await assert.rejects(logIn(wrong(), '192.0.2.6'), asked(401));
  now += STEP_MS;
  await logIn(code(), '192.0.2.7');

  await assert.rejects(
    accounts.factors.removeTotp(caller, { password, code: code() }, from()),
    asked(403),
    'used',
  );
  now += STEP_MS;
  await assert.rejects(
    accounts.factors.removeTotp(caller, { password: 'another one', code: code() }, from()),
    {
      status: 403,
      extra: {},
    },
  );
  await accounts.factors.removeTotp(caller, { password, code: code() }, from());
  assert.deepEqual(await accounts.factors.list(caller), factors(false));
  await assert.rejects(accounts.factors.removeTotp(caller, { password, code: code(1) }, from()), {
    status: 404,
  });
  await logIn();
});
