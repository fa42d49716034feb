import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Service, send, useService } from '../harness/index.ts';
import {
  choose,
  download,
  drop,
  register,
  row,
  shoot,
  signIn,
  spooled,
  upload,
  useChromium,
} from './browser.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;

/** How many volumes the service has taken. */
const volumesTaken = ({ log }: Service) =>
  log.match(/"route":"[^"]*\/chunk\/[^"]*","status":200/g)?.length ?? 0;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 50) {
    assert.ok(waited < 60_000, 'it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('several uploads with progress; pause, go on, cancel', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page, errors } = await browser.visit(line.url);
  await register(page);
  const content = randomBytes(17 * MIB);
  const first = await browser.file('first.bin', content);
  const second = await browser.file('second.bin', randomBytes(9 * MIB));
  line.bytesPerSecond = MIB;
  await page.locator('input[data-test=files]').setInputFiles([first, second]);
  await page
    .getByText(/Sending · .*MB\/s · .* left/)
    .first()
    .waitFor();
  await shoot(page, 'uploading');
  await page.getByRole('button', { name: 'Pause first.bin' }).click();
  await page.getByText(/^Paused/).waitFor();
  await shoot(page, 'paused');
  await page.getByRole('button', { name: 'Cancel second.bin' }).click();
  await page.getByText('second.bin').waitFor({ state: 'detached' });
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await page.getByRole('button', { name: 'Go on with first.bin' }).click();
  await row(page, 'first.bin').waitFor();
  assert.equal(await row(page, 'second.bin').count(), 0, 'cancelled');
  assert.ok(content.equals(await download(page, 'first.bin')), 'the same bytes');
  assert.deepEqual(errors, []);
});

for (const way of ['chosen again', 'known by its handle'] as const) {
  test(`an upload goes on after a reload: the file is ${way}`, async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const { page } = await browser.visit(line.url);
    await register(page);
    const content = randomBytes(17 * MIB);
    const path = await browser.file('long.bin', content);
    const before = volumesTaken(service);
    const sent = () => volumesTaken(service) - before;
    line.bytesPerSecond = MIB;
    if (way === 'chosen again') await page.locator('input[data-test=files]').setInputFiles([path]);
    else await drop(page, [path]);
    await until(() => sent() >= 1);
    assert.equal((await spooled(page)).length, 1, 'volumes wait in a file');
    await page.reload();
    const already = sent();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    await page.getByText(/^Interrupted/).waitFor();
    assert.deepEqual(await spooled(page), [], 'which a reload leaves, and the next visit removes');
    await shoot(page, `interrupted-${way === 'chosen again' ? 'file' : 'handle'}`);
    if (way === 'chosen again') {
      await page.locator('input[data-test=rejoin]').setInputFiles([await browser.file('other.bin', 'x')]);
      await page.getByText('That is another file').waitFor();
    } else {
      // A headless browser asks nobody for permission to read the file again, so it is chosen by hand after all.
      await page.getByRole('button', { name: 'Go on with long.bin' }).click();
    }
    await page.locator('input[data-test=rejoin]').setInputFiles([path]);
    await page.getByText(/^Uploaded/).waitFor();
    await row(page, 'long.bin').waitFor();
    assert.ok(sent() - already < 3, `${already} of 3 volumes before the reload, ${sent()} in all`);
    assert.ok(content.equals(await download(page, 'long.bin')), 'the same bytes');
  });
}

test('signing out asks first while something is unfinished, and says that it is lost', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  const username = await register(page);
  line.bytesPerSecond = MIB;
  const path = await browser.file('unfinished.bin', randomBytes(17 * MIB));
  await page.locator('input[data-test=files]').setInputFiles([path]);
  await page.getByText(/^Sending · /).waitFor();
  const askToLeave = async (tab: Page) => {
    await tab.getByRole('button', { name: /^Account: / }).click();
    await tab.getByRole('menuitem', { name: 'Sign out' }).click();
    await tab.getByRole('heading', { name: 'Sign out now?' }).waitFor();
  };
  // Another tab would break it off as well.
  const other = await page.context().newPage();
  await other.goto(line.url);
  await askToLeave(other);
  await other.getByText('1 upload will be broken off').waitFor();
  await other.close();

  await askToLeave(page);
  await page.getByRole('dialog').getByText('unfinished.bin').waitFor();
  await page.getByText('an unfinished upload begins from its start').waitFor();
  await shoot(page, 'sign-out');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByText(/^Sending · /).waitFor();
  await askToLeave(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await signIn(page, username);
  await page.getByText('Nothing here yet').waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await page.getByText(/^Interrupted/).count(), 0);
});

/** What the browser keeps, by store. */
function keptIn(page: Page): Promise<Record<string, unknown[]>> {
  return page.evaluate(async () => {
    const finished = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => {
        request.onsuccess = () => resolve(request.result);
      });
    const database = await finished(indexedDB.open('szafa'));
    const found: Record<string, unknown[]> = {};
    for (const name of database.objectStoreNames) {
      found[name] = await finished(database.transaction(name).objectStore(name).getAll());
    }
    database.close();
    return found;
  });
}

for (const next of ['the same account', 'another account'] as const) {
  test(`a session that the service ends, then ${next} signs in`, async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const { page } = await browser.visit(line.url);
    const username = await register(page);
    const other = await page.context().newPage();
    await other.goto(line.url);
    await other.getByRole('heading', { name: 'All files' }).waitFor();
    const before = volumesTaken(service);
    const sent = () => volumesTaken(service) - before;
    const content = randomBytes(17 * MIB);
    const path = await browser.file('outlived.bin', content);
    line.bytesPerSecond = MIB;
    await page.locator('input[data-test=files]').setInputFiles([path]);
    await until(() => sent() >= 1);
    const [session] = (await keptIn(page))['session'] as { token: string }[];
    const goodbye = await send(service.url, {
      method: 'POST',
      path: '/api/auth/logout',
      token: session!.token,
    });
    assert.equal(goodbye.status, 200);
    await page.evaluate(() => dispatchEvent(new Event('online')));
    for (const tab of [page, other]) await tab.getByText('the session has ended').waitFor();
    await until(async () => (await spooled(page)).length === 0);
    const already = sent();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    const left = await keptIn(page);
    assert.deepEqual(left['session'], [{ username }], 'neither token nor key');
    assert.deepEqual(
      ['rings', 'journal', 'uploads'].map((name) => left[name]?.length),
      [1, 1, 1],
    );

    if (next === 'another account') {
      await register(page);
      const { rings, journal, uploads } = await keptIn(page);
      assert.deepEqual({ rings, journal, uploads }, { rings: [], journal: [], uploads: [] });
      return;
    }
    await signIn(page, username);
    await page.getByText(/^Interrupted/).waitFor();
    await page.locator('input[data-test=rejoin]').setInputFiles([path]);
    await row(page, 'outlived.bin').waitFor();
    assert.ok(sent() - already < 3, `${already} of 3 volumes before, ${sent()} in all`);
    assert.ok(content.equals(await download(page, 'outlived.bin')), 'the same bytes');
    await row(other, 'outlived.bin').waitFor();
  });
}

test('of many small files none is remembered as unfinished', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  await page.locator('input[data-test=files]').evaluate((input) => {
    const data = new DataTransfer();
    for (let i = 0; i < 150; i++) data.items.add(new File([`${i}`], `small-${i}.txt`));
    (input as HTMLInputElement).files = data.files;
    input.dispatchEvent(new Event('change'));
  });
  await page.getByText('150 files', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('150 files', { exact: true }).waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await page.getByText(/^Interrupted/).count(), 0);
});

test('where sockets are not let through, volumes travel as requests', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  line.refused = 'Upgrade: websocket';
  const { page } = await browser.visit(line.url);
  const requests: string[] = [];
  page.context().on('requestfinished', (request) => {
    if (request.method() === 'PUT') requests.push(request.url());
  });
  await register(page);
  const content = randomBytes(17 * MIB);
  line.bytesPerSecond = 8 * MIB;
  await page
    .locator('input[data-test=files]')
    .setInputFiles([await browser.file('by-requests.bin', content)]);
  await page.getByText(/Sending · .*MB\/s · .* left/).waitFor();
  await row(page, 'by-requests.bin').waitFor();
  assert.equal(requests.length, 3);
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  assert.ok(content.equals(await download(page, 'by-requests.bin')), 'the same bytes');
});

test('a service that restarts during an upload', async (t) => {
  const own = new Service({ env: { SZ_WORKERS: '1' } });
  t.after(() => own.discard());
  await own.start();
  const line = await SlowLine.start(t, () => own.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  const content = randomBytes(17 * MIB);
  const path = await browser.file('sturdy.bin', content);
  line.bytesPerSecond = MIB;
  await page.locator('input[data-test=files]').setInputFiles([path]);
  await until(() => volumesTaken(own) >= 1);
  await own.kill9();
  await page.getByText('The service does not answer').waitFor();
  await page.getByText(/^Waiting for the service · /).waitFor();
  await shoot(page, 'unreachable');
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await own.start();
  await row(page, 'sturdy.bin').waitFor();
  await page.getByText('The service does not answer').waitFor({ state: 'detached' });
  assert.ok(content.equals(await download(page, 'sturdy.bin')), 'the same bytes');
});

test('a download is written to a file that the person names, where the browser can', async () => {
  const { page, context } = await browser.visit(service.url);
  // The dialog needs a person; everything behind it is the real thing.
  await context.addInitScript(() => {
    const pick = async ({ suggestedName }: { suggestedName: string }) => {
      const folder = await navigator.storage.getDirectory();
      return folder.getFileHandle(suggestedName, { create: true });
    };
    Object.assign(window, { showSaveFilePicker: pick });
  });
  await page.reload();
  await register(page);
  const content = randomBytes(9 * MIB);
  await upload(page, await browser.file('saved.bin', content));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await choose(page, 'saved.bin', 'Download');
  await page.getByText(/^Downloaded/).waitFor();
  const digest = await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory();
    const file = await (await folder.getFileHandle('saved.bin')).getFile();
    return [...new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()))];
  });
  assert.deepEqual(digest, [...createHash('sha256').update(content).digest()]);
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
    await page.getByText('The browser refused this download or broke it off.').waitFor();
    await page.getByRole('button', { name: 'Try refused.bin again' }).waitFor();
    pings = 0;
    await page.clock.runFor(25_000);
    assert.equal(pings, 0, 'nothing keeps the service worker awake');
  });
}

test('an upload whose sealer cannot be loaded says so, and works once it can', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  line.refused = 'GET /assets/';
  const path = await browser.file('unsealed.bin', randomBytes(9 * MIB));
  await page.locator('input[data-test=files]').setInputFiles([path]);
  await page.getByText('A part of this page could not be loaded. Reload the page.').waitFor();
  line.refused = undefined;
  await page.getByRole('button', { name: 'Try unsealed.bin again' }).click();
  await row(page, 'unsealed.bin').waitFor();
});

test('a failed upload says why and can be tried again', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  await page
    .context()
    .route('**/api/transfer/**', (route) => route.fulfill({ status: 507, json: { error: 'full' } }));
  await page
    .locator('input[data-test=files]')
    .setInputFiles([await browser.file('fat.bin', randomBytes(9 * MIB))]);
  await page.getByText('There is no space left').waitFor();
  await shoot(page, 'failed');
  await page.context().unroute('**/api/transfer/**');
  await page.getByRole('button', { name: 'Try fat.bin again' }).click();
  await row(page, 'fat.bin').waitFor();
});
