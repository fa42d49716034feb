import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { useService } from '../harness/index.ts';
import { download, register, row, shoot, signIn, signOut, upload, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();

test('register, upload, download, sign out, sign in', async () => {
  const { page, errors } = await browser.visit(service.url);
  await shoot(page, 'enter');
  const username = await register(page);
  await page.getByText('Nothing here yet').waitFor();
  await shoot(page, 'empty');
  const content = randomBytes(9_000_000);
  await upload(page, await browser.file('large.bin', content), await browser.file('note.txt', 'a note'));
  assert.ok(content.equals(await download(page, 'large.bin')), 'the same bytes');
  await shoot(page, 'list');
  await signOut(page);
  await signIn(page, username);
  await row(page, 'note.txt').waitFor();
  assert.equal((await download(page, 'note.txt')).toString(), 'a note');
  assert.deepEqual(errors, []);
});
