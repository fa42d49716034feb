/** Files that are asked for by a link: what visitors do without an account, and what the owner does with what comes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { type Delivery, Szafa } from '@szafa/client/node';
import type { Page } from 'playwright-core';
import { freshName, useService } from '../harness/index.ts';
import {
  download,
  drop,
  keptIn,
  makeFolder,
  obstacles,
  open,
  PASSWORD,
  pick,
  register,
  shoot,
  signOut,
  transfers,
  until,
  useChromium,
  volumesTaken,
} from './browser.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** That it can be read, and fits. */
async function assertReadable(page: Page, what: string): Promise<void> {
  assert.deepEqual(await obstacles(page), [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `${what}: ${wide} px wide`);
}

const told = (page: Page, title: string) => page.getByRole('heading', { name: title }).waitFor();

async function contentOf(owner: Szafa, path: string): Promise<Buffer> {
  const entry = (await owner.list()).find((one) => one.path === path);
  assert.ok(entry, path);
  const file = await owner.openFile(entry.fileId, { record: entry.record });
  return Buffer.from(await file.readRange(0, entry.size));
}

suite('requests', () => {
  test('the owner asks in the app, a visitor sends, the owner takes over what is wanted, deletes the rest, and ends it', async () => {
    const { page, context } = await browser.visit(service.url, { viewport: WIDE });
    await register(page);
    await makeFolder(page, 'Inbox');
    const side = page.getByRole('navigation');
    await side.getByRole('button', { name: 'Shared', exact: true }).click();
    await page.getByText('Nothing shared yet').waitFor();
    await page.getByRole('button', { name: 'Request files' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'All files' }).click();
    await dialog.getByRole('treeitem', { name: /^Inbox/ }).click();
    await dialog.getByRole('button', { name: 'Choose this folder' }).click();
    await dialog.getByLabel('Expires').selectOption('In 1 day');
    await dialog.getByLabel('Maximum files').fill('3');
    await dialog.getByLabel('Maximum total size (GB)').fill('0.5');
    await dialog.getByLabel('Message (optional)').fill('the photos, please');
    await shoot(page, 'request');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const link = await dialog.locator('.shared-link').innerText();
    await dialog.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await dialog.getByRole('button', { name: 'Copy link' }).click();
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === link);
    await shoot(page, 'request-made');
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const request = page.getByRole('list', { name: 'File requests' }).getByRole('listitem');
    await request.getByText(/^0 of 3 files received · 0 B \/ 512 MB · expires /).waitFor();

    const visitor = await browser.visit(link, { viewport: PHONE, locale: 'en-GB' });
    await visitor.page.getByText('the photos, please').waitFor();
    const contents = {
      'photo.bin': randomBytes(17 * MIB),
      'note.txt': Buffer.from('hello'),
      'junk.exe': Buffer.from('x'),
    };
    const paths = [];
    for (const [name, content] of Object.entries(contents)) paths.push(await browser.file(name, content));
    await pick(visitor.page, ...paths);
    await visitor.page.getByText('Sent: 3 files, 17 MB.').waitFor();

    // Somebody who comes back to the tab sees what has come meanwhile.
    await page.evaluate(() => globalThis.dispatchEvent(new Event('focus')));
    const came = page.getByRole('list', { name: 'Received' }).getByRole('listitem');
    await came
      .filter({ hasText: 'photo.bin' })
      .getByText(/^17 MB · .* · for Inbox$/)
      .waitFor();
    await until(async () => (await came.count()) === 3);
    await request.getByText('full').waitFor();
    await shoot(page, 'deliveries');
    await page.getByRole('button', { name: 'Delete junk.exe' }).click();
    await dialog.getByText('You can’t undo this').waitFor();
    await dialog.getByRole('button', { name: 'Delete forever' }).click();
    await until(async () => (await came.count()) === 2);
    await page.getByRole('button', { name: 'Save note.txt to my files' }).click();
    await dialog.getByRole('treeitem', { name: /^All files/ }).click();
    await dialog.getByRole('button', { name: 'Save to my files' }).click();
    await until(async () => (await came.count()) === 1);
    await page.getByRole('button', { name: 'Save to my files' }).click();
    await page.getByText('1 file saved.').last().waitFor();
    await until(async () => (await came.count()) === 0);

    // What has come counts, so it is over; it leaves the list. Another one is ended, and its visitor is told.
    await request.getByRole('button', { name: 'Remove Inbox from the list' }).click();
    await until(async () => (await request.count()) === 0);
    await page.getByRole('button', { name: 'Request files' }).click();
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const second = await dialog.locator('.shared-link').innerText();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await visitor.page.goto(second);
    await told(visitor.page, 'Send files');
    await request.getByRole('button', { name: 'Close request for All files' }).click();
    await dialog.getByRole('button', { name: 'Close request' }).click();
    await page.getByText('Request closed.').waitFor();
    await pick(visitor.page, paths[1]!);
    await told(visitor.page, 'This link no longer works');

    await open(page, 'All files');
    assert.ok(contents['note.txt'].equals(await download(page, 'note.txt')), 'what was put elsewhere');
    await open(page, 'Inbox');
    assert.ok(contents['photo.bin'].equals(await download(page, 'photo.bin')), 'in several volumes');
  });

  test('what a visitor has not finished is of no account: it outlives a sign-out in the same browser', async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const owner = await Szafa.register(
      { server: service.url },
      { username: freshName(), password: PASSWORD },
    );
    const { link } = await owner.requestLink({ folder: 'Inbox', files: 2, size: 40 * MIB });
    const there = link.replace(service.url, line.url);
    const { page } = await browser.visit(there, { locale: 'en-GB' });
    const before = volumesTaken(service);
    const taken = () => volumesTaken(service) - before;
    const large = await browser.file('of-a-visitor.bin', randomBytes(17 * MIB));
    line.bytesPerSecond = 2 * MIB;
    await pick(page, large);
    await until(() => taken() >= 1);
    line.bytesPerSecond = 256 * 1024;
    await page.reload();
    await page.getByText(/^Interrupted/).waitFor();
    const already = taken();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;

    await page.goto(line.url);
    await register(page);
    await signOut(page);
    const { session, journal, uploads } = await keptIn(page);
    assert.deepEqual({ session, journal, uploads }, { session: [], journal: [], uploads: [] });
    await page.goto(there);
    await page.getByText(/^Interrupted/).waitFor();
    await pick(page, large);
    await page.getByText('Sent: 1 file, 17 MB.').waitFor();
    assert.ok(taken() - already < 3, `${already} of 3 volumes before the sign-out, ${taken()} in all`);
  });

  test('a visitor sends files over a line that breaks; they arrive whole, and what is over is told', async (t) => {
    const line = await SlowLine.start(t, () => service.url);
    const owner = await Szafa.register(
      { server: service.url },
      { username: freshName(), password: PASSWORD },
    );
    const ask = async (files: number, size: number, expiresAt = new Date(Date.now() + DAY_MS)) =>
      owner.requestLink({ folder: 'Inbox', files, size, note: 'for <b>me</b>', expiresAt });
    const through = ({ link }: { link: string }) => link.replace(service.url, line.url);
    const asked = await ask(3, 30 * MIB);
    const { page, context, errors } = await browser.visit(through(asked), {
      viewport: PHONE,
      locale: 'en-GB',
    });
    const seen: string[] = [];
    context.on('request', (request) => seen.push(`${request.url()} ${request.postData() ?? ''}`));

    await told(page, 'Send files');
    await page.getByText('for <b>me</b>').waitFor();
    await page.getByText('You can send up to 3 more files (30 MB).').waitFor();
    await page.getByText('Open until').waitFor();
    await assertReadable(page, 'asked');
    await shoot(page, 'asked');

    // A small one, by drag and drop; a large one that a cut line, a pause and a reload interrupt.
    const contents = { 'żółw.txt': Buffer.from('a turtle'), 'large.bin': randomBytes(17 * MIB) };
    const button = page.getByRole('button', { name: 'Choose files' });
    await drop(page, [await browser.file('żółw.txt', contents['żółw.txt'])], { onto: button });
    await page.getByText('Sent: 1 file, 8 B.').waitFor();
    await page.getByText('You can send up to 2 more files').waitFor();
    await assertReadable(page, 'sent');

    const before = volumesTaken(service);
    const taken = () => volumesTaken(service) - before;
    const large = await browser.file('large.bin', contents['large.bin']);
    line.bytesPerSecond = 2 * MIB;
    await pick(page, large);
    await until(() => taken() >= 1);
    // So that nothing of it comes to its end before the reload, on however slow a machine.
    line.bytesPerSecond = 256 * 1024;
    await assertReadable(page, 'sending');
    line.cut();
    await page.getByText('The server isn’t responding.').waitFor();
    await assertReadable(page, 'cut off');
    line.mend();
    await page.getByText(/^Uploading · /).waitFor();
    await page.reload();
    await page.getByText(/^Interrupted/).waitFor();
    await until(async () => (await transfers(page))[0]!.share > 0);
    await shoot(page, 'asked-interrupted');
    // The line still holds bytes from before the reload, and would deliver them with the next ones.
    line.cut();
    line.mend();
    const already = taken();
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    await pick(page, large);
    await page.getByText('Sent: 1 file, 17 MB.').waitFor();
    await page.getByText('You can’t see, change or take them back here').waitFor();
    assert.ok(taken() - already < 3, `${already} of 3 volumes before the reload, ${taken()} in all`);
    for (const [store, all] of Object.entries(await keptIn(page)))
      assert.deepEqual(all, [], `nothing stays in the browser: ${store}`);

    // What is too large, or one too many, is refused before it is sent; one that is given up counts no more.
    await page.getByText('You can send up to 1 more file (13 MB).').waitFor();
    await pick(page, await browser.file('too-large.bin', Buffer.alloc(14 * MIB)));
    await page.getByText('This link has reached its limit. The owner’s limit').waitFor();
    await assertReadable(page, 'refused');
    await page.getByRole('button', { name: 'Cancel too-large.bin' }).click();
    line.bytesPerSecond = MIB;
    await pick(page, await browser.file('unwanted.bin', randomBytes(12 * MIB)));
    await page.getByText(/^Uploading · /).waitFor();
    const left = async () => (await owner.requests())[0]!.uploading;
    await until(async () => (await left()) === 1);
    await page.getByRole('button', { name: 'Cancel unwanted.bin' }).click();
    await until(async () => (await left()) === 0);
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    await pick(page, await browser.file('last.txt', 'the last'));
    await told(page, 'This link has reached its limit');
    await assertReadable(page, 'full');

    // The owner has them, and nobody between saw a key, a name or a byte.
    const deliveries: Delivery[] = await owner.deliveries();
    assert.deepEqual(deliveries.map(({ name, folder, size }) => [name, folder, size]).toSorted(), [
      ['large.bin', 'Inbox', 17 * MIB],
      ['last.txt', 'Inbox', 8],
      ['żółw.txt', 'Inbox', 8],
    ]);
    for (const delivery of deliveries) await owner.takeOver(delivery);
    for (const [name, content] of Object.entries(contents))
      assert.ok(content.equals(await contentOf(owner, `Inbox/${name}`)), name);
    const secret = asked.link.split('#')[1]!;
    for (const part of [secret.slice(0, 20), 'żółw', 'large.bin', 'a turtle'])
      assert.deepEqual(
        seen.filter((one) => one.includes(part)),
        [],
        part,
      );
    assert.deepEqual(await context.cookies(), []);
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    assert.deepEqual(
      errors.filter((one) => !/status of 4|ERR_|WebSocket/.test(one)),
      [],
    );

    // What is over, cut off, or not right is told as that; an upload that is on its way ends with its request.
    const late = await browser.visit(through(asked), { viewport: PHONE, locale: 'pl-PL' });
    await told(late.page, 'Limit tego linku został wyczerpany');
    const soon = Date.now() + 6_000;
    const short = await ask(1, MIB, new Date(soon));
    const other = await ask(2, 40 * MIB);
    const go = async (to: string) => {
      await late.page.goto('about:blank');
      await late.page.goto(to);
    };
    const [address, key] = through(other).split('#') as [string, string];
    await go(address);
    await told(late.page, 'Ten link jest niepełny');
    await go(`${address}#${key.slice(0, 70)}${key[70] === 'A' ? 'B' : 'A'}${key.slice(71)}`);
    await told(late.page, 'Ten link nie pasuje do plików');
    await go(`${through(short).split('#')[0]}#${key}`);
    await told(late.page, 'Ten link nie istnieje');
    await until(() => Date.now() > soon);
    await go(through(short));
    await told(late.page, 'Ten link wygasł');
    await go(through(other));
    await told(late.page, 'Prześlij pliki');
    line.bytesPerSecond = MIB;
    await pick(late.page, large);
    await late.page.getByText(/^Przesyłanie · /).waitFor();
    await owner.endRequest(other.id);
    line.bytesPerSecond = Number.POSITIVE_INFINITY;
    await told(late.page, 'Ten link już nie działa');
    await assertReadable(late.page, 'ended');
    await late.page.reload();
    await told(late.page, 'Ten link już nie działa');
    const stays = await keptIn(late.page);
    assert.deepEqual(
      [stays['journal'], stays['uploads']],
      [[], []],
      'no name or key stays of what cannot go on',
    );
  });
});
