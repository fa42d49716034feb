/** Folders in folders: what is done to them and their files. One account for all of a test: a sign-in takes seconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Szafa } from '@szafa/client/node';
import { useService } from '../harness/index.ts';
import {
  choose,
  makeFolder,
  open,
  PASSWORD,
  register,
  row,
  shoot,
  until,
  upload,
  useChromium,
} from './browser.ts';
import { address, dialog, folder, heading, listed, said } from './tree.ts';

const service = useService();
const browser = useChromium();

test('rename, move, copy and delete: by menus, keys and dragging, and back again', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  await makeFolder(page, 'work');
  await open(page, 'All files');
  const files = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt'];
  await upload(page, ...(await Promise.all(files.map((name) => browser.file(name, `text of ${name}`)))));
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await listed(page, 'work', ...files);
  const { keyboard } = page;
  const cell = (name: string) => row(page, name).locator('.cell.size');
  const chosen = () => page.locator('.rows [aria-selected=true] .file-name').allTextContents();

  // A click chooses one, with Ctrl one more, with Shift all between; the same by the keyboard.
  await cell('b.txt').click();
  await cell('d.txt').click({ modifiers: ['Shift'] });
  assert.deepEqual(await chosen(), ['b.txt', 'c.txt', 'd.txt']);
  await cell('c.txt').click({ modifiers: ['Control'] });
  assert.deepEqual(await chosen(), ['b.txt', 'd.txt']);
  await cell('a.txt').click();
  await keyboard.press('Shift+ArrowDown');
  await keyboard.press('Shift+ArrowDown');
  assert.deepEqual(await chosen(), ['a.txt', 'b.txt', 'c.txt']);
  await keyboard.press('Escape');
  assert.deepEqual(await chosen(), []);

  // The right button, and its key, open the menu of a row; a double click opens the row.
  await cell('a.txt').click({ button: 'right' });
  const entries = ['Preview', 'Download', 'Share', 'Rename', 'Move', 'Make a copy', 'Versions', 'Delete'];
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), entries);
  await shoot(page, 'tree-menu');
  await keyboard.press('Escape');
  await row(page, 'b.txt').focus();
  await keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
  await keyboard.press('Escape');
  await cell('b.txt').dblclick();
  await dialog(page).getByText('text of b.txt').waitFor();
  await keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await cell('work').dblclick();
  await heading(page, 'work');
  await row(page, 'work').waitFor({ state: 'detached' });
  await page.goBack();

  // Rename by F2: the name without its ending is chosen, and one that is taken is refused.
  await row(page, 'a.txt').focus();
  await keyboard.press('F2');
  await page.getByLabel('New name').waitFor();
  await keyboard.type('b');
  await keyboard.press('Enter');
  await page.getByText('A file with this name already exists.').waitFor();
  await page.getByLabel('New name').fill('x/y');
  await keyboard.press('Enter');
  await page.getByText('A name can’t contain /').waitFor();
  await page.getByLabel('New name').fill('żółw.txt');
  await shoot(page, 'tree-rename');
  await keyboard.press('Enter');
  await said(page, 'Renamed');
  await listed(page, 'work', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'żółw.txt');

  // Move by the chooser: it shows where the files are, and makes a folder.
  await cell('b.txt').click();
  await cell('c.txt').click({ modifiers: ['Shift'] });
  await page.getByRole('toolbar').getByRole('button', { name: 'Move' }).click();
  const target = (name: string) =>
    dialog(page).getByRole('treeitem', { name: new RegExp(`^${RegExp.escape(name)}`) });
  assert.equal(await target('All files').getAttribute('aria-selected'), 'true');
  await target('All files Current folder').waitFor();
  assert.ok(await dialog(page).getByRole('button', { name: 'Move', exact: true }).isDisabled());
  await target('work').click();
  await dialog(page).getByRole('button', { name: 'New folder here' }).click();
  await dialog(page).getByLabel('Folder name').fill('deep');
  await keyboard.press('Enter');
  await target('deep').waitFor();
  assert.equal(await target('deep').getAttribute('aria-selected'), 'true');
  await shoot(page, 'tree-move');
  await dialog(page).getByRole('button', { name: 'Move', exact: true }).click();
  await said(page, '2 items moved');
  await listed(page, 'work', 'd.txt', 'e.txt', 'żółw.txt');
  await page.getByRole('button', { name: 'Undo' }).click();
  await listed(page, 'work', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'żółw.txt');

  // By dragging: onto a folder of the list, of the side, of the way above.
  await row(page, 'b.txt').dragTo(row(page, 'work'));
  await listed(page, 'work', 'c.txt', 'd.txt', 'e.txt', 'żółw.txt');
  await folder(page, 'work').focus();
  await keyboard.press('ArrowRight');
  await row(page, 'c.txt').dragTo(folder(page, 'deep'));
  await listed(page, 'work', 'd.txt', 'e.txt', 'żółw.txt');
  await open(page, 'work');
  await listed(page, 'deep', 'b.txt');
  await row(page, 'b.txt').dragTo(page.getByRole('link', { name: 'All files' }));
  await listed(page, 'deep');

  // A folder with what is in it; whoever is in it stays in it.
  await open(page, 'deep');
  await listed(page, 'c.txt');
  await folder(page, 'work').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await page.getByLabel('New name').fill('play');
  await keyboard.press('Enter');
  await said(page, 'Renamed');
  await until(() => address(page) === '#/play/deep/');
  await listed(page, 'c.txt');
  assert.equal(await folder(page, 'work').count(), 0);

  // Copies have names of their own.
  await choose(page, 'c.txt', 'Make a copy');
  await dialog(page).getByRole('button', { name: 'Copy', exact: true }).click();
  await said(page, 'Copied');
  await listed(page, 'c (2).txt', 'c.txt');

  // Each folder is moved by itself: what is said is true where one of them was, and where none was.
  await open(page, 'All files');
  for (const name of ['first', 'second']) {
    await makeFolder(page, name);
    await upload(page, await browser.file(`in ${name}.txt`, name));
    await open(page, 'All files');
  }
  await page.getByRole('button', { name: 'Clear finished' }).click();
  const refuse = async (least: number) => {
    let asked = 0;
    await page.context().route('**/api/files/names', async (route) => {
      const { files } = route.request().postDataJSON() as { files: { file_id: string }[] };
      const json = { error: 'not as you saw them', files: files.map(({ file_id }) => file_id) };
      if (++asked < least) await route.continue();
      else await route.fulfill({ status: 412, json });
    });
  };
  const moveBoth = async () => {
    await cell('first').click();
    await cell('second').click({ modifiers: ['Control'] });
    await page.getByRole('toolbar').getByRole('button', { name: 'Move' }).click();
    await target('play').click();
    await dialog(page).getByRole('button', { name: 'Move', exact: true }).click();
  };
  const why = 'Another device or tab changed this at the same time.';
  const failed = async (what: string) => {
    await page.locator('.notice').getByText(what).getByText(why).waitFor();
    await page.context().unroute('**/api/files/names');
  };
  await refuse(1);
  await moveBoth();
  await failed('Nothing was moved.');
  await refuse(2);
  await moveBoth();
  await failed('Not everything was moved.');
  await listed(page, 'play', 'second', 'b.txt', 'd.txt', 'e.txt', 'żółw.txt');
  await choose(page, 'second', 'Delete');
  await listed(page, 'play', 'b.txt', 'd.txt', 'e.txt', 'żółw.txt');
  await open(page, 'first');
  await listed(page, 'in first.txt');
  await open(page, 'play');
  await choose(page, 'first', 'Delete');
  await open(page, 'deep');

  // Into the trash and out of it: by Undo, and from the trash itself.
  await row(page, 'c.txt').focus();
  await keyboard.press('Delete');
  await said(page, 'Moved to trash');
  await listed(page, 'c (2).txt');
  await page.getByRole('button', { name: 'Undo' }).click();
  await listed(page, 'c (2).txt', 'c.txt');
  await open(page, 'All files');
  await choose(page, 'play', 'Delete');
  await listed(page, 'b.txt', 'd.txt', 'e.txt', 'żółw.txt');
  await row(page, 'd.txt').focus();
  await keyboard.press('Delete');
  await page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: 'Trash' }).click();
  await heading(page, 'Trash');
  assert.equal(address(page), '#trash');
  // The records of folders go with the files in them.
  await listed(page, 'c (2).txt', 'c.txt', 'd.txt', 'in first.txt', 'in second.txt');
  await page.getByText('Items in the trash still count').waitFor();
  await row(page, 'c.txt')
    .getByTitle(/Deleted forever on /)
    .waitFor();
  await row(page, 'c.txt').getByText('play/deep').waitFor();
  await shoot(page, 'tree-trash');
  await choose(page, 'c.txt', 'Restore');
  await said(page, 'Restored');
  await choose(page, 'd.txt', 'Delete forever');
  await dialog(page).getByRole('button', { name: 'Delete forever' }).click();
  await said(page, 'Deleted forever');
  await listed(page, 'c (2).txt', 'in first.txt', 'in second.txt');
  await page.getByRole('button', { name: 'Empty trash' }).click();
  await dialog(page).getByRole('button', { name: 'Delete forever' }).click();
  await page.getByText('Trash is empty').waitFor();
  await page.goBack();
  await listed(page, 'play', 'b.txt', 'e.txt', 'żółw.txt');
  await open(page, 'deep');
  await listed(page, 'c.txt');
  assert.deepEqual(
    errors.filter((error) => !/\b412\b/.test(error)),
    [],
  );
});

test('where one of two empty folders went to the trash, it can be brought back', async () => {
  const { page } = await browser.visit(service.url);
  const username = await register(page);
  const other = await Szafa.login({ server: service.url }, { username, password: PASSWORD });
  for (const path of ['one', 'two']) await other.makeFolder(path);
  await page.reload();
  await listed(page, 'one', 'two');
  let asked = 0;
  await page.context().route('**/api/dirs/*', async (route) => {
    if (++asked === 1) await route.continue();
    else await route.fulfill({ status: 403, json: { error: 'not now' } });
  });
  await page.getByLabel('Select all').check();
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  const partly = page.locator('.notice').filter({ hasText: 'Not everything was moved to trash.' });
  await partly.waitFor();
  await page.context().unroute('**/api/dirs/*');
  await partly.getByRole('button', { name: 'Undo' }).click();
  await listed(page, 'one', 'two');
});
