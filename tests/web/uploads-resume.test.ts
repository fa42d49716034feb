import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Service, send, useService, usually } from '../harness/index.ts';
import {
  download,
  drop,
  keptIn,
  openTab,
  pick,
  register,
  row,
  shoot,
  signIn,
  tokenOf,
  transfers,
  until,
  useChromium,
  volumesTaken,
} from './browser.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;

interface Seen {
  least: number;
  most: number;
  /** By how much it ever went back. */
  fell: number;
}

/** The shares that the newest transfer shows from now on, looked at with every picture. */
async function watchShare(page: Page): Promise<() => Promise<Seen>> {
  await page.evaluate(() => {
    const seen: Seen = { least: 1, most: 0, fell: 0 };
    const look = () => {
      const share = document.querySelector<HTMLProgressElement>('.transfer progress')?.value;
      if (share !== undefined) {
        seen.fell = Math.max(seen.fell, seen.most - share);
        seen.least = Math.min(seen.least, share);
        seen.most = Math.max(seen.most, share);
      }
      requestAnimationFrame(look);
    };
    look();
    Object.assign(globalThis, { seenShare: seen });
  });
  return () => page.evaluate(() => (globalThis as unknown as { seenShare: Seen }).seenShare);
}

test('a paused upload shows what the service has, and goes on from there; after a reload, too', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  const size = 33 * MIB;
  const content = randomBytes(size);
  const path = await browser.file('steps.bin', content);
  const before = volumesTaken(service);
  const sent = () => volumesTaken(service) - before;
  const share = async () => (await transfers(page))[0]!.share;
  // The last volume has 1 MiB, and may be there before others.
  const isWhole = (part: number) => [0, 1].includes(((part * size) / MIB) % 8);

  line.bytesPerSecond = 2 * MIB;
  await pick(page, path);
  const running = await watchShare(page);
  await until(async () => sent() >= 1 && !isWhole(await share()));
  const { fell, most } = await running();
  assert.equal(fell, 0);
  await page.getByRole('button', { name: 'Pause steps.bin' }).click();
  await page.getByText(/^Paused/).waitFor();
  await until(async () => isWhole(await share()));
  const paused = await share();
  assert.ok(paused > 0 && most - paused <= (8 * MIB) / size, `${most} of it had left, ${paused} stays`);

  const resumed = await watchShare(page);
  await page.getByRole('button', { name: 'Resume steps.bin' }).click();
  await page.getByText(/^Uploading · /).waitFor();
  await until(async () => sent() >= 2 && !isWhole(await share()));
  const { fell: fellSince, least: begin } = await resumed();
  assert.deepEqual([fellSince, begin], [0, paused], 'it begins where it was');

  const already = sent();
  await page.reload();
  await page.getByText(/^Interrupted/).waitFor();
  await until(async () => (await share()) > 0);
  const interrupted = await share();
  assert.ok(
    interrupted >= ((already - 1) * 8 * MIB + MIB) / size && isWhole(interrupted),
    `${interrupted}, ${already} volumes`,
  );
  const again = await watchShare(page);
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await page.locator('input[data-test=rejoin]').setInputFiles([path]);
  await row(page, 'steps.bin').waitFor();
  const { fell: fellAgain, least } = await again();
  assert.deepEqual([fellAgain, least], [0, interrupted]);
  assert.equal(sent(), 5, 'no volume was stored twice');
  assert.ok(content.equals(await download(page, 'steps.bin')), 'the same bytes');
});

test('the same file, chosen twice in one tab and once in another, is uploaded three times', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  const content = randomBytes(9 * MIB);
  const path = await browser.file('twice.bin', content);
  const other = await openTab(page, line.url);
  await other.getByRole('heading', { name: 'All files' }).waitFor();
  line.bytesPerSecond = 4 * MIB;
  await pick(page, path);
  await page.getByText(/^Uploading · /).waitFor();
  await pick(page, path);
  await pick(other, path);
  // One that is not wanted any more takes nothing of the one that runs with it.
  await pick(other, path);
  await other.getByRole('button', { name: 'Cancel twice.bin' }).first().click();
  await until(async () => (await page.getByText(/^Uploaded/).count()) === 2);
  await other.getByText(/^Uploaded/).waitFor();
  await until(async () => {
    const { journal, uploads } = await keptIn(page);
    return journal!.length + uploads!.length === 0;
  });
});

const WAYS = ['found by its handle', 'chosen again', 'one that may not be read again'] as const;

for (const way of usually(WAYS.slice(0, 1), WAYS)) {
  test(`an upload goes on after a reload: the file is ${way}`, async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const { page, context } = await browser.visit(line.url);
    if (way === 'found by its handle') {
      // Nobody is there to be asked whether a file of the disk may be read again; for one of the browser's own nobody has to be.
      await context.addInitScript(() => {
        const getAsFileSystemHandle = async function (this: DataTransferItem) {
          const file = this.getAsFile()!;
          const folder = await navigator.storage.getDirectory();
          const handle = await folder.getFileHandle(file.name, { create: true });
          await file.stream().pipeTo(await handle.createWritable());
          return handle;
        };
        Object.assign(DataTransferItem.prototype, { getAsFileSystemHandle });
      });
      await page.reload();
    }
    await register(page);
    const content = randomBytes(17 * MIB);
    const path = await browser.file('long.bin', content);
    const before = volumesTaken(service);
    const sent = () => volumesTaken(service) - before;
    line.bytesPerSecond = MIB;
    if (way === 'chosen again') await pick(page, path);
    else await drop(page, [path]);
    await until(() => sent() >= 1);
    await page.reload();
    const already = sent();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    await page.getByText(/^Interrupted/).waitFor();
    await shoot(page, `interrupted-${way === 'chosen again' ? 'file' : 'handle'}`);
    const again = page.locator('input[data-test=rejoin]');
    if (way === 'chosen again') {
      await again.setInputFiles([await browser.file('other.bin', 'x')]);
      await page.getByText('This is a different file').waitFor();
    } else {
      await page.getByRole('button', { name: 'Resume long.bin' }).click();
    }
    if (way !== 'found by its handle') await again.setInputFiles([path]);
    await page.getByText(/^Uploaded/).waitFor();
    await row(page, 'long.bin').waitFor();
    assert.ok(sent() - already < 3, `${already} of 3 volumes before the reload, ${sent()} in all`);
    assert.ok(content.equals(await download(page, 'long.bin')), 'the same bytes');
  });
}

test('another tab leaves an upload alone; signing out asks first, and says that it is lost', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  const username = await register(page);
  line.bytesPerSecond = MIB / 4;
  await pick(page, await browser.file('unfinished.bin', randomBytes(17 * MIB)));
  await page.getByText(/^Uploading · /).waitFor();
  const askToSignOut = async (tab: Page) => {
    await tab.getByRole('button', { name: /^Account: / }).click();
    await tab.getByRole('menuitem', { name: 'Sign out' }).click();
    await tab.getByRole('heading', { name: 'Sign out now?' }).waitFor();
  };
  const other = await page.context().newPage();
  await other.goto(line.url);
  await askToSignOut(other);
  await other.getByText('1 upload will be cancelled').waitFor();
  assert.equal(await other.getByText(/^Interrupted/).count(), 0, 'it goes on in its own tab');
  await other.close();

  await askToSignOut(page);
  await page.getByRole('dialog').getByText('unfinished.bin').waitFor();
  await page.getByText('unfinished uploads start from the beginning').waitFor();
  await shoot(page, 'sign-out');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByText(/^Uploading · /).waitFor();
  const token = await tokenOf(page);
  await askToSignOut(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await until(async () => (await send(service.url, { path: '/api/auth/me', token })).status === 401);
  await signIn(page, username);
  await page.getByText('Nothing here yet').waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await page.getByText(/^Interrupted/).count(), 0);
});

const NEXT = ['another account', 'the same account'] as const;

for (const next of usually(NEXT.slice(0, 1), NEXT)) {
  test(`a session that the service ends, then ${next} signs in`, async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const { page } = await browser.visit(line.url);
    const username = await register(page);
    const other = await openTab(page, line.url);
    await other.getByRole('heading', { name: 'All files' }).waitFor();
    const before = volumesTaken(service);
    const sent = () => volumesTaken(service) - before;
    const content = randomBytes(17 * MIB);
    const path = await browser.file('outlived.bin', content);
    line.bytesPerSecond = MIB;
    await pick(page, path);
    await until(() => sent() >= 1);
    const goodbye = await send(service.url, {
      method: 'POST',
      path: '/api/auth/logout',
      token: await tokenOf(page),
    });
    assert.equal(goodbye.status, 200);
    await page.evaluate(() => dispatchEvent(new Event('online')));
    for (const tab of [page, other]) await tab.getByText('You’ve been signed out').waitFor();
    const already = sent();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    const left = await keptIn(page);
    assert.deepEqual(left['session'], [{ username }], 'neither token nor key');
    assert.deepEqual(
      ['journal', 'uploads'].map((name) => (left[name]?.length ?? 0) > 0),
      [true, true],
    );

    if (next === 'another account') {
      await register(page);
      const { journal, uploads } = await keptIn(page);
      assert.deepEqual({ journal, uploads }, { journal: [], uploads: [] });
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

test('an upload goes on after the browser was offline', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page, context } = await browser.visit(line.url);
  await register(page);
  const before = volumesTaken(service);
  const sent = () => volumesTaken(service) - before;
  const content = randomBytes(17 * MIB);
  line.bytesPerSecond = MIB;
  await pick(page, await browser.file('patient.bin', content));
  await until(() => sent() >= 1);
  await context.setOffline(true);
  line.cut(); // sockets that are open outlive Chromium's own being offline
  await page.getByText('You’re offline').waitFor();
  await page.getByText(/^Waiting for the server · /).waitFor();
  const already = sent();
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  line.mend();
  await context.setOffline(false);
  await page.getByText('You’re offline').waitFor({ state: 'detached' });
  await row(page, 'patient.bin').waitFor();
  assert.ok(already < 3 && sent() === 3, `${already} of 3 volumes before, ${sent()} in all`);
  assert.ok(content.equals(await download(page, 'patient.bin')), 'the same bytes');
});

test('a service that restarts during an upload', async (t) => {
  const own = new Service({ env: { SZ_WORKERS: '1' } });
  t.after(() => own.discard());
  await own.start();
  const line = await SlowLine.start(t, () => own.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  const content = randomBytes(17 * MIB);
  line.bytesPerSecond = MIB;
  await pick(page, await browser.file('sturdy.bin', content));
  await until(() => volumesTaken(own) >= 1);
  await own.kill9();
  await page.getByText('The server isn’t responding').waitFor();
  await page.getByText(/^Waiting for the server · /).waitFor();
  await shoot(page, 'unreachable');
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await own.start();
  await row(page, 'sturdy.bin').waitFor();
  await page.getByText('The server isn’t responding').waitFor({ state: 'detached' });
  assert.ok(content.equals(await download(page, 'sturdy.bin')), 'the same bytes');
});
