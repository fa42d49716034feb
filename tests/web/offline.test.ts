/** The page where its server is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Service, useService } from '../harness/index.ts';
import { register, row, shoot, until, upload, useChromium } from './browser.ts';
import { expectWithin, unused } from './quiet.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const SOON_MS = 4_000;

test('the page opens without its server, says so, and goes on by itself when it is back', async (t) => {
  const own = new Service({ env: { SZ_WORKERS: '1' } });
  t.after(() => own.discard());
  await own.start();
  const line = await SlowLine.start(t, () => own.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  await upload(page, await browser.file('kept.txt', 'kept'));
  // What the page is made of is kept once the service worker has heard of it.
  await page.waitForFunction(async () => {
    const kept = await (await caches.open('szafa-shell')).keys();
    return kept.filter(({ url }) => /\/$|\/assets\/(page|main)-/.test(url)).length >= 4;
  });

  await own.kill9();
  await page.reload();
  await page.getByRole('heading', { name: 'Can’t reach the server.' }).waitFor();
  await page.getByText('Trying again…').waitFor();
  await shoot(page, 'offline-start');

  // Looked for from now on: it is told for some seconds only.
  const told = page.getByText('Back online.').waitFor();
  const before = await unused();
  await own.start();
  const back = performance.now();
  await row(page, 'kept.txt').waitFor();
  await expectWithin(t, 'back', performance.now() - back, { goal: SOON_MS, before });
  await told;

  // While it is away nothing that somebody sees depends on what it said before: a page that was changed is the new one.
  const kept = await page.evaluate(async () => (await caches.match('/'))?.headers.get('etag'));
  const [served] = await Promise.all([page.waitForResponse(`${line.url}/`), page.reload()]);
  assert.equal(served.headers()['etag'], kept);
});

test('a part of the page that cannot be loaded says so, and is there once it can be', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  const missing = page.getByRole('heading', { name: 'Part of this page couldn’t be loaded.' });
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const openAccount = async () => {
    await page.getByRole('button', { name: /^Account: / }).click();
    await page.getByRole('menuitem', { name: 'Account' }).click();
  };
  await register(page);

  // A server that was updated has no such part: only a reload brings what it has instead.
  line.refused = 'GET /assets/received-list';
  await page.goto(`${line.url}/#received`);
  await missing.waitFor();
  await shoot(page, 'part-missing');
  line.refused = undefined;
  await press('Try again');
  await page.getByRole('heading', { name: 'Nothing shared with you yet' }).waitFor();

  line.cut();
  await openAccount();
  await missing.waitFor();
  await shoot(page, 'part-missing-dialog');
  await page.evaluate(() => {
    document.body.dataset['same'] = 'yes';
  });
  // Nothing that is shown is given up for a server that is away.
  await press('Try again');
  await missing.waitFor();
  const asked = page.waitForRequest('**/readyz');
  await press('Try again');
  await asked;
  await missing.waitFor();
  assert.equal(await page.evaluate(() => document.body.dataset['same']), 'yes');
  await press('Close');
  await missing.waitFor({ state: 'detached' });
  line.mend();
  await openAccount();
  await press('Try again');
  const account = page.getByRole('heading', { name: 'Sessions' });
  // At once, or after a reload where the browser remembers that it failed.
  const reloaded = () => page.evaluate(() => document.body?.dataset['same'] !== 'yes').catch(() => false);
  await until(async () => (await account.isVisible()) || (await reloaded()));
  if (!(await account.isVisible())) await openAccount();
  await account.waitFor();
});
