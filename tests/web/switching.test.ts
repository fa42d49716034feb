/** One account after the other in the same browser: nothing that was begun for the one comes to the next. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Api } from '@szafa/client';
import type { Locator, Page, Route } from 'playwright-core';
import { TAB_CHANNEL, type TabNews } from '../../web/src/core/bridge/messages.ts';
import { useService } from '../harness/index.ts';
import {
  drop,
  openTab,
  PASSWORD,
  pick,
  register,
  row,
  signOut,
  switchByOtherTab,
  tokenOf,
  upload,
  useChromium,
  type Visit,
} from './browser.ts';

const service = useService();
const browser = useChromium();

test('an answer that ends the session before does not end the one that came since', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  await page.getByText('Nothing here yet').waitFor();
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/quota', (route) => held.resolve(route), { times: 1 });
  // As the browser says when its line is back: the list is read again.
  await page.evaluate(() => dispatchEvent(new Event('online')));
  const late = await held.promise;
  await signOut(page);
  const next = await register(page);
  await late.fulfill({ status: 401, json: { detail: 'the token is unknown or has expired; log in again' } });
  // The next list waits for the one before.
  await page.getByText('Nothing here yet').waitFor();
  await page.getByRole('button', { name: `Account: ${next}` }).waitFor();
});

/** What a tab that was asleep does when it wakes up, by which it learns that its session is over. */
const WAKING = {
  'hears late of a sign-out': 'wakeUp()',
  'asks with a token that is over': "dispatchEvent(new Event('online'))",
};

for (const [what, wake] of Object.entries(WAKING))
  test(`a tab that ${what} takes nothing from the account that has signed in since`, async () => {
    const { page, context } = await browser.visit(service.url);
    await register(page);
    const other = await context.newPage();
    // As one that the browser has put to sleep: what other tabs say waits, and it asks nothing by itself.
    await other.addInitScript(() => {
      const Channel = globalThis.BroadcastChannel;
      const waiting: (() => void)[] = [];
      globalThis.BroadcastChannel = class extends Channel {
        override set onmessage(act: (event: MessageEvent) => void) {
          super.onmessage = (event) => waiting.push(() => act(event));
        }
      };
      const wakeUp = () => {
        for (const hear of waiting) hear();
      };
      Object.assign(globalThis, { wakeUp, setInterval: () => 0 });
    });
    await other.goto(service.url);
    await other.getByRole('heading', { name: 'All files' }).waitFor();
    await page.bringToFront();
    await signOut(page);
    const next = await register(page);
    const token = await tokenOf(page);
    await other.evaluate(wake);
    // It has nobody any more; or the next one, where a request that was late had told it before it woke up.
    const nobody = other.getByLabel('Username');
    await nobody.or(other.getByRole('button', { name: `Account: ${next}` })).waitFor();
    // What it tells other tabs has come by the time that this has.
    const heard = page.evaluate(
      (name) =>
        new Promise<void>((resolve) => {
          new BroadcastChannel(name).onmessage = ({ data }) => {
            if (data === 'last') resolve();
          };
          document.body.dataset['listens'] = 'yes';
        }),
      TAB_CHANNEL,
    );
    await page.locator('body[data-listens]').waitFor();
    await other.evaluate((name) => new BroadcastChannel(name).postMessage('last'), TAB_CHANNEL);
    await heard;
    await page.getByRole('button', { name: `Account: ${next}` }).waitFor();
    assert.equal(await tokenOf(page), token);
    await page.reload();
    await page.getByRole('button', { name: `Account: ${next}` }).waitFor();
  });

/** All but the last click of deleting the account, for which it returns the button. */
async function askDeletion(page: Page, username: string): Promise<Locator> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('button', { name: 'Delete account', exact: true }).click();
  const remove = page.getByLabel('Delete account');
  await remove.getByLabel(/^Type “/).fill(username);
  await remove.getByLabel('Your password').fill(PASSWORD);
  return remove.getByRole('button', { name: 'Delete account' });
}

test('a deletion that is answered late takes nothing from the account that has signed in since', async () => {
  const { page, context } = await browser.visit(service.url);
  const username = await register(page);
  const other = await context.newPage();
  await page.bringToFront();
  const remove = await askDeletion(page, username);
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/auth/me', (route) => held.resolve(route), { times: 1 });
  await remove.click();
  const late = await held.promise;
  const response = await late.fetch();
  await other.bringToFront();
  await other.goto(service.url);
  const next = await register(other);
  const token = await tokenOf(other);
  await late.fulfill({ response });
  await page.bringToFront();
  // The tab of the deletion has nobody any more, or the one that has signed in since.
  const out = page.getByText(`The account ${username} and everything in it`);
  await out.or(page.getByRole('button', { name: `Account: ${next}` })).waitFor();
  assert.equal(await tokenOf(other), token);
  await other.reload();
  await other.getByRole('button', { name: `Account: ${next}` }).waitFor();
});

test('a session that ends while another account is still being deleted is over', async () => {
  const { page, context } = await browser.visit(service.url);
  const username = await register(page);
  const remove = await askDeletion(page, username);
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/auth/me', (route) => {
    if (route.request().method() !== 'DELETE') return route.continue();
    held.resolve(route);
  });
  await remove.click();
  await held.promise;
  await switchByOtherTab(page);
  // They would hear of it, and tell.
  for (const other of context.pages()) if (other !== page) await other.close();
  await new Api({ server: service.url, token: await tokenOf(page) }).call('logout');
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
});

/** A notice with something to do stays for good: on a busy machine its time would be over before the next account is there. */
async function visitForLong(): Promise<Visit> {
  const visit = await browser.visit('about:blank');
  await visit.context.addInitScript(() => {
    const real = globalThis.setTimeout;
    const patient = (act: () => void, ms?: number) => (ms === 15_000 ? 0 : real(act, ms));
    Object.assign(globalThis, { setTimeout: patient });
  });
  await visit.page.goto(service.url);
  return visit;
}

test('what one account could undo, and what it was asked, goes with it', async () => {
  const { page } = await visitForLong();
  const undo = page.getByRole('button', { name: 'Undo' });
  const file = await browser.file('mine.txt', 'mine');
  await register(page);
  await upload(page, file);
  await row(page, 'mine.txt').focus();
  await page.keyboard.press('Delete');
  await undo.waitFor();
  await signOut(page);
  assert.equal(await undo.count(), 0);

  await register(page);
  await upload(page, file);
  await pick(page, file);
  const asked = page.getByRole('dialog');
  await asked.waitFor();
  // The page itself is under the question.
  await switchByOtherTab(page);
  assert.equal(await asked.count(), 0);
});

test('what ends while its account leaves offers no Undo to the next one', async () => {
  const { page, context } = await visitForLong();
  await register(page);
  await upload(page, await browser.file('late.txt', 'late'));
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/quota', (route) => held.resolve(route), { times: 1 });
  await row(page, 'late.txt').focus();
  await page.keyboard.press('Delete');
  // It is in the trash, and the list is read again.
  const late = await held.promise;
  await signOut(page);
  await register(page);
  await late.continue();
  // The next list waits for the one before.
  await page.getByText('Nothing here yet').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0);
});

test('of folders that are made one by one, none is made for the account that came since', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  const folders = ['first', 'second'].map((name) => join(browser.folder, name));
  for (const path of folders) await mkdir(path);
  // The first is made, but the page does not hear of it yet.
  const made = Promise.withResolvers<() => Promise<void>>();
  let held = false;
  await context.route('**/api/dirs', async (route) => {
    if (held || route.request().method() !== 'POST') return route.continue();
    held = true;
    const response = await route.fetch();
    made.resolve(() => route.fulfill({ response }));
  });
  await drop(page, folders);
  const answer = await made.promise;
  await signOut(page);
  await register(page);
  await page.getByText('Nothing here yet').waitFor();
  await answer();
  // As much takes as long as the second folder would.
  for (const name of ['one.txt', 'two.txt']) await upload(page, await browser.file(name, name));
  assert.equal(await row(page, 'second').count(), 0);
});

for (const news of ['signed-out', 'expired'] satisfies TabNews[])
  test(`an end (${news}) that is told late does not end the session that has begun since`, async () => {
    const { page } = await browser.visit(service.url);
    const other = await openTab(page, service.url);
    const username = await register(page);
    const token = await tokenOf(page);
    // As the other tab does once the service has answered, seconds after the session was forgotten.
    await other.evaluate(
      ([name, told]) => new BroadcastChannel(name!).postMessage(told),
      [TAB_CHANNEL, news],
    );
    await upload(page, await browser.file('still.txt', 'still'));
    await page.getByRole('button', { name: `Account: ${username}` }).waitFor();
    assert.equal(await tokenOf(page), token);
  });
