/** Many files saved as one, by the browser's own download, and unpacked by a program that others wrote. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesSource, Szafa } from '@szafa/client/node';
import type { Download } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { choose, drop, letPick, PASSWORD, picked, register, row, upload, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;

test('chosen files are saved as one zip; a volume that was changed breaks it', async () => {
  const visit = await browser.visit(service.url);
  const { page, context } = visit;
  await register(page);
  const contents: Record<string, Buffer> = {
    'large.bin': randomBytes(9 * MIB),
    'żółw.txt': Buffer.from('a turtle'),
    'empty.txt': Buffer.alloc(0),
  };
  for (const [name, content] of Object.entries(contents)) await browser.file(name, content);
  // A folder is one zip, with the folders in it, also those that are empty.
  const travel = join(browser.folder, 'travel');
  await mkdir(join(travel, 'deep', 'empty'), { recursive: true });
  await writeFile(join(travel, 'one.txt'), 'one');
  await writeFile(join(travel, 'deep', 'two.txt'), 'two');
  await drop(page, [travel]);
  await row(page, 'travel').waitFor();
  await page.getByRole('treeitem', { name: 'travel 2' }).waitFor();
  const soon = page.waitForEvent('download');
  await choose(page, 'travel', 'Download');
  const folder = await soon;
  assert.equal(folder.suggestedFilename(), 'travel.zip');
  const inside = async (zip: Download) =>
    execFileSync('unzip', ['-Z1', await zip.path()], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .sort();
  const all = ['travel/deep/empty/', 'travel/deep/two.txt', 'travel/one.txt'];
  assert.deepEqual(await inside(folder), all);
  const text = execFileSync('unzip', ['-p', await folder.path(), 'travel/deep/two.txt'], {
    encoding: 'utf8',
  });
  assert.equal(text, 'two');

  await upload(page, ...Object.keys(contents).map((name) => join(browser.folder, name)));
  await page.getByRole('button', { name: 'Clear finished' }).click();

  const save = async () => {
    const soon = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    return soon;
  };
  // With other files, it stays a folder among them.
  await row(page, 'travel').getByRole('checkbox').check();
  await row(page, 'empty.txt').getByRole('checkbox').check();
  const both = await save();
  assert.equal(both.suggestedFilename(), 'szafa.zip');
  assert.deepEqual(await inside(both), ['empty.txt', ...all]);
  await page.getByRole('button', { name: 'Clear selection' }).click();
  await choose(page, 'travel', 'Delete');
  await row(page, 'travel').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Clear finished' }).click();

  await page.getByLabel('Select all').check();
  const saved = await save();
  assert.equal(saved.suggestedFilename(), 'szafa.zip');
  const out = join(browser.folder, 'unpacked');
  execFileSync('unzip', ['-q', await saved.path(), '-d', out], {
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  assert.deepEqual((await readdir(out)).sort(), Object.keys(contents).sort());
  for (const [name, content] of Object.entries(contents)) {
    assert.ok(content.equals(await readFile(join(out, name))), name);
  }
  await page.getByText(/^Downloaded · 9.0 MB$/).waitFor();
  await page.getByRole('button', { name: 'Clear finished' }).click();

  // The second volume of the large file comes changed: the browser is told that the download failed.
  await context.route('**/api/files/*/chunk/2', async (route) => {
    const response = await route.fetch();
    const body = await response.body();
    body[100]! ^= 1;
    await route.fulfill({ response, body });
  });
  const broken = await save();
  assert.notEqual(await broken.failure(), null);
  await page.getByRole('button', { name: 'Retry szafa.zip' }).waitFor();

  // Into a file that the person names, nothing is written either.
  await letPick(visit);
  await page.getByLabel('Select all').check();
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  await page.getByRole('button', { name: 'Retry szafa.zip' }).waitFor();
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  assert.deepEqual(await picked(page), { 'szafa.zip': empty });
  await context.unroute('**/api/files/*/chunk/2');
  await page.getByRole('button', { name: 'Retry szafa.zip' }).click();
  await page.getByText(/^Downloaded · 9.0 MB$/).waitFor();
  assert.notDeepEqual(await picked(page), { 'szafa.zip': empty });
});

test('symbolic links of a folder are in its zip, and those that lead out of it are told', async () => {
  const { page } = await browser.visit(service.url);
  const username = await register(page);
  const other = await Szafa.login({ server: service.url }, { username, password: PASSWORD });
  for (const [name, link] of Object.entries({ within: 'file', away: '/etc/passwd', out: '../x' })) {
    await other.upload(bytesSource(Buffer.alloc(0)), { path: `linked/${name}`, link });
  }
  await row(page, 'linked').waitFor();
  await page.getByRole('treeitem', { name: 'linked 3' }).waitFor();
  const soon = page.waitForEvent('download');
  await choose(page, 'linked', 'Download');
  const zip = await (await soon).path();
  await page.getByText('Left out of the zip: 2 symbolic links that may point outside the folder.').waitFor();
  assert.match(execFileSync('unzip', ['-Z', zip], { encoding: 'utf8' }), /^lrwx[^\n]* linked\/within$/m);
});
