/** The second factor in the page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTotpSecret, Szafa, webEngine } from '@szafa/client';
import type { Page } from 'playwright-core';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import { useService } from '../harness/index.ts';
import { PASSWORD, register, shoot, signIn, signOut, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const alert = (page: Page, said: RegExp) => page.getByRole('alert').getByText(said).waitFor();
/** One that has not been used after that step, and counts for a while. */
const laterCode = (secret: string, step: number) => codeOf(secret, Math.max(step + 1, stepAt(Date.now())));

async function openAccount(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('heading', { name: 'Two-factor authentication' }).waitFor();
}

test('codes are turned on and off, and asked for at a sign-in', async () => {
  const { page, errors } = await browser.visit(service.url);
  const username = await register(page);
  const program = await Szafa.login({ server: service.url }, { username, password: PASSWORD });
  const old = newTotpSecret(webEngine());
  const first = stepAt(Date.now());
  await program.setTotp({ password: PASSWORD }, old, codeOf(old, first));

  // Off, with password and code.
  await openAccount(page);
  await page.getByText('You’ll need a code').waitFor();
  await press(page, 'Turn off two-factor authentication');
  await page.getByLabel('Your password').fill('not the password');
  await page.getByRole('textbox', { name: 'Code' }).fill(laterCode(old, first));
  await press(page, 'Turn off');
  await alert(page, /Wrong password/);
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(old, first));
  await press(page, 'Turn off');
  await alert(page, /The code is wrong or was already used/);
  await page.getByRole('textbox', { name: 'Code' }).fill(laterCode(old, first));
  await press(page, 'Turn off');
  await page.getByText('Two-factor authentication is off.').waitFor();

  // On, with a new secret.
  await press(page, 'Turn on two-factor authentication');
  await page.getByRole('img', { name: 'QR code with the secret' }).waitFor();
  await page.getByText('you don’t have a recovery key. Create one first').waitFor();
  await shoot(page, 'second-factor');
  const secret = (await page.locator('.totp-secret').innerText()).replaceAll(' ', '');
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.notEqual(secret, old);
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(old, first));
  await press(page, 'Turn on');
  await alert(page, /The code is wrong/);
  const step = stepAt(Date.now());
  await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret, step));
  await press(page, 'Turn on');
  await page.getByText('Two-factor authentication is on.').waitFor();
  await page.keyboard.press('Escape');

  // The way in.
  await signOut(page);
  assert.equal(await page.getByRole('textbox', { name: 'Code' }).count(), 0);
  await signIn(page, username, 'not the password');
  await alert(page, /./);
  assert.equal(
    await page.getByRole('textbox', { name: 'Code' }).count(),
    0,
    'nobody learns of it without the password',
  );
  await signIn(page, username);
  await page.getByRole('textbox', { name: 'Code' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'code');
  await shoot(page, 'code-asked');
  await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret, step));
  await press(page, 'Sign in');
  await alert(page, /The code is wrong or was already used/);
  const next = laterCode(secret, step);
  await page.getByRole('textbox', { name: 'Code' }).fill(`${next.slice(0, 3)} ${next.slice(3)}`);
  await press(page, 'Sign in');
  await page.getByRole('heading', { name: 'All files' }).waitFor();
  assert.deepEqual(errors, []);
});
