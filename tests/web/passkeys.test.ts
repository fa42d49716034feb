/** Passkeys in the page, with Chromium's virtual authenticator. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import { Service } from '../harness/index.ts';
import { PASSWORD, register, signIn, signOut, useChromium } from './browser.ts';

const browser = useChromium();
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function openAccount(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
}

async function add(page: Page, name: string, said: string): Promise<void> {
  await press(page, 'Add a passkey');
  await page.getByLabel('Passkey name').fill(name);
  await page.getByLabel('Your password').fill(PASSWORD);
  await press(page, 'Add');
  await page.getByText(said).waitFor();
}

test('passkeys come in by themselves where they open the keys, and stand beside the password where not', async (t) => {
  const port = String(await freePort());
  const origin = `http://localhost:${port}`;
  const service = await new Service({ env: { SZ_PORT: port, SZ_ORIGIN: origin } }).start();
  t.after(() => service.stop());
  const { page, errors } = await browser.visit(`${origin}/docs`);
  // Every secret that goes to the worker, as the page has it afterwards.
  await page.addInitScript(() => {
    const seen: Uint8Array[] = [];
    Object.assign(globalThis, { seen });
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message: { args?: unknown[] }, ...rest: never[]) {
      for (const arg of message.args ?? []) {
        const secret = arg instanceof Uint8Array ? arg : (arg as { secret?: unknown } | null)?.secret;
        if (secret instanceof Uint8Array) seen.push(secret);
      }
      post.call(this, message, ...rest);
    };
  });
  await page.goto(origin);
  const secrets = () =>
    page.evaluate(() => (globalThis as unknown as { seen: Uint8Array[] }).seen.map((one) => [...one]));
  const zeros = Array<number>(32).fill(0);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const attach = async (hasPrf: boolean) => {
    const options = {
      protocol: 'ctap2' as const,
      ctap2Version: 'ctap2_1' as const,
      transport: hasPrf ? ('internal' as const) : ('usb' as const),
      ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true, hasPrf },
    };
    return (await devtools.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId;
  };
  const phone = await attach(true);
  const username = await register(page);
  await openAccount(page);
  await add(page, 'my phone', 'You can sign in with it alone.');
  await page.getByText('signs in without a password · never used').waitFor();
  assert.deepEqual(await secrets(), [zeros]);
  await page.keyboard.press('Escape');

  // Alone, without a name; a reload goes on with it.
  await signOut(page);
  await press(page, 'Sign in with a passkey');
  await page.getByRole('heading', { name: 'All files' }).waitFor();
  assert.deepEqual(await secrets(), [zeros, zeros]);
  await page.reload();
  await page.getByRole('heading', { name: 'All files' }).waitFor();

  // Beside the password.
  await signOut(page);
  await signIn(page, username);
  await press(page, 'Use your passkey');
  await page.getByRole('heading', { name: 'All files' }).waitFor();

  // Removed, with the password; the password alone is enough afterwards.
  await openAccount(page);
  await press(page, 'Remove my phone');
  await page.getByLabel('Your password').fill('not the password');
  await press(page, 'Remove my phone');
  await page
    .getByRole('alert')
    .getByText(/Wrong password/)
    .waitFor();
  await page.getByLabel('Your password').fill(PASSWORD);
  await press(page, 'Remove my phone');
  await page.getByText('Passkey removed.').waitFor();
  await page.keyboard.press('Escape');
  await signOut(page);
  await press(page, 'Sign in with a passkey');
  await page.getByRole('alert').getByText(/./).waitFor();
  await signIn(page, username);
  await page.getByRole('heading', { name: 'All files' }).waitFor();

  // One that makes no secret is a second factor only.
  await devtools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: phone });
  await attach(false);
  await openAccount(page);
  await add(page, 'blue key', 'You’ll still need your password to open your files.');
  await page.getByText('second factor · never used').waitFor();
  await page.keyboard.press('Escape');
  await signOut(page);
  await press(page, 'Sign in with a passkey');
  await page
    .getByRole('alert')
    .getByText(/can’t open your files on its own/)
    .waitFor();
  await signIn(page, username);
  await press(page, 'Use your passkey');
  await page.getByRole('heading', { name: 'All files' }).waitFor();

  // It takes codes away for somebody who has lost the app.
  await openAccount(page);
  await page.getByText('need a passkey to sign in. Codes are off').waitFor();
  await press(page, 'Turn on two-factor authentication');
  const secret = (await page.locator('.totp-secret').innerText()).replaceAll(' ', '');
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, stepAt(Date.now())));
  await page.getByLabel('Your password').fill(PASSWORD);
  await press(page, 'Turn on');
  await page.getByText('Two-factor authentication is on.').waitFor();
  await press(page, 'Turn off two-factor authentication');
  await page.getByLabel('Your password').fill(PASSWORD);
  await press(page, 'Use your passkey instead of a code');
  await page.getByText('You’ll still need a passkey to sign in.').waitFor();
  assert.deepEqual(
    errors.filter((one) => !/401|403/.test(one)),
    [],
  );
});
