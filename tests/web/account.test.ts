/** What people do to their own account in the page, and what they are told when the service shows other keys than before. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { newRecoveryKey, Szafa, webEngine } from '@szafa/client';
import type { Page } from 'playwright-core';
import { Between } from '../cross/between.ts';
import { freshName, send, useService } from '../harness/index.ts';
import {
  confirmKey,
  counts as keyCounts,
  keyShown,
  PASSWORD,
  register,
  registerWithKey,
  row,
  shoot,
  signIn,
  signOut,
  tokenOf,
  typeKey,
  until,
  upload,
  useChromium,
} from './browser.ts';

const service = useService();
const browser = useChromium();
const NEXT = 'rower chmura zamek lampa';
const LAST = 'seven quiet otters abroad';

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const alert = (page: Page, said: RegExp) => page.getByRole('alert').getByText(said).waitFor();
const inside = (page: Page) => page.getByRole('heading', { name: 'All files' }).waitFor();

async function openAccount(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
}

/** That there is nothing to scroll sideways; a busy browser takes a while to get there. */
async function fitsPhone(page: Page): Promise<void> {
  const before = page.viewportSize()!;
  await page.setViewportSize({ width: 360, height: 740 });
  await until(() => page.evaluate(() => innerWidth === 360 && document.documentElement.scrollWidth === 360));
  await page.setViewportSize(before);
}

const counts = (username: string, key: string) => keyCounts(service.url, username, key);

/** What is on paper. */
async function onPaper(page: Page): Promise<string> {
  await page.emulateMedia({ media: 'print' });
  const text = await page.evaluate(() => document.body.innerText);
  await page.emulateMedia({ media: 'screen' });
  return text;
}

test('an account from its recovery key to its end, in one visit', async () => {
  const { page, context, errors } = await browser.visit('about:blank');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await context.addInitScript(() => {
    Object.assign(globalThis, { printed: 0, print: () => Reflect.set(globalThis, 'printed', 1) });
  });
  await page.goto(service.url);

  // A recovery key at registration: shown once, to be copied, printed and kept as a file, and confirmed.
  const { username, key: first } = await registerWithKey(page);
  assert.ok(await counts(username, first), 'a key that is shown counts already');
  await shoot(page, 'recovery-key');
  await fitsPhone(page);
  await press(page, 'Copy');
  await page.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), first);
  const saved = page.waitForEvent('download');
  await press(page, 'Save as text');
  const file = await saved;
  assert.equal(file.suggestedFilename(), `szafa-recovery-key-${username}.txt`);
  const sheet = await readFile((await file.path())!, 'utf8');
  for (const words of [first.slice(0, 34), first.slice(35), username, service.url]) {
    assert.ok(sheet.includes(words), words);
  }
  await press(page, 'Print');
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, 'printed')), 1);
  assert.equal((await onPaper(page)).trim(), sheet.trim(), 'only the sheet is printed');
  await press(page, 'I’ve saved it');
  assert.ok(
    !(await page.locator('body').innerText()).includes(first.slice(0, 4)),
    'it is not to be read off',
  );
  await shoot(page, 'recovery-key-asked');
  await page.getByLabel(/^Enter groups/).fill('ABCD EFGH');
  await press(page, 'Confirm');
  await alert(page, /don’t match/);
  await press(page, 'Show it again');
  await confirmKey(page, first);
  assert.ok(!(await page.content()).includes(first.slice(0, 4)), 'it is shown once');
  await upload(page, await browser.file('kept.txt', 'what stays'));

  // Devices: this browser, another one, and a program; one is ended.
  const other = (await browser.visit(service.url)).page;
  await signIn(other, username);
  await row(other, 'kept.txt').waitFor();
  const options = { server: service.url };
  const program = await Szafa.login(options, {
    username,
    password: PASSWORD,
    device: 'Backup\u202e of <b>Ann</b>',
  });
  await openAccount(page);
  const devices = page.locator('.devices li');
  assert.equal(await devices.count(), 3);
  await devices.filter({ hasText: 'This browser' }).getByText('Chrome on Linux').waitFor();
  await devices.filter({ hasText: 'This browser' }).getByText('in use now').waitFor();
  await devices
    .filter({ hasText: '<b>Ann</b>' })
    .getByText(/last used (today|\d+ \w+|\w+ \d+)/)
    .waitFor();
  assert.doesNotMatch(
    await page.locator('.devices').innerText(),
    /\d:\d\d/,
    'what the server does not know exactly',
  );
  await page.getByText('You have a recovery key.').waitFor();
  await shoot(page, 'account');
  await fitsPhone(page);
  await devices
    .filter({ hasText: '<b>Ann</b>' })
    .getByRole('button', { name: /^Sign out/ })
    .click();
  await page.getByText('1 session signed out').waitFor();
  await until(async () => (await devices.count()) === 2);
  await assert.rejects(program.api.call('me'), /unknown|expired/);

  // Another password: this session goes on, the others end and are told why.
  const focused = page.locator(':focus');
  await press(page, 'Change password');
  await page.getByLabel('Current password').and(focused).waitFor();
  await press(page, 'Cancel');
  await page.getByRole('button', { name: 'Change password' }).and(focused).waitFor();
  await page.keyboard.press('Enter');
  await shoot(page, 'account-password');
  const change = async (current: string, next: string) => {
    await page.getByLabel('Current password').fill(current);
    await page.getByLabel('New password', { exact: true }).fill(next);
    await page.getByLabel('Repeat password').fill(next);
    await page.getByLabel('Change password').getByRole('button', { name: 'Change password' }).click();
  };
  await change(PASSWORD, PASSWORD);
  await alert(page, /already your password/);
  await change(PASSWORD, 'password1');
  await alert(page, /too easy to guess/);
  const labels = await page.evaluateHandle(() => {
    const said = new Set<string>();
    new MutationObserver(() => {
      for (const button of document.querySelectorAll('dialog [type=submit]')) said.add(button.textContent!);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
    return said;
  });
  await change('not the password', NEXT);
  await alert(page, /Wrong password/);
  await page.getByLabel('Current password').and(page.locator(':focus[aria-invalid=true]')).waitFor();
  const describes = await focused.getAttribute('aria-describedby');
  assert.equal(await page.locator(`[id="${describes}"]`).innerText(), 'Wrong password.');
  assert.ok(!(await labels.evaluate((said) => [...said])).includes('Signing in…'));
  await change(PASSWORD, NEXT);
  await page.getByText('Password changed.').waitFor();
  await until(async () => (await devices.count()) === 1);
  await other.evaluate(() => dispatchEvent(new Event('online')));
  await other.getByText(/session expired.*password was changed/).waitFor();
  await shoot(other, 'session-ended');
  await signIn(other, username);
  await alert(other, /Wrong username or password/);
  await signIn(other, username, NEXT);
  await row(other, 'kept.txt').waitFor();
  await page.reload();
  await row(page, 'kept.txt').waitFor();

  // Sessions that are ended from elsewhere, all at once.
  await openAccount(page);
  await press(page, 'Sign out everywhere else');
  await page.getByText('1 session signed out').waitFor();
  // It asks now and then, and when the line is back: which of the two comes first is all the same.
  await other.evaluate(() => dispatchEvent(new Event('online')));
  await other.getByText(/You’ve been signed out/).waitFor();
  await other.context().close();

  // A new recovery key; who does not want to confirm it is warned, and keeps the one before.
  await press(page, 'Create a new recovery key');
  const skipped = await keyShown(page);
  await press(page, 'Skip for now');
  await page.getByText('you’ll lose your files').waitFor();
  await shoot(page, 'recovery-key-skipped');
  await press(page, 'Skip for now');
  await inside(page);
  assert.deepEqual([await counts(username, first), await counts(username, skipped)], [true, false]);
  await openAccount(page);
  await press(page, 'Create a new recovery key');
  const second = await keyShown(page);
  await typeKey(page, second);
  await page.getByLabel('Your password').fill(PASSWORD);
  await press(page, 'Confirm');
  await alert(page, /Wrong password/);
  await shoot(page, 'recovery-key-renewed');
  await page.getByLabel('Your password').fill(NEXT);
  await press(page, 'Confirm');
  await inside(page);

  // Back with the recovery key: not with the one before, nor with a mistyped one.
  await signOut(page);
  await press(page, 'Forgot your password?');
  await shoot(page, 'recover');
  await fitsPhone(page);
  const recover = async (key: string) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Recovery key').fill(key);
    await page.getByLabel('New password', { exact: true }).fill(LAST);
    await page.getByLabel('Repeat password').fill(LAST);
    await press(page, 'Set password and sign in');
  };
  const mistyped = `${second.slice(0, -1)}${second.endsWith('0') ? '1' : '0'}`;
  await recover(mistyped);
  await alert(page, /check for typing mistakes/);
  await recover(sheet);
  await alert(page, /Wrong username or recovery key/);
  await recover(second.toLowerCase().replaceAll('-', ' '));
  const third = await keyShown(page);
  assert.deepEqual([await counts(username, second), await counts(username, third)], [false, true]);
  await confirmKey(page, third);
  await row(page, 'kept.txt').waitFor();

  // The end: what is lost is said, and name and password are asked for.
  const token = await tokenOf(page);
  await openAccount(page);
  await press(page, 'Delete account');
  const remove = page.getByLabel('Delete account');
  await remove.getByText('This deletes 1 file,').waitFor();
  await shoot(page, 'account-delete');
  const tryToDelete = async (name: string, password: string) => {
    await remove.getByLabel(/^Type “/).fill(name);
    await remove.getByLabel('Your password').fill(password);
    await remove.getByRole('button', { name: 'Delete account' }).click();
  };
  await tryToDelete('somebody', LAST);
  await alert(page, /isn’t the name/);
  await tryToDelete(username, NEXT);
  await alert(page, /Wrong password/);
  await tryToDelete(username, LAST);
  await page.getByText(`The account ${username} and everything in it`).waitFor();
  assert.equal((await send(service.url, { path: '/api/auth/me', token })).status, 401);
  await signIn(page, username, LAST);
  await alert(page, /Wrong username or password/);
  // The name is free, also in a browser that knew the keys of the account before.
  await register(page, username);
  await page.getByText('Nothing here yet').waitFor();
  assert.deepEqual(
    errors.filter((error) => !/status of 40[13]/.test(error)),
    [],
  );
});

test('older, foreign, missing and broken keys, and another server: what is so, and what to do', async () => {
  await using between = await Between.start(service.url);
  const { page } = await browser.visit(between.url);
  const username = await register(page);
  const keysOf = async (token: string) =>
    (await send(service.url, { path: '/api/account/keys', token })).json['keys'] as string;
  const older = await keysOf(await tokenOf(page));
  const options = { server: service.url };
  const szafa = await Szafa.login(options, { username, password: PASSWORD });
  await szafa.setRecoveryKey({ password: PASSWORD }, newRecoveryKey(webEngine()));
  const newer = await keysOf(szafa.token!);
  const stranger = await Szafa.register(options, { username: freshName(), password: PASSWORD });
  const foreign = await keysOf(stranger.token!);
  // Once the page has seen the newer ones, it takes no others.
  await page.reload();
  await inside(page);

  const broken = `${newer.slice(0, 60)}${newer[60] === 'A' ? 'B' : 'A'}${newer.slice(61)}`;
  for (const [keys, title, next] of [
    [older, 'The server sent older keys than before', /restored from a backup/],
    [foreign, 'The server sent somebody else’s keys', /Contact your administrator/],
    [undefined, 'The server says this account has no keys', /szafa-server rescue/],
    [broken, 'The keys of this account are damaged', /a backup of them/],
  ] as const) {
    between.status = (path, status) => (path === '/api/account/keys' && keys === undefined ? 404 : status);
    between.inward = (path, body) =>
      path === '/api/account/keys' ? Buffer.from(JSON.stringify(keys ? { keys } : { error: 'no' })) : body;
    await page.reload();
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText(next).first().waitFor();
    if (keys === older) await shoot(page, 'older-keys');
  }
  between.status = (_path, status) => status;
  between.inward = (_path, body) => body;
  await press(page, 'Try again');
  await inside(page);

  // Whoever signs out there has signed out, also at the service.
  const token = await tokenOf(page);
  between.inward = (path, body) =>
    path === '/api/account/keys' ? Buffer.from(JSON.stringify({ keys: older })) : body;
  await page.reload();
  await press(page, 'Sign out');
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  assert.equal((await send(service.url, { path: '/api/auth/me', token })).status, 401);

  // Another server at the same address gets nothing, least of all a password.
  between.inward = (path, body) =>
    path === '/api/service'
      ? Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), service_id: 'ab'.repeat(16) }))
      : body;
  const logins = () => between.requests.filter(({ path }) => path === '/api/auth/login').length;
  const before = logins();
  await signIn(page, username);
  await alert(page, /This server’s identity has changed/);
  await page.getByText(/set up again and you want to start over there/).waitFor();
  await shoot(page, 'other-server');
  assert.equal(logins(), before);
  between.inward = (_path, body) => body;

  // A tab that ended between a change of its password and the note of it.
  await signIn(page, username);
  await inside(page);
  const same = await Szafa.open(options, { username, token: await tokenOf(page), secret: PASSWORD });
  await same.changePassword({ password: PASSWORD }, NEXT);
  await page.reload();
  await page.getByText('The password of this account was changed.').waitFor();
  await signIn(page, username, NEXT);
  await inside(page);
});
