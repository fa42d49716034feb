import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { sha256, useService } from '../harness/index.ts';
import {
  choose,
  download,
  letPick,
  picked,
  register,
  shoot,
  transfers,
  until,
  upload,
  useChromium,
} from './browser.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;

test('a download tells how far it is, and is the browser’s own', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page, errors } = await browser.visit(line.url);
  await register(page);
  const content = randomBytes(17 * MIB);
  await upload(page, await browser.file('coming.bin', content));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  line.bytesPerSecond = MIB / 2;
  const saved = download(page, 'coming.bin');
  const receiving = async () => {
    const [one] = await transfers(page);
    return one && /^Downloading · .* \/ 17 MB · .*[KM]B\/s · .* left$/.test(one.status) ? one.share : 0;
  };
  await until(async () => (await receiving()) > 0);
  const early = await receiving();
  await until(async () => (await receiving()) > early);
  assert.ok((await receiving()) < 1);
  await shoot(page, 'downloading');
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  assert.ok(content.equals(await saved), 'the same bytes');
  await page.getByText('Downloaded · 17 MB').waitFor();
  assert.deepEqual(errors, []);
});

test('a download into a file that the person names; one that failed is tried again', async () => {
  const visit = await browser.visit(service.url);
  const { page, context } = visit;
  await letPick(visit);
  await register(page);
  const content = randomBytes(17 * MIB);
  await upload(page, await browser.file('saved.bin', content));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await context.route('**/api/files/*/chunk/3', async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[100]! ^= 1;
    await route.fulfill({ response, body });
  });
  await choose(page, 'saved.bin', 'Download');
  const again = page.getByRole('button', { name: 'Retry saved.bin' });
  await again.waitFor();
  assert.deepEqual(await picked(page), { 'saved.bin': sha256(Buffer.alloc(0)) }, 'nothing half-verified');
  await context.unroute('**/api/files/*/chunk/3');
  await again.click();
  await page.getByText(/^Downloaded/).waitFor();
  assert.deepEqual(await picked(page), { 'saved.bin': sha256(content) });
});

for (const how of ['ignores', 'shows', 'breaks off'] as const) {
  test(`a download that the browser ${how} ends with an error`, async () => {
    const { page, context } = await browser.visit(service.url, { acceptDownloads: how !== 'breaks off' });
    await register(page);
    await upload(page, await browser.file('refused.bin', randomBytes(9 * MIB)));
    await page.getByRole('button', { name: 'Clear finished' }).click();
    let pings = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/local/ping')) pings++;
    });
    await page.clock.install();
    if (how !== 'breaks off') {
      // Then the service is asked, which has no such address.
      await page.evaluate(async () => (await navigator.serviceWorker.ready).unregister());
    }
    if (how === 'ignores') await context.route('**/local/*', (route) => route.fulfill({ status: 204 }));
    await choose(page, 'refused.bin', 'Download');
    if (how === 'ignores') {
      await page.getByText(/^Waiting/).waitFor();
      await page.clock.runFor(31_000);
      await until(() => pings === 3);
    }
    await page.getByText('The browser refused or cancelled this download.').waitFor();
    await page.getByRole('button', { name: 'Retry refused.bin' }).waitFor();
    pings = 0;
    await page.clock.runFor(25_000);
    assert.equal(pings, 0, 'nothing keeps the service worker awake');
  });
}
