/** The page in both languages and colours, and whether it fits a phone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { useService, usually } from '../harness/index.ts';
import {
  choose,
  makeFolder,
  obstacles,
  PASSWORD,
  pick,
  register,
  row,
  signOut,
  until,
  upload,
  useChromium,
} from './browser.ts';
import { png } from './media.ts';

const service = useService();
const browser = useChromium();

const langOf = (page: Page) => page.evaluate(() => document.documentElement.lang);
const coloursOf = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);

async function openSettings(page: Page): Promise<void> {
  await page.locator('.avatar').click();
  await page.getByRole('menuitem', { name: /^(Settings|Ustawienia)$/ }).click();
  await page.getByRole('dialog', { name: /^(Settings|Ustawienia)$/ }).waitFor();
}

test('the language is that of the browser, until somebody chooses another; the choice is kept', async () => {
  const { page, errors } = await browser.visit(service.url, { locale: 'pl-PL' });
  await page.getByRole('button', { name: 'Zaloguj się', exact: true }).waitFor();
  assert.equal(await langOf(page), 'pl');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  assert.equal(await langOf(page), 'en');
  await page.reload();
  await register(page);
  await pick(page, await browser.file('notes.txt', 'x'.repeat(1500)));
  await row(page, 'notes.txt').waitFor();
  await page.locator('#filter').fill('ńóTÉŚ');
  await row(page, 'notes.txt').waitFor();
  await page.locator('#filter').fill('');

  await openSettings(page);
  await page.getByLabel('Language').selectOption('Polski');
  await page.getByRole('dialog', { name: 'Ustawienia' }).waitFor();
  await page.getByText('1 plik', { exact: true }).waitFor();
  await row(page, 'notes.txt').getByText('1,5 KB').waitFor();
  await page.getByLabel('Wygląd').selectOption('Ciemny');
  assert.equal(await coloursOf(page), 'dark');
  await page.keyboard.press('Escape');
  await page.reload();
  await page.getByText('1 plik', { exact: true }).waitFor();
  assert.deepEqual([await langOf(page), await coloursOf(page)], ['pl', 'dark']);

  // As another one who uses this browser would want to read it.
  await page.getByRole('button', { name: /^Konto: / }).click();
  await page.getByRole('menuitem', { name: 'Wyloguj się' }).click();
  await page.getByRole('button', { name: 'Zaloguj się', exact: true }).waitFor();
  assert.deepEqual(errors, []);
});

test('a name in other letters than the account has gets a hint, and one that is just wrong does not', async () => {
  const { page } = await browser.visit(service.url);
  const name = await register(page);
  await signOut(page);
  const attempt = async (username: string, password: string) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Wrong username or password.').waitFor();
  };
  await attempt(name.toUpperCase(), PASSWORD);
  await page.getByText(`Did you mean ${name}?`).waitFor();
  await attempt(name, `${PASSWORD}!`);
  assert.equal(await page.getByText('Did you mean').count(), 0);
});

interface Look {
  language: 'en' | 'pl';
  colours: 'light' | 'dark';
  width: number;
}

/** Each width in both languages and in both colours, which need not meet each other; English on a desk is last. */
const ALL: Look[] = [360, 768, 1280].flatMap((width): Look[] => [
  { language: 'pl', colours: width === 768 ? 'light' : 'dark', width },
  { language: 'en', colours: width === 768 ? 'dark' : 'light', width },
]);
/** Each language, each colour and each width, in as few looks as that takes. */
const FEW: Look[] = [
  { language: 'pl', colours: 'dark', width: 360 },
  { language: 'en', colours: 'light', width: 768 },
  { language: 'pl', colours: 'light', width: 1280 },
];

/** The last in English, which the test goes on in. */
const FEW_OF_FILES: Look[] = [
  { language: 'pl', colours: 'dark', width: 360 },
  { language: 'en', colours: 'light', width: 1280 },
];
/** What is in the way: all of it, since a run takes minutes. */
async function inspect(page: Page, what: string, looks = usually(FEW, ALL)): Promise<string[]> {
  const found: string[] = [];
  for (const { language, colours, width } of looks) {
    await page.setViewportSize({ width, height: 740 });
    await page.emulateMedia({ colorScheme: colours });
    // What the settings do, without leaving what is looked at.
    await page.evaluate((chosen) => {
      localStorage.setItem('szafa-language', chosen);
      globalThis.dispatchEvent(new StorageEvent('storage', { key: 'szafa-language', newValue: chosen }));
    }, language);
    await until(async () => (await langOf(page)) === language);
    const at = `${what}, ${language}, ${colours}, ${width} px`;
    found.push(...(await obstacles(page)).map((text) => `${at}: ${text}`));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) found.push(`${at}: ${wide} px wide`);
    if (await page.evaluate(() => matchMedia('(pointer: coarse)').matches)) {
      found.push(...(await smallTargets(page)).map((text) => `${at}: ${text}`));
    }
  }
  return found;
}

/** What can be pressed and is too small for a finger, unless what it lies in is large enough and does the same. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const LEAST = 43.9;
    const top =
      document.querySelector('dialog[open]') ?? document.querySelector('[role=menu]') ?? document.body;
    const all = top.querySelectorAll<HTMLElement>(
      'button, a[href], select, summary, input, textarea, [role=treeitem], [role=menuitem]',
    );
    return [...all]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('p, [inert]'))
      .flatMap((one) => {
        const { width, height } = (one.closest('.rows .row, label, .filter') ?? one).getBoundingClientRect();
        const isLarge = width === 0 || (width >= LEAST && height >= LEAST);
        return isLarge ? [] : [`${Math.round(width)}x${Math.round(height)} ${one.outerHTML.slice(0, 120)}`];
      });
  });
}

test('every page can be read and fits, in both languages and colours, from a phone to a desk', async () => {
  const { page, errors } = await browser.visit(service.url);
  const found: string[] = [];
  found.push(...(await inspect(page, 'door')));
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await page.setViewportSize({ width: 1280, height: 800 });
  await register(page);
  found.push(...(await inspect(page, 'empty')));
  const long = `${'A name that is as long as names of files are at times '.repeat(2)}.txt`;
  await pick(page, await browser.file(long, 'x'), await browser.file('b.txt', 'y'));
  await row(page, 'b.txt').waitFor();
  found.push(...(await inspect(page, 'list')));
  await page.locator('#filter').fill('a name that nobody has');
  found.push(...(await inspect(page, 'nothing found')));
  await page.locator('#filter').fill('');
  await openSettings(page);
  found.push(...(await inspect(page, 'settings')));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  found.push(...(await inspect(page, 'shortcuts')));
  await page.getByRole('dialog').getByText('?', { exact: true }).waitFor();
  assert.deepEqual(found, []);
  assert.deepEqual(errors, []);
});

test('so can every state of files: folders, tiles, versions, the trash; and a finger hits what it means', async () => {
  const viewport = { width: 1280, height: 740 };
  const { page, errors } = await browser.visit(service.url, { hasTouch: true, viewport });
  assert.ok(await page.evaluate(() => matchMedia('(pointer: coarse)').matches));
  const found: string[] = [];
  const see = async (what: string) => {
    found.push(...(await inspect(page, what, usually(FEW_OF_FILES, ALL))));
  };
  const { keyboard } = page;
  const dialog = page.getByRole('dialog');
  const isClosed = () => dialog.waitFor({ state: 'detached' });
  await register(page);
  await makeFolder(page, 'photos');
  await makeFolder(page, 'a folder with a name that needs some room');
  const note = await browser.file('note.md', '# Note\n\nWith *words*.');
  await upload(page, await browser.file('picture.png', png(300, 600)), note);
  await see('transfers');
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await see('folder');

  await pick(page, note);
  await page.getByRole('heading', { name: 'File already exists' }).waitFor();
  await see('collision');
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await row(page, 'note.md').getByText('2 versions').waitFor();
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await choose(page, 'note.md', 'Versions');
  await dialog.getByText('Current').waitFor();
  await see('versions');
  await keyboard.press('Escape');
  await choose(page, 'note.md', 'Rename');
  await dialog.waitFor();
  await see('rename');
  await keyboard.press('Escape');
  await choose(page, 'note.md', 'Move');
  await dialog.waitFor();
  await see('chooser');
  await keyboard.press('Escape');
  await isClosed();
  for (const name of ['note.md', 'picture.png']) {
    await row(page, name).getByRole('button', { name, exact: true }).click();
    await dialog.getByRole('heading', { name }).waitFor();
    await see(`preview of ${name}`);
    await keyboard.press('Escape');
    await isClosed();
  }
  await row(page, 'note.md').getByRole('checkbox').check();
  await see('chosen');
  await keyboard.press('Escape');
  for (const layout of ['Grid', 'Photos', 'List']) {
    await page.getByRole('button', { name: layout, exact: true }).click();
    if (layout !== 'List') await see(layout);
  }
  await choose(page, 'note.md', 'Delete');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await see('a notice');
  await page.evaluate(() => {
    location.hash = '#trash';
  });
  await row(page, 'note.md').first().waitFor();
  await see('trash');
  await openSettings(page);
  await see('settings');
  await keyboard.press('Escape');
  await isClosed();

  // The folders on a phone; Escape puts them away.
  await page.setViewportSize({ width: 360, height: 740 });
  const side = page.getByRole('button', { name: 'Folders', exact: true });
  await side.click();
  assert.equal(await side.getAttribute('aria-expanded'), 'true');
  await see('drawer');
  await page.setViewportSize({ width: 360, height: 740 });
  await keyboard.press('Escape');
  await until(async () => (await side.getAttribute('aria-expanded')) === 'false');
  assert.deepEqual(found, []);
  assert.deepEqual(errors, []);
});
