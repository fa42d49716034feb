/** The page by the keyboard alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileChooser, Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { choose, makeFolder, open, openTab, register, row, signIn, upload, useChromium } from './browser.ts';
import { folder, listed, shown } from './tree.ts';

const service = useService();
const browser = useChromium();

/** Where the keyboard is: the name of the element, or the number of the row. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const at = document.activeElement!;
    const row = at.getAttribute('data-index');
    return row ? `row ${row}` : (at.getAttribute('aria-label') ?? at.textContent.trim());
  });
}

/** Waits until the keyboard is there: a closing dialog gives it back a moment later. */
async function focusIs(page: Page, what: string): Promise<void> {
  for (let waited = 0; (await focused(page)) !== what; waited += 50) {
    assert.ok(waited < 20_000, `the keyboard is at “${await focused(page)}”, not at “${what}”`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('by the keyboard alone; the focus comes back to where it was', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  const names = ['a.txt', 'b.txt', 'c.txt'];
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, `text of ${name}`)))));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  const { keyboard } = page;
  // Listened for from the beginning: the browser is told of it, and that takes a moment.
  const chooser = new Promise<FileChooser>((resolve) => page.once('filechooser', resolve));

  // Through the rows, and into one of them.
  await page.getByRole('row').nth(1).focus();
  const ways = { End: 2, Home: 0, PageDown: 2, ArrowUp: 1, PageUp: 0, ArrowDown: 1 };
  for (const [key, at] of Object.entries(ways)) {
    await keyboard.press(key);
    await focusIs(page, `row ${at}`);
  }
  await keyboard.press('Enter');
  await page.getByRole('dialog').getByText('text of b.txt').waitFor();
  await keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focusIs(page, 'row 1');

  // A menu: in at its first entry, round by the arrows, out by Escape or Tab.
  const more = page.getByRole('button', { name: 'More actions for b.txt' });
  for (const way of ['Escape', 'Tab']) {
    await more.focus();
    await keyboard.press('Enter');
    const entries = ['Preview', 'Download', 'Share', 'Rename', 'Move', 'Make a copy', 'Versions', 'Delete'];
    assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), entries);
    for (const entry of [...entries, 'Preview']) {
      await focusIs(page, entry);
      await keyboard.press('ArrowDown');
    }
    await keyboard.press('ArrowUp');
    await keyboard.press('ArrowUp');
    await focusIs(page, 'Delete');
    await keyboard.press(way);
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await focusIs(page, 'More actions for b.txt');
  }
  await keyboard.press('Enter');
  await focusIs(page, 'Preview');
  for (let step = 0; step < 4; step++) await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Move to' }).waitFor();
  await keyboard.press('Escape');
  await focusIs(page, 'More actions for b.txt');

  // What an address says is told behind the account's menu.
  await page.getByRole('button', { name: /^Account: / }).focus();
  await keyboard.press('Enter');
  await focusIs(page, 'Account');
  await keyboard.press('ArrowDown');
  await focusIs(page, 'Settings');
  await keyboard.press('ArrowDown');
  await focusIs(page, 'About szafa');
  await keyboard.press('Enter');
  await page.getByRole('dialog').getByText('The folder you’re in is part of the address').waitFor();
  await keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement?.classList.contains('avatar'));
  await page.getByRole('button', { name: 'New folder' }).focus();
  await keyboard.press('Enter');
  await page.waitForFunction(() => (document.activeElement as HTMLInputElement).name === 'name');
  await keyboard.press('Escape');
  await focusIs(page, 'New folder');

  // A letter is a shortcut outside of fields, and a letter inside.
  await keyboard.press('u');
  assert.equal((await chooser).isMultiple(), true);
  await keyboard.press('/');
  await focusIs(page, 'Search all files');
  await keyboard.type('u/');
  await page.getByText('No results for “u/”').waitFor();
  await keyboard.press('Escape');
  await row(page, 'b.txt').waitFor();

  await page.getByRole('row').nth(1).focus();
  await keyboard.press('Control+a');
  await page.getByText('3 selected').waitFor();
  await keyboard.press('Escape');
  await page.getByText('3 selected').waitFor({ state: 'detached' });
  await keyboard.press('ArrowDown');
  await focusIs(page, 'row 1');
  await keyboard.press('F2');
  await page.getByLabel('New name').waitFor();
  await keyboard.press('Escape');
  await focusIs(page, 'row 1');
  await keyboard.press('Delete');
  await row(page, 'b.txt').waitFor({ state: 'detached' });
  assert.deepEqual(await shown(page), ['a.txt', 'c.txt']);
  await focusIs(page, 'row 1');
  assert.deepEqual(errors, []);
});

test('a key is for the row that has the keyboard, also when others came before it', async () => {
  const { page, errors } = await browser.visit(service.url);
  const username = await register(page);
  const names = ['b.txt', 'c.txt'];
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, name)))));
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await row(page, 'c.txt').focus();
  const { page: elsewhere } = await browser.visit(service.url);
  await signIn(elsewhere, username);
  await upload(elsewhere, await browser.file('a.txt', 'a.txt'));
  await listed(page, 'a.txt', 'b.txt', 'c.txt');
  await focusIs(page, 'row 2');
  await page.keyboard.press('Delete');
  await listed(page, 'a.txt', 'b.txt');
  assert.deepEqual(errors, []);
});

test('a key is for the row that the key before it went to, however late the page is drawn', async () => {
  const { page, errors } = await browser.visit(service.url);
  const { keyboard } = page;
  await register(page);
  for (const name of ['A', 'B']) {
    await makeFolder(page, name);
    await open(page, 'All files');
  }
  const tall = { width: 1000, height: 2000 };
  await page.setViewportSize(tall);
  const names = Array.from({ length: 24 }, (_, at) => `${at + 10}.txt`);
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, name)))));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  // Most of the rows are out of sight.
  await page.setViewportSize({ ...tall, height: 400 });
  await row(page, '33.txt').waitFor({ state: 'detached' });
  await page.evaluate(() => {
    const frame = requestAnimationFrame;
    Object.assign(window, {
      requestAnimationFrame: () => 0,
      drawAgain: () => Object.assign(window, { requestAnimationFrame: frame }),
    });
  });

  await page.getByRole('row').nth(1).focus();
  await keyboard.press('End');
  await keyboard.press('Delete');
  await keyboard.press('Home');
  await keyboard.press('ArrowDown');
  await keyboard.press('ArrowDown');
  await keyboard.press('Delete');
  await row(page, '10.txt').waitFor({ state: 'detached' });
  await folder(page, 'A').focus();
  await keyboard.press('ArrowDown');
  await keyboard.press('Delete');
  await row(page, 'B').waitFor({ state: 'detached' });

  await page.evaluate('drawAgain()');
  await page.setViewportSize(tall);
  await listed(page, 'A', ...names.slice(1, -1));
  assert.deepEqual(errors, []);
});

/** As on a page that is too busy to draw: nothing comes later by itself. */
async function holdPictures(page: Page): Promise<void> {
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
}

test('each key is for what the one before has opened, also where no picture was drawn in between', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  await upload(page, await browser.file('a.txt', 'text of a'), await browser.file('b.txt', 'text of b'));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await holdPictures(page);
  const { keyboard } = page;
  const press = async (...keys: string[]) => {
    for (const key of keys) await keyboard.press(key);
  };

  await row(page, 'a.txt').focus();
  await press('F2', 'x', 'Enter');
  await listed(page, 'b.txt', 'x.txt');
  await row(page, 'b.txt').focus();
  await press('Shift+F10', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter', 'y', 'Escape');
  await focusIs(page, 'row 0');
  await press('Enter', 'ArrowRight', 'Escape');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await focusIs(page, 'row 0');

  // At the door.
  const { page: door } = await browser.visit(service.url);
  const begin = door.getByRole('button', { name: 'New here? Create an account' });
  await begin.waitFor();
  await holdPictures(door);
  await begin.press('Enter');
  await door.keyboard.press('w');
  assert.equal(await door.getByLabel('Username').inputValue(), 'w');
  assert.deepEqual(errors, []);
});

test('Delete that is held down is for one file, and not for those that come into its place', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, name)))));
  await row(page, 'c.txt').focus();
  await page.keyboard.down('Delete');
  await row(page, 'c.txt').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.classList.contains('row'));
  for (let again = 0; again < 3; again++) await page.keyboard.down('Delete');
  await page.keyboard.up('Delete');
  // Whatever it has begun was begun before this.
  await upload(page, await browser.file('last.txt', 'last'));
  assert.deepEqual((await shown(page)).toSorted(), ['a.txt', 'b.txt', 'd.txt', 'last.txt']);
});

test('Delete in a menu is for the file that it was opened for, though another one has its name by then', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  await upload(page, await browser.file('mine.txt', 'mine'));
  const other = await openTab(page, service.url);
  await row(page, 'mine.txt').focus();
  await page.keyboard.press('ContextMenu');
  await page.getByRole('menu').waitFor();
  await choose(other, 'mine.txt', 'Rename');
  await other.getByLabel('New name').fill('renamed.txt');
  await other.getByRole('button', { name: 'Rename' }).click();
  await row(other, 'renamed.txt').waitFor();
  await upload(other, await browser.file('mine.txt', 'another'));
  for (const name of ['renamed.txt', 'mine.txt']) await row(page, name).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByText('Moved to trash').waitFor();
  assert.deepEqual(await shown(page), ['mine.txt']);
});

test('in a folder that Enter has opened the keyboard is at the first row, wherever the folder was', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  await makeFolder(page, 'C');
  const names = ['1.txt', '2.txt', '3.txt'];
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, name)))));
  for (const name of ['A', 'B']) {
    await open(page, 'All files');
    await makeFolder(page, name);
  }
  await open(page, 'All files');
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await listed(page, 'A', 'B', 'C');
  await row(page, 'C').focus();
  await page.keyboard.press('Enter');
  await listed(page, ...names);
  await focusIs(page, 'row 0');
  await page.keyboard.press('Delete');
  await listed(page, ...names.slice(1));
  assert.deepEqual(errors, []);
});
