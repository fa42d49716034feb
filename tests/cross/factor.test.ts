import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { FactorError, nodeEngine, Szafa } from '../../client/src/node/index.ts';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import { Authenticator, useService } from '../harness/index.ts';
import { PASSWORD, registered } from './account.ts';
import { Terminal } from './terminal.ts';

const ORIGIN = 'https://files.szafa.test';
const service = useService();
const atAddress = useService({ env: { SZ_ORIGIN: ORIGIN } });
/** One that has not been used after that step, and counts for a while. */
const laterCode = (secret: string, step: number) => codeOf(secret, Math.max(step + 1, stepAt(Date.now())));

suite('szafa: a second factor', { concurrency: 2 }, () => {
  test('is set up on a terminal, asked for at a login, and turned off', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    const secrets = { SZ_PASSWORD: PASSWORD };
    assert.equal((await device.ok(['factor', 'totp', 'status', '--json'])).line('factors')['totp'], false);

    const on = new Terminal(device, ['factor', 'totp', 'on'], { env: secrets });
    await on.until(/secret=[A-Z2-7]{32}&/);
    const secret = /secret=([A-Z2-7]{32})&/.exec(on.screen)![1]!;
    assert.match(on.screen.replaceAll(' ', ''), new RegExp(`\\n${secret}\\r`), 'in groups, to be typed');
    const rows = stripVTControlCharacters(on.screen)
      .split('\n')
      .filter((line) => /[▀▄█]/.test(line));
    assert.ok(rows.length > 20, 'a QR code');
    assert.equal(new Set(rows.map((row) => row.replace('\r', '').length)).size, 1);
    await on.until(/this account has no recovery key/);
    await on.answer(/code that the app shows: /, 'abc');
    const step = stepAt(Date.now());
    await on.until(/that is not the current code/);
    await on.answer(/code that the app shows: /, codeOf(secret, step));
    assert.equal(await on.ended, 0, on.screen);
    assert.match(on.screen, /two-factor authentication is on/);
    assert.equal((await device.ok(['factor', 'totp', '--json'])).line('factors')['totp'], true);
    assert.match((await device.run(['factor', 'totp', 'on'], { env: secrets })).stderr, /on a terminal/);

    // Nobody is there to be asked.
    const env = { ...secrets, SZ_CONFIG: device.path('other') };
    const alone = await device.run(['login'], { env });
    assert.equal(alone.code, 12);
    assert.match(alone.stderr, /a two-factor code is needed\nhint: set SZ_CODE/);
    const used = await device.run(['login'], { env: { ...env, SZ_CODE: codeOf(secret, step) } });
    assert.equal(used.code, 12);
    assert.match(used.stderr, /the code is wrong, or has been used already/);
    const wrong = await device.run(['login'], { env: { ...env, SZ_PASSWORD: 'not the password' } });
    assert.doesNotMatch(wrong.stderr, /code/);
    // A person copies it as the app shows it, in two groups.
    const next = laterCode(secret, step);
    const login = new Terminal(device, ['login'], { env });
    await login.answer(/two-factor code: /, `${next.slice(0, 3)} ${next.slice(3)}`);
    assert.equal(await login.ended, 0, login.screen);

    // A change of password finds out whether it counts, though no login succeeds without a code.
    const changed = { ...secrets, SZ_NEW_PASSWORD: 'another horse battery' };
    await device.ok(['passwd'], { env: changed });
    assert.match((await device.ok(['passwd'], { env: changed })).stdout, /is valid already/);
  });

  test('is turned off with password and code', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    const secrets = { SZ_PASSWORD: PASSWORD };
    const none = await device.run(['factor', 'totp', 'off'], { env: { ...secrets, SZ_CODE: '123456' } });
    assert.match(none.stderr, /codes are not on/);
    const on = new Terminal(device, ['factor', 'totp', 'on'], { env: secrets, columns: 40 });
    await on.until(/secret=[A-Z2-7\s]{32,40}&/);
    assert.doesNotMatch(on.screen, /▀/, 'too narrow');
    const secret = /secret=([A-Z2-7]{32})&/.exec(on.screen)![1]!;
    const step = stepAt(Date.now());
    await on.answer(/code that the app shows: /, codeOf(secret, step));
    assert.equal(await on.ended, 0, on.screen);
    const off = (env: Record<string, string>) =>
      device.run(['factor', 'totp', 'off'], { env: { ...secrets, ...env } });
    assert.equal((await off({ SZ_CODE: codeOf(secret, step) })).code, 12, 'used');
    const wrong = await off({ SZ_CODE: laterCode(secret, step), SZ_PASSWORD: 'not the password' });
    assert.equal(wrong.code, 12);
    assert.match(wrong.stderr, /the password is wrong/);
    assert.equal((await off({ SZ_CODE: laterCode(secret, step) })).code, 0);
    await device.ok(['login'], { env: secrets });
    for (const args of [
      ['factor'],
      ['factor', 'sms'],
      ['factor', 'totp', 'maybe'],
      ['factor', 'status', 'x'],
    ])
      assert.equal((await device.run(args)).code, 2);
  });

  test('that is a passkey is told, and closes the account to the command until codes are on', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(atAddress);
    stack.defer(() => device.remove());
    const secrets = { SZ_PASSWORD: PASSWORD };
    const username = String((await device.ok(['whoami', '--json'])).line('user')['username']);
    const there = { server: atAddress.url, engine: nodeEngine({ threads: 1 }) };
    stack.defer(() => there.engine.close());
    const page = await Szafa.login(there, { username, password: PASSWORD });
    const key = new Authenticator(ORIGIN);
    const made = key.make(await page.newPasskey());
    const name = 'blue\u001b[31m key';
    await page.addPasskey({ password: PASSWORD }, { id: key.name, name, ...made });

    const shown = await device.ok(['factor', 'status']);
    assert.match(
      shown.stdout,
      /^a login asks for a passkey, in the web app only: blue.*key; .*: szafa factor totp on\n$/,
    );
    assert.doesNotMatch(shown.stdout, /\u001b/);
    const listed = (await device.ok(['factor', 'totp', 'status', '--json'])).line('factors');
    assert.equal(listed['totp'], false);
    const [passkey] = listed['passkeys'] as { id: string; alone: boolean }[];
    assert.deepEqual([passkey!.id, passkey!.alone], [key.name, false]);
    const env = { ...secrets, SZ_CONFIG: device.path('other') };
    for (const more of [{}, { SZ_CODE: '123456' }]) {
      const refused = await device.run(['login'], { env: { ...env, ...more } });
      assert.equal(refused.code, 12);
      assert.match(refused.stderr, /work in the web app: sign in there, turn on codes as well/);
    }
    const off = await device.run(['factor', 'totp', 'off'], { env: { ...secrets, SZ_CODE: '123456' } });
    assert.match(off.stderr, /codes are not on/);

    // A session that is open turns codes on; they open the account, and the passkey may take them away.
    const on = new Terminal(device, ['factor', 'totp', 'on'], { env: secrets });
    await on.until(/secret=[A-Z2-7]{32}&/);
    const secret = /secret=([A-Z2-7]{32})&/.exec(on.screen)![1]!;
    const step = stepAt(Date.now());
    await on.answer(/code that the app shows: /, codeOf(secret, step));
    assert.equal(await on.ended, 0, on.screen);
    assert.match((await device.ok(['factor', 'status'])).stdout, /asks for a code .*, or for a passkey/);
    const code = laterCode(secret, step);
    assert.equal((await device.run(['login'], { env: { ...env, SZ_CODE: code } })).code, 0);
    const proof = { password: PASSWORD };
    const asked = await page.removeTotp(proof, {}).catch((error: unknown) => error);
    assert.ok(asked instanceof FactorError);
    assert.deepEqual([asked.code, asked.factors], ['factor-needed', ['totp', 'passkey']]);
    await page.removeTotp(proof, { passkey: key.answer(asked.passkey!) });
    assert.match((await device.ok(['factor', 'status'])).stdout, /^a login asks for a passkey/);
  });
});
