import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { useService } from '../harness/index.ts';
import { choose, drop, open, register, row, shoot, upload, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();

test('directories, moving, copying, deleting, sorting and filtering', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  const names = ['b2.txt', 'b10.txt', 'a.txt'];
  const files = await Promise.all(names.map((name, i) => browser.file(name, 'x'.repeat(1 + i * 100))));
  await upload(page, ...files);

  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByLabel('Name of the folder').fill('Żółte / taxes');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('must not contain /').waitFor();
  await page.getByLabel('Name of the folder').fill('Żółte taxes');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Żółte taxes' }).waitFor();
  await page.getByText('This folder is empty').waitFor();
  await shoot(page, 'empty-directory');
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByLabel('Name of the folder').fill('Żółte taxes');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('A folder with this name already exists').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();

  await open(page, 'All files');
  await choose(page, 'a.txt', 'Move');
  await page.getByRole('radio', { name: 'Żółte taxes' }).check();
  await shoot(page, 'move');
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByText('Moved').waitFor();
  await open(page, 'Unfiled');
  await page.getByText('2 files', { exact: true }).waitFor();

  await choose(page, 'b2.txt', 'Make a copy');
  await page.getByRole('radio', { name: 'Żółte taxes' }).check();
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByText('Copied').waitFor();
  await open(page, 'Żółte taxes');
  await row(page, 'a.txt').waitFor();
  await row(page, 'b2.txt').waitFor();

  await open(page, 'All files');
  const shown = () => page.locator('.file-name').allTextContents();
  await page.getByRole('button', { name: 'Name' }).click();
  assert.deepEqual(await shown(), ['a.txt', 'b2.txt', 'b2.txt', 'b10.txt']);
  await page.getByRole('button', { name: 'Name' }).click();
  assert.deepEqual(await shown(), ['b10.txt', 'b2.txt', 'b2.txt', 'a.txt']);
  await page.getByRole('button', { name: 'Size' }).click();
  assert.deepEqual((await shown())[0], 'a.txt');
  await page.keyboard.press('/');
  await page.keyboard.type('B1');
  assert.deepEqual(await shown(), ['b10.txt']);
  await page.getByText('1 of 4 files').waitFor();
  await page.keyboard.type('zzz');
  await page.getByText('No name contains “B1zzz”').waitFor();
  await shoot(page, 'no-match');
  await page.keyboard.press('Escape');

  // By the keyboard: the first row, two selected, deleted after a question.
  await page.getByRole('row').nth(1).focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.getByText('2 selected').waitFor();
  await shoot(page, 'selected');
  await page.keyboard.press('Delete');
  await page.getByRole('heading', { name: 'Delete 2 files?' }).waitFor();
  await shoot(page, 'delete');
  await page.keyboard.press('Escape');
  assert.equal((await shown()).length, 4);
  await page.getByRole('row').nth(1).focus();
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('2 files deleted').waitFor();
  await page.getByText('2 files', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Delete the folder Żółte taxes' }).click();
  await page.getByRole('button', { name: 'Delete the folder', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the folder Żółte taxes' }).waitFor({ state: 'detached' });
  await page.getByText('2 files', { exact: true }).waitFor();
  assert.deepEqual(
    errors.filter((error) => !error.includes('409')),
    [],
  );
});

test('many files at once: a few at a time, with progress, and those that fail stay chosen', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const names = Array.from({ length: 12 }, (_, i) => `many-${i}.txt`);
  await upload(page, ...(await Promise.all(names.map((name) => browser.file(name, name)))));
  const rows = page.locator('.file-name');
  const chooseAll = () => page.getByLabel('Select all').check();

  let [begun, running, most, refused] = [0, 0, 0, 0];
  const seen = Promise.withResolvers<void>();
  await page.context().route('**/api/files/*', async (route) => {
    if (route.request().method() !== 'DELETE') return route.fallback();
    most = Math.max(most, ++running);
    // After the first four all wait until the page was looked at.
    if (++begun > 4) await seen.promise;
    running--;
    if (refused < 2) {
      refused++;
      return route.fulfill({ status: 403, json: { error: 'no' } });
    }
    return route.fallback();
  });
  await chooseAll();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Deleting: 2 of 12 files', { exact: true }).waitFor();
  await shoot(page, 'deleting');
  seen.resolve();
  await page.getByText('2 of 12 files could not be deleted. The server does not allow this.').waitFor();
  assert.equal(await page.getByText(/^Deleting/).count(), 0);
  await page.getByText('2 files', { exact: true }).waitFor();
  await page.getByText('2 selected').waitFor();
  assert.equal(await rows.count(), 2);
  assert.equal(most, 4, 'at the same time');
  await shoot(page, 'not-deleted');

  await page.context().unroute('**/api/files/*');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('2 files deleted').waitFor();
  await page.getByText('Nothing here yet').waitFor();
});

test('a dropped folder becomes a directory, with the folders inside it in the names', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const folder = join(browser.folder, 'Holiday');
  await mkdir(join(folder, 'day 1', 'deep'), { recursive: true });
  await writeFile(join(folder, 'top.txt'), 'top');
  await writeFile(join(folder, 'day 1', 'deep', 'photo.txt'), 'deep');
  const alone = await browser.file('alone.txt', 'alone');
  await drop(page, [folder, alone], 'drop');
  await open(page, 'Holiday');
  await page.getByRole('button', { name: 'top.txt', exact: true }).waitFor();
  await page.getByRole('button', { name: 'day 1/deep/photo.txt', exact: true }).waitFor();
  await open(page, 'Unfiled');
  await page.getByRole('button', { name: 'alone.txt', exact: true }).waitFor();

  await page.locator('input[data-test=folder]').setInputFiles(folder);
  await open(page, 'Holiday');
  await page.getByText('4 files', { exact: true }).waitFor();
});
