/** What takes several steps, or is told late, while one account leaves a tab and the next one comes: no later step is done for that one. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import { Device } from '../cross/device.ts';
import { freePort } from '../engines/daemon.ts';
import { freshName, Service, useService } from '../harness/index.ts';
import {
  choose,
  openTab,
  PASSWORD,
  register,
  row,
  signIn,
  signOut,
  switchByOtherTab,
  until,
  upload,
  useChromium,
} from './browser.ts';

const service = useService();
const browser = useChromium();

const isIn = (page: Page, username: string) =>
  page.getByRole('button', { name: `Account: ${username}` }).waitFor();

async function openAccount(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('heading', { name: 'Password' }).waitFor();
}

/** The first request of this kind waits; the others go on. */
async function hold(where: BrowserContext | Page, url: string | RegExp, method = 'GET') {
  const held = Promise.withResolvers<Route>();
  let isHeld = false;
  await where.route(url, (route) => {
    if (isHeld || route.request().method() !== method) return route.fallback();
    isHeld = true;
    held.resolve(route);
  });
  return { came: held.promise };
}

/** Whatever would be done late was begun before these. */
async function work(page: Page): Promise<void> {
  for (const name of ['next.txt', 'last.txt']) await upload(page, await browser.file(name, name));
}

test('a password is not changed for the account that came while the new one was judged', async () => {
  const { page } = await browser.visit(service.url, { serviceWorkers: 'block' });
  await register(page);
  // What judges passwords came with the registration.
  await page.reload();
  await openAccount(page);
  await page.getByRole('button', { name: 'Change password' }).click();
  const form = page.getByLabel('Change password');
  const other = await openTab(page, service.url);
  await form.getByLabel('Current password').fill(PASSWORD);
  await form.getByLabel('New password').fill('another horse staple');
  await form.getByLabel('Repeat password').fill('another horse staple');
  const judged = await hold(page, /\.js$/);
  await form.getByRole('button', { name: 'Change password' }).click();
  const late = await judged.came;
  await other.bringToFront();
  await signOut(other);
  const username = await register(other);
  await page.bringToFront();
  await isIn(page, username);
  await late.continue();
  await work(page);
  const { page: elsewhere } = await browser.visit(service.url);
  await signIn(elsewhere, username);
  await isIn(elsewhere, username);
});

/** Another account comes, and is renaming a file when the answer to the one before arrives: its dialog stays. */
async function renameMeanwhile(page: Page, late: Route): Promise<void> {
  const response = await late.fetch();
  await switchByOtherTab(page);
  await work(page);
  await choose(page, 'last.txt', 'Rename');
  const asked = page.getByRole('dialog');
  await asked.getByRole('textbox').fill('renamed.txt');
  const read = page.waitForResponse('**/api/quota');
  await late.fulfill({ response });
  // The list is read again then.
  await read;
  await asked.getByRole('button', { name: 'Rename' }).click();
  await row(page, 'renamed.txt').waitFor();
}

test('a folder that is made when its account has left closes nothing of the next one', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  await page.getByRole('button', { name: 'New folder', exact: true }).click();
  await page.getByLabel('Folder name').fill('mine');
  const made = await hold(context, '**/api/dirs', 'POST');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await renameMeanwhile(page, await made.came);
});

test('a version that is deleted when its account has left closes nothing of the next one', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  await upload(page, await browser.file('mine.txt', 'mine'));
  await choose(page, 'mine.txt', 'Versions');
  const asked = page.getByRole('dialog');
  const trashed = await hold(context, '**/api/files/trash', 'POST');
  await asked.getByRole('button', { name: /^Delete version/ }).click();
  await renameMeanwhile(page, await trashed.came);
});

test('whom one account looked for is not among the contacts of the next one', async () => {
  const friend = freshName();
  const device = await Device.make(service.url, { SZ_USER: friend });
  try {
    await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
    const { page, context } = await browser.visit(service.url);
    await register(page);
    await upload(page, await browser.file('shared.txt', 'shared'));
    const dialog = page.getByRole('dialog');
    const share = async () => {
      await choose(page, 'shared.txt', 'Share');
      await dialog.getByLabel('Share with').selectOption('A user on this server');
      await dialog.getByLabel('Username').fill(friend);
      await dialog.getByRole('button', { name: 'Share', exact: true }).click();
    };
    await share();
    await dialog.getByRole('heading', { name: `Shared with ${friend}` }).waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).first().click();
    // Another one has the name, and so other keys.
    await device.ok(['account', 'delete', '--yes'], { env: { SZ_PASSWORD: PASSWORD } });
    await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
    await share();
    const listed = await hold(context, '**/api/shares**');
    await dialog.getByRole('alert').getByRole('button').click();
    const late = await listed.came;
    const response = await late.fetch();
    await switchByOtherTab(page);
    await late.fulfill({ response });
    await work(page);
    await openAccount(page);
    await page.getByRole('button', { name: 'Show fingerprints' }).click();
    await page.getByText('No contacts yet').or(dialog.getByText(friend)).first().waitFor();
    assert.equal(await dialog.getByText(friend).count(), 0);
  } finally {
    await device.remove();
  }
});

for (const end of ['continue', 'abort'] as const)
  test(`a sign-in stays, though the session of another tab is looked at until later (${end})`, async () => {
    const { page, context } = await browser.visit(service.url);
    const username = await register(page);
    await signOut(page);
    const other = await openTab(page, service.url);
    const entering = await hold(context, '**/api/auth/login', 'POST');
    await signIn(page, username);
    const login = await entering.came;
    const looking = await hold(context, '**/api/auth/me');
    await other.bringToFront();
    await register(other);
    await page.bringToFront();
    const late = await looking.came;
    await login.continue();
    await isIn(page, username);
    await late[end]();
    await work(page);
    await isIn(page, username);
    await page.reload();
    await isIn(page, username);
    await row(page, 'last.txt').waitFor();
  });

test('a tab that could not begin does not sign out whoever has signed in since', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const other = await openTab(page, service.url);
  await page.route('**/api/account/keys', (route) =>
    route.fulfill({ status: 404, json: { detail: 'none' } }),
  );
  await page.reload();
  const leave = page.getByRole('button', { name: 'Sign out' });
  await leave.waitFor();
  await page.unroute('**/api/account/keys');
  await other.bringToFront();
  await signOut(other);
  const username = await register(other);
  await page.bringToFront();
  await isIn(page, username);
});

/** A page with an authenticator, which takes its time once `slow()` was called, until `finish()`; `asked`: what the worker was asked for. */
async function visitWithPasskeys(t: TestContext) {
  const port = String(await freePort());
  const origin = `http://localhost:${port}`;
  const own = await new Service({ env: { SZ_PORT: port, SZ_ORIGIN: origin } }).start();
  t.after(() => own.stop());
  const { page, context } = await browser.visit(`${origin}/docs`);
  await page.addInitScript(() => {
    const late = { asked: [] as string[], isSlow: false, finish() {} };
    Object.assign(globalThis, { late });
    const { create, get } = CredentialsContainer.prototype;
    // A browser asks whoever sits there, who takes their time.
    const wait = async () => {
      if (!late.isSlow) return;
      await new Promise<void>((resolve) => {
        late.finish = resolve;
        late.asked.push('prompt');
      });
    };
    CredentialsContainer.prototype.create = async function (options) {
      await wait();
      return create.call(this, options);
    };
    CredentialsContainer.prototype.get = async function (options) {
      await wait();
      return get.call(this, options);
    };
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message: { name: string }, ...rest: never[]) {
      late.asked.push(message.name);
      post.call(this, message, ...rest);
    };
  });
  await page.goto(origin);
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2' as const,
    transport: 'usb' as const,
    ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
  };
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
  type Late = { late: { asked: string[]; isSlow: boolean; finish(): void } };
  const asked = () => page.evaluate(() => (globalThis as unknown as Late).late.asked);
  const slow = () =>
    page.evaluate(() => {
      const { late } = globalThis as unknown as Late;
      late.isSlow = true;
      late.asked.length = 0;
    });
  const finish = () => page.evaluate(() => (globalThis as unknown as Late).late.finish());
  return { page, asked, slow, finish, prompted: () => until(async () => (await asked()).includes('prompt')) };
}

async function addPasskey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey', exact: true }).click();
  await page.getByLabel('Passkey name').fill('mine');
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
}

test('a passkey that is made while its account leaves is not added to the next one', async (t) => {
  const { page, asked, slow, finish, prompted } = await visitWithPasskeys(t);
  await register(page);
  await openAccount(page);
  await slow();
  await addPasskey(page);
  await prompted();
  await switchByOtherTab(page);
  await finish();
  await work(page);
  assert.ok(!(await asked()).includes('addPasskey'));
});

test('codes that a passkey is to turn off are not those of the account that came while it was asked for', async (t) => {
  const { page, asked, slow, finish, prompted } = await visitWithPasskeys(t);
  await register(page);
  await openAccount(page);
  await addPasskey(page);
  await page.getByText('second factor · never used').waitFor();
  await page.getByRole('button', { name: 'Turn on two-factor authentication' }).click();
  const secret = (await page.locator('.totp-secret').innerText()).replaceAll(' ', '');
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, stepAt(Date.now())));
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('button', { name: 'Turn off two-factor authentication' }).click();
  await page.getByLabel('Your password').fill(PASSWORD);
  await slow();
  await page.getByRole('button', { name: 'Use your passkey instead of a code' }).click();
  await prompted();
  await switchByOtherTab(page);
  await finish();
  await work(page);
  assert.equal((await asked()).filter((name) => name === 'removeTotp').length, 1);
});
