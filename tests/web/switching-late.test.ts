/** What one account has begun, and what comes of it only when the next one is in the same tab: it is not the next one's. */
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Api } from '@szafa/client';
import type { Page, Route } from 'playwright-core';
import type { Calls, UnfinishedUpload } from '../../web/src/core/bridge/calls.ts';
import { useService } from '../harness/index.ts';
import {
  choose,
  confirmKey,
  counts,
  drop,
  keptIn,
  keyShown,
  openTab,
  PASSWORD,
  pick,
  register,
  registerWithKey,
  signOut,
  switchByOtherTab,
  tokenOf,
  typeKey,
  until,
  upload,
  useChromium,
} from './browser.ts';

const service = useService();
const browser = useChromium();

/** What a page waits with, until `late.go()`; `late.came` when it has come to that, `late.done` when it is over. */
interface Late {
  came?: true;
  done?: true;
  go(): void;
}
const came = (page: Page) => page.waitForFunction(() => (globalThis as { late?: Late }).late?.came);
const go = (page: Page) => page.evaluate(() => (globalThis as unknown as { late: Late }).late.go());
const done = (page: Page) => page.waitForFunction(() => (globalThis as { late?: Late }).late?.done);

/** The first call of this name comes to the page's worker late, or its answer to the page, as on a busy machine. */
async function visitWithLate(name: keyof Calls, what: 'call' | 'answer' = 'call'): Promise<Page> {
  const { page } = await browser.visit('about:blank');
  const init = { held: name, isAnswer: what === 'answer' };
  await page.addInitScript(({ held, isAnswer }) => {
    const late: Late = { go() {} };
    let number = 0;
    Object.assign(globalThis, { late });
    const Real = globalThis.Worker;
    globalThis.Worker = class extends Real {
      override set onmessage(hear: (event: MessageEvent) => void) {
        super.onmessage = (event) => {
          const answer = () => {
            hear(event);
            if (event.data.call === number) late.done = true;
          };
          if (!isAnswer || event.data.call !== number) return answer();
          late.came = true;
          late.go = answer;
        };
      }
      override postMessage(message: { name: string; call: number }, options?: object): void {
        const send = () => super.postMessage(message, options as Transferable[]);
        const isFirst = number === 0 && message.name === held;
        if (isFirst) number = message.call;
        if (!isFirst || isAnswer) return void send();
        late.came = true;
        late.go = send;
      }
    };
  }, init);
  await page.goto(service.url);
  return page;
}

/** What the browser itself does late the first time. */
type Slow = 'getFile' | 'query' | 'register' | 'showSaveFilePicker';

async function visitWithSlow(slow: Slow): Promise<Page> {
  const { page } = await browser.visit('about:blank');
  await page.addInitScript((name) => {
    const late: Late = { go() {} };
    Object.assign(globalThis, { late });
    const owners = {
      getFile: FileSystemFileHandle.prototype,
      query: LockManager.prototype,
      register: ServiceWorkerContainer.prototype,
      showSaveFilePicker: globalThis,
    };
    const owner = owners[name] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const pick = async () =>
      (await navigator.storage.getDirectory()).getFileHandle('picked', { create: true });
    const real = owner[name] ?? pick;
    owner[name] = async function (this: unknown, ...args) {
      if (!late.came && sessionStorage.getItem('slow')) {
        late.came = true;
        await new Promise<void>((resolve) => {
          late.go = resolve;
        });
      }
      return real.apply(this, args);
    };
  }, slow);
  await page.goto(service.url);
  return page;
}
/** From now on, also after a reload. */
const beSlow = (page: Page) => page.evaluate(() => sessionStorage.setItem('slow', 'yes'));

/** Nothing of the kind has come to the next account, neither among its files nor among its transfers. */
async function comesNotTo(page: Page, name: string): Promise<void> {
  // What would have come was begun before these.
  for (const next of ['next.txt', 'last.txt']) await upload(page, await browser.file(next, next));
  assert.equal(await page.getByText(name).count(), 0);
}

for (const [name, what] of [
  ['storeUploads', 'call'],
  ['storeUploads', 'answer'],
  ['upload', 'call'],
] as const)
  test(`a file that is chosen while its account leaves is not the next one's: a late ${what} of ${name}`, async () => {
    const page = await visitWithLate(name, what);
    await register(page);
    await page.getByText('Nothing here yet').waitFor();
    await pick(page, await browser.file('mine.txt', 'mine'));
    await came(page);
    await switchByOtherTab(page, name === 'upload' || what === 'answer');
    await go(page);
    await done(page);
    await comesNotTo(page, 'mine.txt');
    assert.deepEqual((await keptIn(page))['uploads'], [], 'its name is not kept');
  });

test('a folder that is dropped, and read when its account has left, is not uploaded by the next one', async () => {
  const page = await visitWithSlow('getFile');
  await register(page);
  const folder = join(browser.folder, 'dropped');
  await mkdir(folder);
  await browser.file('dropped/mine.txt', 'mine');
  await beSlow(page);
  await drop(page, [folder]);
  await came(page);
  await switchByOtherTab(page);
  await go(page);
  await comesNotTo(page, 'dropped');
});

test('an empty folder that is dropped while its account leaves is not made for the next one', async () => {
  const page = await visitWithLate('storeUploads');
  await register(page);
  const folder = join(browser.folder, 'hollow');
  await mkdir(folder);
  await drop(page, [folder]);
  await came(page);
  await switchByOtherTab(page);
  await go(page);
  await done(page);
  await comesNotTo(page, 'hollow');
});

test('how far one account is with something is not told to the next one', async () => {
  const page = await visitWithLate('trash');
  await register(page);
  await upload(page, await browser.file('mine.txt', 'mine'));
  await choose(page, 'mine.txt', 'Delete');
  await page.getByText(/^Deleting: /).waitFor();
  await switchByOtherTab(page);
  assert.equal(await page.getByText(/^Deleting: /).count(), 0);
});

test('an interrupted upload that is found when its account has left is not among those of the next one', async () => {
  const page = await visitWithSlow('query');
  const username = await register(page);
  const note: UnfinishedUpload = {
    id: crypto.randomUUID(),
    username,
    path: 'mine.bin',
    fileName: 'mine.bin',
    size: 1,
    lastModified: 1,
  };
  await page.evaluate(async (one) => {
    const finished = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => {
        request.onsuccess = () => resolve(request.result);
      });
    const database = await finished(indexedDB.open('szafa'));
    await finished(database.transaction('uploads', 'readwrite').objectStore('uploads').put(one, one.id));
    database.close();
  }, note);
  await page.reload();
  await page.getByText(/^Interrupted/).waitFor();
  await beSlow(page);
  await page.reload();
  await came(page);
  await page.getByRole('heading', { name: 'All files' }).waitFor();
  await switchByOtherTab(page, true);
  await go(page);
  await comesNotTo(page, 'mine.bin');
});

for (const [what, slow] of [
  ['the place for it', 'showSaveFilePicker'],
  ['the service worker', 'register'],
] as const)
  test(`a download is not among those of the next account: ${what} is there late`, async () => {
    const page = await visitWithSlow(slow);
    await register(page);
    await upload(page, await browser.file('mine.txt', 'mine'));
    await beSlow(page);
    // The service worker is asked for when the page comes.
    await page.reload();
    await choose(page, 'mine.txt', 'Download');
    await came(page);
    await switchByOtherTab(page);
    await go(page);
    await comesNotTo(page, 'mine.txt');
  });

async function askForKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByRole('button', { name: 'Create a new recovery key' }).click();
}

test('a recovery key that is made while its account leaves is not shown to the next one', async () => {
  const page = await visitWithLate('newRecoveryKey', 'answer');
  await register(page);
  await askForKey(page);
  await came(page);
  await switchByOtherTab(page);
  await go(page);
  await comesNotTo(page, 'Your recovery key');
});

for (const end of ['a sign-out', 'an expiry'])
  test(`a recovery key that nobody has confirmed goes with its account, by ${end} too: the one before counts`, async () => {
    const { page } = await browser.visit(service.url);
    const { username, key } = await registerWithKey(page);
    await confirmKey(page, key);
    await askForKey(page);
    const next = await keyShown(page);
    await typeKey(page, next);
    if (end === 'a sign-out') await switchByOtherTab(page);
    else {
      await new Api({ server: service.url, token: await tokenOf(page) }).call('logout');
      await page.evaluate(() => dispatchEvent(new Event('online')));
      await register(page);
    }
    assert.equal(await counts(service.url, username, key), true);
    assert.equal(await counts(service.url, username, next), false);
  });

test('a recovery key that is confirmed when its account has left hides none of the next one', async () => {
  const page = await visitWithLate('setRecoveryKey', 'answer');
  await register(page);
  await askForKey(page);
  await typeKey(page, await keyShown(page));
  await page.getByLabel('Your password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await came(page);
  const other = await openTab(page, service.url);
  await other.bringToFront();
  await signOut(other);
  await page.bringToFront();
  const { key } = await registerWithKey(page);
  await go(page);
  await done(page);
  assert.equal(await keyShown(page), key);
});

test('a sign-in that is answered when another tab has signed somebody else in shows nothing of theirs', async () => {
  const { page, context } = await browser.visit(service.url);
  const other = await context.newPage();
  await other.goto(service.url);
  const held = Promise.withResolvers<Route>();
  await context.route('**/api/auth/register', (route) => held.resolve(route), { times: 1 });
  const entering = register(page);
  const late = await held.promise;
  await other.bringToFront();
  await register(other);
  await page.bringToFront();
  // It has heard of that, and is in.
  const next = await entering;
  await upload(page, await browser.file('theirs.txt', 'theirs'));
  const sent = Promise.withResolvers<Route>();
  await context.route('**/api/transfer/init', (route) => sent.resolve(route));
  // Of more than one volume: it begins with a request.
  await pick(page, await browser.file('running.bin', new Uint8Array(9 * 1024 * 1024)));
  await sent.promise;
  await late.continue();
  await page.getByRole('button', { name: `Account: ${next}` }).waitFor();
  await page.getByText('Nothing here yet').waitFor();
  // What runs has a lock.
  const locks = () => page.evaluate(async () => (await navigator.locks.query()).held!.length);
  await until(async () => (await locks()) === 0);
  for (const name of ['theirs.txt', 'running.bin']) assert.equal(await page.getByText(name).count(), 0);
  await comesNotTo(page, 'running.bin');
});
