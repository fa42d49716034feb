/** The page where its server is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Service } from '../harness/index.ts';
import { register, row, shoot, upload, useChromium } from './browser.ts';
import { SlowLine } from './slow-line.ts';

const browser = useChromium();
const SOON_MS = 8_000;

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
  await page.getByRole('heading', { name: 'The server cannot be reached.' }).waitFor();
  await page.getByText('Trying again…').waitFor();
  await shoot(page, 'offline-start');

  await own.start();
  const back = performance.now();
  await row(page, 'kept.txt').waitFor();
  assert.ok(performance.now() - back < SOON_MS, `${performance.now() - back} ms`);
  await page.getByText('The server is back.').waitFor();

  // While it is away nothing that somebody sees depends on what it said before: a page that was changed is the new one.
  const kept = await page.evaluate(async () => (await caches.match('/'))?.headers.get('etag'));
  const [served] = await Promise.all([page.waitForResponse(`${line.url}/`), page.reload()]);
  assert.equal(served.headers()['etag'], kept);
});
