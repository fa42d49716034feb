import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { choose, open, PHONE, picture, register, row, shoot, upload, useChromium } from './browser.ts';
import { png } from './media.ts';

const service = useService();
const browser = useChromium();

async function shootBoth(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: 'light' });
  await shoot(page, `${name}-light`);
}

/** The lines between rows go through to the right edge. */
async function checkLines(page: Page): Promise<void> {
  const missing = await page.evaluate(() => {
    const right = (element: Element) => element.getBoundingClientRect().right;
    const edge = right(document.querySelector('.main-head')!);
    return [...document.querySelectorAll('.rows .row')].map((line) => edge - right(line));
  });
  assert.deepEqual(new Set(missing), new Set([0]));
}

test('every state is accessible and has its picture, light and dark', async () => {
  const { page } = await browser.visit(service.url, { viewport: { width: 1280, height: 800 } });
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await shootBoth(page, 'enter');
  await page.getByRole('button', { name: 'New here? Create an account' }).click();
  await shootBoth(page, 'register');
  await page.getByRole('button', { name: 'Have an account? Sign in' }).click();
  await register(page, `ewa_${Date.now() % 1_000_000}`);
  await page.getByText('Nothing here yet').waitFor();
  await shootBoth(page, 'empty');
  for (const dir of ['Holiday 2026', 'Taxes']) {
    await open(page, 'All files');
    await page.getByRole('button', { name: 'New folder', exact: true }).click();
    await page.getByLabel('Folder name').fill(dir);
    if (dir === 'Taxes') await shootBoth(page, 'new-directory');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: dir, level: 1 }).waitFor();
  }
  await upload(page, await browser.file('Assessment.pdf', 'p'.repeat(220_000)));
  await open(page, 'Holiday 2026');
  await upload(
    page,
    await browser.file('Evening in the hills.png', png(640, 400)),
    await browser.file('Route.md', '# Route\n\nFrom the station up to the pass, then along the ridge.\n'),
    await browser.file('Song of the river.mp3', 's'.repeat(430_000)),
  );
  await open(page, 'All files');
  await upload(
    page,
    await browser.file('Letters to Ania.txt', 'Dear Ania'),
    await browser.file('Backup.tar', 'b'.repeat(790_000)),
  );
  await page
    .getByText(/^Uploaded/)
    .first()
    .waitFor();
  await shootBoth(page, 'uploaded');
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await open(page, 'Holiday 2026');
  await row(page, 'Route.md').getByRole('checkbox').check();
  await shootBoth(page, 'list');
  await checkLines(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'More actions for Route.md' }).click();
  await shootBoth(page, 'menu');
  await page.keyboard.press('Escape');
  await choose(page, 'Route.md', 'Move');
  await shootBoth(page, 'question');
  await page.keyboard.press('Escape');
  await choose(page, 'Evening in the hills.png', 'Preview');
  await page.getByRole('img', { name: 'Evening in the hills.png' }).waitFor();
  await shootBoth(page, 'preview');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'About szafa' }).click();
  await shootBoth(page, 'about');
  await page.keyboard.press('Escape');
  await page.context().setOffline(true);
  await page.getByText('You’re offline').waitFor();
  await shootBoth(page, 'offline');
  await page.context().setOffline(false);
  await page.getByText('You’re offline').waitFor({ state: 'detached' });

  await page.setViewportSize(PHONE);
  await shootBoth(page, 'phone');
  await checkLines(page);
  await page.getByRole('button', { name: 'Folders' }).click();
  await shootBoth(page, 'phone-places');
  await page
    .getByRole('navigation')
    .getByRole('treeitem', { name: /^Taxes/ })
    .click();
  await row(page, 'Assessment.pdf').waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, 'nothing to scroll sideways');
});
