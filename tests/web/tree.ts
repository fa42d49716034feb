/** Where the page is, and what it shows there. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { until } from './browser.ts';

export const shown = (page: Page) => page.locator('.file-name').allTextContents();
export const address = (page: Page) => decodeURIComponent(new URL(page.url()).hash);
export const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
export const dialog = (page: Page) => page.getByRole('dialog');
export const said = (page: Page, text: string) =>
  page.locator('.notice').getByText(text, { exact: true }).waitFor();
export const folder = (page: Page, name: string) =>
  page.getByRole('treeitem', { name: new RegExp(`^${RegExp.escape(name)} `) });

/** Waits until the list has these, in this order. */
export async function listed(page: Page, ...expected: string[]): Promise<void> {
  await until(async () => (await shown(page)).join('|') === expected.join('|')).catch(async () => {
    assert.deepEqual(await shown(page), expected);
  });
}
