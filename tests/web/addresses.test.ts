/** What the address of the page says, and where an address leads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService } from '../harness/index.ts';
import { keptIn, makeFolder, register, row, shoot, until, upload, useChromium } from './browser.ts';
import { address, dialog, heading, listed, said } from './tree.ts';

const service = useService();
const browser = useChromium();

test('every place and preview has an address; Back, reload and the way above lead there', async () => {
  const { page, errors } = await browser.visit(`${service.url}/docs`);
  // A database of another page of szafa, which lacks a store that this one needs and has one that it does not know.
  await page.evaluate(
    () =>
      new Promise<void>((resolve, reject) => {
        const request = indexedDB.open('szafa', 1);
        request.onerror = () => reject(request.error);
        request.onupgradeneeded = () => {
          for (const name of ['session', 'journal', 'uploads', 'pins', 'of another page']) {
            request.result.createObjectStore(name);
          }
        };
        request.onsuccess = () => {
          request.result.close();
          resolve();
        };
      }),
  );
  await page.goto(service.url);
  await register(page);
  const stores = Object.keys(await keptIn(page));
  assert.deepEqual(stores, [
    ...['contacts', 'journal', 'of another page', 'pins', 'revs', 'session', 'uploads'],
    ...['visitor-journal', 'visitor-uploads'],
  ]);
  await makeFolder(page, 'photos');
  await makeFolder(page, 'lato 2026');
  assert.equal(address(page), '#/photos/lato 2026/');
  await upload(page, await browser.file('b.txt', 'text of b'), await browser.file('a.txt', 'text of a'));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await listed(page, 'a.txt', 'b.txt');
  await shoot(page, 'tree-nested');

  // Above by the breadcrumbs, where the folder is a row; back by Back.
  await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'photos' }).click();
  await heading(page, 'photos');
  await listed(page, 'lato 2026');
  assert.equal(address(page), '#/photos/');
  await page.goBack();
  await heading(page, 'lato 2026');
  await page.goBack();
  await heading(page, 'photos');
  await page.goBack();
  await heading(page, 'All files');
  await page.goForward();
  await page.goForward();
  await heading(page, 'lato 2026');

  // A preview is one step, however many files are shown in it; the order of the list stays over a reload.
  await row(page, 'a.txt').getByRole('button', { name: 'a.txt', exact: true }).click();
  await dialog(page).getByText('text of a').waitFor();
  assert.equal(address(page), '#/photos/lato 2026/a.txt');
  await page.getByRole('button', { name: 'Next file' }).click();
  await dialog(page).getByText('text of b').waitFor();
  assert.equal(address(page), '#/photos/lato 2026/b.txt');
  await page.reload();
  await dialog(page).getByText('text of b').waitFor();
  await listed(page, 'a.txt', 'b.txt');
  await page.goBack();
  await dialog(page).waitFor({ state: 'detached' });
  await heading(page, 'lato 2026');
  assert.equal(address(page), '#/photos/lato 2026/');
  await row(page, 'a.txt').getByRole('button', { name: 'a.txt', exact: true }).click();
  await dialog(page).getByText('text of a').waitFor();
  // Closed, and another opened before the browser has gone back: that one stays.
  await page.evaluate(async () => {
    const gone = new Promise((resolve) => addEventListener('popstate', resolve, { once: true }));
    document.querySelector<HTMLElement>('dialog button[aria-label=Close]')!.click();
    const buttons = [...document.querySelectorAll<HTMLElement>('[role=row] button')];
    buttons.find(({ textContent }) => textContent === 'b.txt')!.click();
    await gone;
  });
  await dialog(page).getByText('text of b').waitFor();
  assert.equal(address(page), '#/photos/lato 2026/b.txt');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await until(() => address(page) === '#/photos/lato 2026/');
  await page.goBack();
  await heading(page, 'photos');
  await page.reload();
  await heading(page, 'photos');

  // An address that leads nowhere ends at what is nearest to it.
  await page.evaluate(() => {
    location.hash = '#/photos/lato 2026/gone.txt';
  });
  await said(page, 'This file no longer exists.');
  await heading(page, 'lato 2026');
  await page.evaluate(() => {
    location.hash = '#/photos/never/was/';
  });
  await heading(page, 'photos');
  assert.equal(address(page), '#/photos/');

  // After a sign-out nothing of it is left in the address.
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  assert.equal(address(page), '');
  assert.deepEqual(errors, []);
});
