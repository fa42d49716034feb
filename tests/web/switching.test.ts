/** One account after the other in the same browser: nothing that was begun for the one comes to the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { register, signOut, tokenOf, useChromium } from './browser.ts';

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

test('a tab that hears late of a sign-out takes nothing from the account that has signed in since', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  const other = await context.newPage();
  // As one that the browser has put to sleep: what other tabs say waits.
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
    Object.assign(globalThis, { wakeUp });
  });
  await other.goto(service.url);
  await other.getByRole('heading', { name: 'All files' }).waitFor();
  await page.bringToFront();
  await signOut(page);
  const next = await register(page);
  const token = await tokenOf(page);
  await other.evaluate('wakeUp()');
  await other.getByLabel('Username').waitFor();
  assert.equal(await tokenOf(page), token);
  await page.reload();
  await page.getByRole('button', { name: `Account: ${next}` }).waitFor();
});
