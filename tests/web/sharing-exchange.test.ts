/** Requests and shares between accounts, from the command to the page and back. Links are in links.test.ts. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Device } from '../cross/device.ts';
import { freshName, useService } from '../harness/index.ts';
import { choose, download, PASSWORD, pick, register, signIn, upload, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();

test('what the command asks for the page sends, and the other way round', async () => {
  const username = freshName();
  const device = await Device.make(service.url, { SZ_USER: username });
  const visitor = await Device.make('');
  try {
    await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
    const { link } = (await device.ok(['request', 'inbox', '--files', '1', '--size', '1M', '--json'])).line(
      'request',
    );
    const fromPage = randomBytes(200_000);
    const { page: sender } = await browser.visit(String(link));
    await sender.getByRole('heading', { name: 'Send files' }).waitFor();
    await pick(sender, await browser.file('from the page.bin', fromPage));
    await sender.getByText('Sent: 1 file').waitFor();
    await device.ok(['deliveries', '--take']);
    const { bytes } = await device.ok(['get', 'inbox/from the page.bin', '--output', '-']);
    assert.ok(fromPage.equals(bytes), 'command opens what the page sent');

    const { page } = await browser.visit(service.url);
    await signIn(page, username);
    await page.getByRole('navigation').getByRole('button', { name: 'Shared', exact: true }).click();
    await page.getByRole('button', { name: 'Request files' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const asked = await dialog.locator('.shared-link').innerText();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const fromCommand = randomBytes(300_000);
    await writeFile(visitor.path('from the command.bin'), fromCommand);
    await visitor.ok(['put', 'from the command.bin', '--to', asked]);
    await page.evaluate(() => globalThis.dispatchEvent(new Event('focus')));
    await page.getByRole('button', { name: 'Save to my files' }).click();
    await page.getByText('1 file saved.').last().waitFor();
    await page
      .getByRole('navigation')
      .getByRole('treeitem', { name: /^All files/ })
      .click();
    assert.ok(fromCommand.equals(await download(page, 'from the command.bin')), 'page opens the command’s');
  } finally {
    await Promise.all([device.remove(), visitor.remove()]);
  }
});

test('what the command shares with an account is in its page, and the other way round', async () => {
  const alice = freshName();
  const device = await Device.make(service.url, { SZ_USER: alice });
  try {
    await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
    const { page } = await browser.visit(service.url);
    const bob = await register(page);
    const [hers, his] = [randomBytes(100_000), randomBytes(50_000)];
    await writeFile(device.path('hers.bin'), hers);
    await device.ok(['put', 'hers.bin']);
    await device.ok(['share', 'hers.bin', '--with', bob]);

    await upload(page, await browser.file('his.bin', his));
    await choose(page, 'his.bin', 'Share');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Share with').selectOption('A user on this server');
    await dialog.getByLabel('Username').fill(alice);
    await dialog.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog.getByRole('heading', { name: `Shared with ${alice}` }).waitFor();
    const seen = await dialog.locator('.fingerprint').innerText();
    await dialog.getByRole('button', { name: 'Close', exact: true }).first().click();
    const own = (await device.ok(['contact', '--json'])).line('contact')['fingerprint'];
    assert.equal(
      seen.replaceAll(/\s/g, ''),
      String(own).replaceAll(/\s/g, ''),
      'one fingerprint on both sides',
    );
    await device.ok(['get', '--from', bob, 'his.bin', '--output', 'copy.bin']);
    assert.ok(his.equals(await readFile(device.path('copy.bin'))), 'command opens what the page shared');

    await page.getByRole('navigation').getByRole('button', { name: 'Shared with me', exact: true }).click();
    await page.getByRole('button', { name: 'Show files of hers.bin' }).click();
    const soon = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download hers.bin', exact: true }).click();
    assert.ok(hers.equals(await readFile(await (await soon).path())), 'page opens what the command shared');
  } finally {
    await device.remove();
  }
});
