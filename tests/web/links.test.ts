/** Links between the page and the command, both ways: what is shared here is opened there. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Szafa } from '@szafa/client/node';
import { pathOf } from '@szafa/protocol';
import type { Download, Page } from 'playwright-core';
import { Device } from '../cross/device.ts';
import { freshName, useService } from '../harness/index.ts';
import {
  type Chromium,
  choose,
  makeFolder,
  obstacles,
  open,
  PASSWORD,
  register,
  row,
  shoot,
  until,
  upload,
  useChromium,
  type Visit,
} from './browser.ts';

const service = useService();
const browser = useChromium();
const PHONE = { width: 360, height: 740 };
const WIDE = { width: 1280, height: 800 };
const MIB = 1024 * 1024;

const visitOn = (chromium: Chromium, link: string, locale = 'en-GB'): Promise<Visit> =>
  chromium.visit(link, { viewport: PHONE, locale });

async function bytesOf(saved: Download): Promise<Buffer> {
  assert.equal(await saved.failure(), null);
  return readFile(await saved.path());
}

async function save(page: Page, name: string): Promise<Download> {
  const soon = page.waitForEvent('download');
  await page.getByRole('button', { name, exact: true }).click();
  return soon;
}

/** That it can be read, and fits. */
async function assertReadable(page: Page, what: string): Promise<void> {
  assert.deepEqual(await obstacles(page), [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `${what}: ${wide} px wide`);
}

suite('links', () => {
  test('what the command shares opens in the page, for whoever knows the passphrase, as often as allowed', async () => {
    const username = freshName();
    const device = await Device.make(service.url, { SZ_USER: username, SZ_LINK_PASSPHRASE: 'two geese' });
    try {
      await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
      const contents: Record<string, Buffer> = {
        'large.bin': randomBytes(3 * MIB),
        'in/żółw.txt': Buffer.from('a turtle'),
      };
      await mkdir(device.path('given/in'), { recursive: true });
      for (const [name, content] of Object.entries(contents)) {
        await writeFile(device.path(join('given', name)), content);
      }
      await symlink('in', device.path('given/shortcut'));
      await device.ok(['put', 'given', '--volume-size', '1M']);
      const share = async (...more: string[]) =>
        String((await device.ok(['share', 'given', '--json', ...more])).line('link')['link']);
      const link = await share('--passphrase', '--downloads', '1', '--note', 'for <b>you</b>');
      const [address, secret] = link.split('#') as [string, string];
      // One that is over by the time that somebody comes.
      const owner = await Szafa.login({ server: service.url }, { username, password: PASSWORD });
      const [entry] = await owner.list();
      const expiresAt = new Date(Date.now() + 15_000);
      const { link: short } = await owner.shareLink([{ entry: entry!, name: 'short' }], { expiresAt });

      const { page, context, errors } = await visitOn(browser, link);
      const asked: string[] = [];
      context.on('request', (request) => asked.push(`${request.url()} ${request.postData() ?? ''}`));
      const field = page.getByLabel('Passphrase', { exact: true });
      const unlock = async (passphrase: string) => {
        await field.fill(passphrase);
        await page.getByRole('button', { name: 'Open', exact: true }).click();
      };
      await unlock('one goose');
      await page.getByText('Wrong passphrase.').waitFor();
      await assertReadable(page, 'a wrong passphrase');
      await unlock('two geese');
      await page.getByRole('heading', { name: 'given', exact: true }).waitFor();
      await page.getByText('2 files · 3.0 MB').waitFor();
      await page.getByText('for <b>you</b>').waitFor();
      const left = page.getByRole('listitem').filter({ hasText: 'shortcut' });
      await left.getByText('symbolic link, left out').waitFor();
      assert.equal(await left.getByRole('button').count(), 0);
      await page.getByText('1 download left').waitFor();
      await assertReadable(page, 'files');
      await shoot(page, 'shared-with-you');

      // A look counts, and a reload and all that follows are the same download.
      await page.getByRole('button', { name: 'żółw.txt', exact: true }).click();
      await page.getByRole('dialog').getByText('a turtle').waitFor();
      await page.keyboard.press('Escape');
      await page.reload();
      await unlock('two geese');
      await page.getByText('The last download has started').waitFor();
      const large = await bytesOf(await save(page, 'Download large.bin'));
      assert.ok(large.equals(contents['large.bin']!), 'the bytes of a file');
      const zip = await save(page, 'Download all as zip');
      assert.equal(zip.suggestedFilename(), 'given.zip');
      const out = join(browser.folder, 'shared-zip');
      const env = { ...process.env, LC_ALL: 'C.UTF-8' };
      execFileSync('unzip', ['-q', await zip.path(), '-d', out], { env });
      for (const [name, content] of Object.entries(contents)) {
        assert.ok(content.equals(await readFile(join(out, 'given', name))), name);
      }
      assert.deepEqual((await readdir(join(out, 'given'))).sort(), ['in', 'large.bin']);

      // A volume that was changed: the zip ends before its directory, and the page says so.
      await context.route('**/chunk/2', async (route) => {
        const response = await route.fetch();
        const body = await response.body();
        body[body.length - 1]! ^= 1;
        await route.fulfill({ response, body });
      });
      const broken = await save(page, 'Download all as zip');
      assert.notEqual(await broken.failure(), null);
      await page.getByText('This was changed after it was uploaded').waitFor();
      await assertReadable(page, 'a failed download');

      assert.ok(asked.some((one) => one.includes('/api/') && one.includes('/chunk/')));
      for (const part of [secret, secret.slice(0, 20), 'two geese']) {
        assert.deepEqual(
          asked.filter((one) => one.includes(part)),
          [],
          'what is behind the # stays in the browser',
        );
      }
      assert.deepEqual(await context.cookies(), []);
      assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 1]);
      const refusals = errors.filter((one) => !/status of 4/.test(one));
      assert.deepEqual(refusals, []);

      // Another visitor comes too late. What is not whole, or not right, is told as that.
      const late = await visitOn(browser, link, 'pl-PL');
      const told = async (words: string) => {
        await late.page.getByRole('heading', { name: words }).waitFor();
      };
      const go = async (to: string) => {
        await late.page.goto('about:blank');
        await late.page.goto(to);
      };
      await told('Limit pobrań tego linku został wyczerpany');
      await assertReadable(late.page, 'used up');
      await until(() => Date.now() > expiresAt.getTime());
      await go(short);
      await told('Ten link wygasł');
      const open = await share();
      const [opened, key] = open.split('#') as [string, string];
      await go(opened);
      await told('Ten link jest niepełny');
      await go(`${address}#${key}`);
      await told('Ten link nie istnieje');
      await go(`${opened}#${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`);
      await told('Ten link nie pasuje do plików');
      await go(`${opened}?from=mail#${key}`);
      await told('given');
      await assertReadable(late.page, 'files in Polish');
      const id = opened.slice(opened.lastIndexOf('/') + 1);
      await device.ok(['unshare', id]);
      await late.page.reload();
      await told('Ten link już nie działa');
    } finally {
      await device.remove();
    }
  });

  test('what the page shares the command gets; the list says what became of it, and ends it', async () => {
    const { page, context } = await browser.visit(service.url, { viewport: WIDE });
    await register(page);
    const content = randomBytes(70_000);
    await makeFolder(page, 'For them');
    await makeFolder(page, 'Empty');
    await open(page, 'For them');
    await upload(page, await browser.file('gift.bin', content), await browser.file('card.txt', 'dear'));

    await open(page, 'All files');
    await choose(page, 'For them', 'Share');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 files, 68 KB').waitFor();
    await dialog.getByLabel('Expires').selectOption('In 1 day');
    await dialog.getByLabel('Download limit').fill('2');
    await dialog.getByLabel('Passphrase (optional)', { exact: true }).fill('a swan');
    await dialog.getByLabel('Message (optional)').fill('with love');
    await shoot(page, 'share');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const link = await dialog.locator('.shared-link').innerText();
    await dialog.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await dialog.getByText('a hostile server could send a page that steals the key').waitFor();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await dialog.getByRole('button', { name: 'Copy link' }).click();
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === link);
    await shoot(page, 'share-made');
    await dialog.getByRole('button', { name: 'Close' }).last().click();

    const device = await Device.make('');
    try {
      const got = await device.ok(['get', link, '--json'], { env: { SZ_LINK_PASSPHRASE: 'a swan' } });
      assert.equal(got.line('note')['note'], 'with love');
      assert.ok(content.equals(await readFile(device.path('For them/gift.bin'))), 'the command opens it');
      assert.equal(await readFile(device.path('For them/card.txt'), 'utf8'), 'dear');

      await page.getByRole('navigation').getByRole('button', { name: 'Shared', exact: true }).click();
      await page.getByRole('heading', { name: 'Shared', level: 1 }).waitFor();
      const line = page.getByRole('list', { name: 'Shared' }).getByRole('listitem');
      await line.getByText(/3 files, 68 KB · 1 of 2 downloads · expires .* · passphrase/).waitFor();
      await shoot(page, 'shared');
      await page.reload();
      await line.getByRole('button', { name: 'Stop sharing For them' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Stop sharing' }).click();
      await page.getByText('Nothing shared yet').waitFor();
    } finally {
      await device.remove();
    }

    // Where the server lets nobody share, nothing is offered.
    const answer = (await service.call({ path: pathOf('service') })).json as { features: string[] };
    const features = answer.features.filter((one) => one !== 'shares');
    await context.route('**/api/service', (route) => route.fulfill({ json: { ...answer, features } }));
    await page.goto('about:blank');
    await page.goto(service.url);
    await page.waitForLoadState('networkidle');
    await row(page, 'For them').waitFor();
    await row(page, 'For them').click();
    await page.getByRole('toolbar').getByRole('button', { name: 'Move' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Share|Shared|Shared with me)$/ }).count(), 0);
  });
});
