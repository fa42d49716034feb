/** One account after the other in the same browser: nothing that was begun for the one comes to the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from 'playwright-core';
import { TAB_CHANNEL } from '../../web/src/bridge.ts';
import { useService } from '../harness/index.ts';
import { PASSWORD, register, signOut, tokenOf, useChromium } from './browser.ts';

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
    await other.getByLabel('Username').waitFor();
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

test('a deletion that is answered late takes nothing from the account that has signed in since', async () => {
  const { page, context } = await browser.visit(service.url);
  const username = await register(page);
  const other = await context.newPage();
  await page.bringToFront();
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account and devices' }).click();
  await page.getByRole('button', { name: 'Delete the account', exact: true }).click();
  const remove = page.getByLabel('Delete the account');
  await remove.getByLabel(/^Type the name/).fill(username);
  await remove.getByLabel('Your password').fill(PASSWORD);
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/auth/me', (route) => held.resolve(route), { times: 1 });
  await remove.getByRole('button', { name: 'Delete the account' }).click();
  const late = await held.promise;
  const response = await late.fetch();
  await other.bringToFront();
  await other.goto(service.url);
  const next = await register(other);
  const token = await tokenOf(other);
  await late.fulfill({ response });
  await page.bringToFront();
  // The tab of the deletion has nobody any more, or the one that has signed in since.
  const out = page.getByText(`The account ${username} is deleted`);
  await out.or(page.getByRole('button', { name: `Account: ${next}` })).waitFor();
  assert.equal(await tokenOf(other), token);
  await other.reload();
  await other.getByRole('button', { name: `Account: ${next}` }).waitFor();
});
