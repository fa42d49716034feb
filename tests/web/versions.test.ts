/** Uploads of what is there already, and what other devices do meanwhile. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Szafa } from '@szafa/client/node';
import { useService } from '../harness/index.ts';
import { choose, drop, open, PASSWORD, register, row, shoot, until, useChromium } from './browser.ts';
import { dialog, folder, listed, said } from './tree.ts';

const service = useService();
const browser = useChromium();

test('uploading what is there already asks; versions are kept; other devices are seen', async () => {
  const { page, errors } = await browser.visit(service.url);
  const username = await register(page);
  const disk = join(browser.folder, 'album');
  await mkdir(join(disk, 'empty', 'inside'), { recursive: true });
  await writeFile(join(disk, 'one.txt'), 'one');
  await writeFile(join(disk, 'two.txt'), 'two');
  await drop(page, [disk]);
  await folder(page, 'album').click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  // A folder without files is kept.
  await listed(page, 'empty', 'one.txt', 'two.txt');
  await open(page, 'All files');

  // Onto a folder of the list, of the side, or of the way above: into it.
  await drop(page, [await browser.file('row.txt', 'row')], { onto: row(page, 'album') });
  await page.getByRole('treeitem', { name: 'album 3' }).waitFor();
  await drop(page, [await browser.file('side.txt', 'side')], { onto: folder(page, 'album') });
  await page.getByRole('treeitem', { name: 'album 4' }).waitFor();
  await folder(page, 'album').click();
  await listed(page, 'empty', 'one.txt', 'row.txt', 'side.txt', 'two.txt');
  const above = page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'All files' });
  await drop(page, [await browser.file('above.txt', 'above')], { onto: above });
  await page.getByRole('treeitem', { name: 'All files 5' }).waitFor();
  for (const name of ['row.txt', 'side.txt']) await choose(page, name, 'Delete');
  await listed(page, 'empty', 'one.txt', 'two.txt');
  await open(page, 'All files');
  await listed(page, 'album', 'above.txt');

  // Each answer is for all.
  const again = async (answer: string) => {
    await drop(page, [disk]);
    await page.getByRole('heading', { name: 'File already exists' }).waitFor();
    await page.getByLabel('Apply to 1 more').check();
    await dialog(page).getByRole('button', { name: answer }).click();
    await dialog(page).waitFor({ state: 'detached' });
  };
  await again('Skip');
  await writeFile(join(disk, 'one.txt'), 'one, changed');
  await again('Replace');
  await folder(page, 'album').click();
  await row(page, 'one.txt').getByText('2 versions').waitFor();
  await row(page, 'two.txt').getByText('2 versions').waitFor();
  await listed(page, 'empty', 'one.txt', 'two.txt');
  await open(page, 'All files');
  await again('Keep both');
  await folder(page, 'album').click();
  await listed(page, 'empty', 'one (2).txt', 'one.txt', 'two (2).txt', 'two.txt');
  await page.getByRole('button', { name: 'Clear finished' }).click();

  await choose(page, 'one.txt', 'Versions');
  const versions = dialog(page).getByRole('listitem');
  await until(async () => (await versions.count()) === 2);
  await versions.first().getByText('Current').waitFor();
  await shoot(page, 'tree-versions');
  const saved = page.waitForEvent('download');
  await versions
    .nth(1)
    .getByRole('button', { name: /^Download/ })
    .click();
  assert.equal((await saved).suggestedFilename(), 'one.txt');
  await versions
    .nth(1)
    .getByRole('button', { name: /^Restore version/ })
    .click();
  await dialog(page).getByText('Version restored').waitFor();
  await until(async () => (await versions.count()) === 3);
  await versions
    .nth(1)
    .getByRole('button', { name: /^Delete/ })
    .click();
  await until(async () => (await versions.count()) === 2);
  await page.keyboard.press('Escape');
  await row(page, 'one.txt').getByRole('button', { name: 'one.txt', exact: true }).click();
  await dialog(page).getByText('one', { exact: true }).waitFor();
  await page.keyboard.press('Escape');

  // Another device: what it does appears by itself, and what it did first wins, which is told.
  const other = await Szafa.login({ server: service.url }, { username, password: PASSWORD });
  const tree = await other.tree();
  // The page asks now and then what is new, while somebody sees it: not before it has tried.
  const beSeen = (isSeen: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });
    }, !isSeen);
  await beSeen(false);
  await other.rename([{ entry: tree.file('album/two.txt')!.entry, path: 'album/zwei.txt' }]);
  await choose(page, 'two.txt', 'Rename');
  await page.getByLabel('New name').fill('deux.txt');
  await page.keyboard.press('Enter');
  await page.locator('.notice').getByText('Another device or tab changed this at the same time.').waitFor();
  await row(page, 'zwei.txt').waitFor();
  await beSeen(true);
  await other.rename([{ entry: (await other.tree()).file('album/zwei.txt')!.entry, path: 'album/drei.txt' }]);
  await row(page, 'drei.txt').waitFor();

  // Folders without files are copied as well.
  await choose(page, 'empty', 'Make a copy');
  await dialog(page).getByRole('button', { name: 'Copy', exact: true }).click();
  await said(page, 'Copied');
  await row(page, 'empty (2)').locator('.cell.size').dblclick();
  await listed(page, 'inside');
  await folder(page, 'album').click();

  // Where only a part went to the trash, that part can be brought back.
  let asked = 0;
  await page.context().route('**/api/files/trash', async (route) => {
    const { files } = route.request().postDataJSON() as { files: string[] };
    if (++asked === 1) await route.continue();
    else await route.fulfill({ status: 404, json: { error: 'no files of yours', files } });
  });
  await row(page, 'drei.txt').locator('.cell.size').click();
  await row(page, 'empty (2)')
    .locator('.cell.size')
    .click({ modifiers: ['Control'] });
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  const partly = page.locator('.notice').filter({ hasText: 'Not everything was moved to trash.' });
  await partly.waitFor();
  await page.context().unroute('**/api/files/trash');
  const left = ['empty', 'empty (2)', 'one (2).txt', 'one.txt', 'two (2).txt'];
  await listed(page, ...left);
  await partly.getByRole('button', { name: 'Undo' }).click();
  await listed(page, ...left.slice(0, 2), 'drei.txt', ...left.slice(2));

  // What comes to the trash after the question stays there.
  await choose(page, 'drei.txt', 'Delete');
  await listed(page, ...left);
  await page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: 'Trash' }).click();
  await row(page, 'side.txt').waitFor();
  await page.getByRole('button', { name: 'Empty trash' }).click();
  await other.trash([(await other.tree()).file('album/one (2).txt')!.entry]);
  await dialog(page).getByRole('button', { name: 'Delete forever' }).click();
  await listed(page, 'one (2).txt');
  assert.deepEqual(
    errors.filter((error) => !/\b(404|409|412)\b/.test(error)),
    [],
  );
});
