import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '@szafa/protocol';
import { useService } from '../harness/index.ts';
import { register, shoot, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();

/** A request that gets no answer until its route is taken away. */
const unanswered = () => {};

test('loading and failing lists', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  await page.getByText('Nothing here yet').waitFor();
  await context.route('**/api/quota', unanswered);
  await page.reload();
  await page.getByText('Opening your files…').waitFor();
  await shoot(page, 'loading');
  await context.unroute('**/api/quota');
  await context.route('**/api/quota', (route) => route.fulfill({ status: 500, json: { error: 'no' } }));
  await page.reload();
  await page.getByText('The list could not be loaded').waitFor();
  await page.getByText('The server had an error. Try again.').waitFor();
  await shoot(page, 'list-failed');
  await context.unroute('**/api/quota');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Nothing here yet').waitFor();
});

test('a start that fails says why and offers to try again; one without an answer goes on by itself', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  const within = () => page.getByRole('heading', { name: 'All files' }).waitFor();
  const tryAgain = () => page.getByRole('button', { name: 'Try again' }).click();

  await context.route('**/api/auth/me', unanswered);
  await page.reload();
  await page.getByText('Opening szafa…').waitFor();
  await shoot(page, 'starting');
  await context.unroute('**/api/auth/me');
  await within();

  await context.route('**/api/auth/me', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>Welcome to our hotel</h1>' }),
  );
  await page.reload();
  await page.getByRole('heading', { name: 'This address isn’t answering as szafa.' }).waitFor();
  await shoot(page, 'start-failed');
  await context.unroute('**/api/auth/me');
  await tryAgain();
  await within();

  const AWAY = /\/(api\/|readyz)/;
  await context.route(AWAY, (route) => route.abort());
  await page.reload();
  await page.getByRole('heading', { name: 'The server cannot be reached.' }).waitFor();
  await page.getByText('Trying again…').waitFor();
  await shoot(page, 'start-unreachable');
  // Looked for from now on: it is told for some seconds only.
  const told = page.getByText('The server is back.').waitFor();
  await context.unroute(AWAY);
  await within();
  await told;

  // The script of the page's worker, as when the service got another version in between.
  await page.evaluate(() => caches.delete('szafa-shell'));
  await context.route('**/assets/main-*', (route) => route.fulfill({ status: 404, json: { error: 'no' } }));
  await page.reload();
  await page.getByRole('heading', { name: 'A part of this page could not be loaded.' }).waitFor();
  await shoot(page, 'start-part-missing');
  await context.unroute('**/assets/main-*');
  await tryAgain();
  await within();
});

test('a browser that is too old is told so, and what to do', async () => {
  const { page, context } = await browser.visit('about:blank');
  await context.addInitScript(() => Reflect.deleteProperty(Array, 'fromAsync'));
  await page.goto(service.url);
  await page.getByRole('heading', { name: 'This browser is too old' }).waitFor();
  await page.getByText('Update this browser, or open this address in another one.').waitFor();
  await page.getByText('It lacks: Array.fromAsync.').waitFor();
  assert.equal(await page.getByLabel('Password').count(), 0, 'no password is asked for');
  await shoot(page, 'too-old');
});

test('the description of the interface is readable on a phone and in the dark, every reference resolved', async () => {
  const viewport = { width: 360, height: 740 };
  const { page, errors } = await browser.visit(`${service.url}/docs`, { viewport, colorScheme: 'dark' });
  const seen = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    back: getComputedStyle(document.body).backgroundColor,
    text: document.body.innerText,
    links: [...document.querySelectorAll('nav a')].map((link) => (link as HTMLAnchorElement).hash.slice(1)),
    missing: [...document.querySelectorAll('nav a')]
      .map((link) => (link as HTMLAnchorElement).hash)
      .filter((hash) => document.querySelector(hash) === null),
  }));
  assert.equal(seen.width, viewport.width, 'nothing to scroll sideways');
  assert.deepEqual(
    seen.back
      .match(/\d+/g)!
      .map(Number)
      .filter((part) => part > 64),
    [],
    `dark: ${seen.back}`,
  );
  assert.doesNotMatch(seen.text, /\$ref|#\/components|undefined|\[object/);
  assert.deepEqual(seen.links.toSorted(), Object.keys(routes).toSorted());
  assert.deepEqual(seen.missing, []);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#register$/);
  await shoot(page, 'docs');
  assert.deepEqual(errors, [], 'the policy lets its style through');
});
