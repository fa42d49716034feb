/** A whole exchange between two accounts, each in a browser of its own: shared, seen, read, compared, ended; and keys that change. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesSource, newTicket, Szafa } from '@szafa/client/node';
import type { Page, Route } from 'playwright-core';
import { useService } from '../harness/index.ts';
import {
  choose,
  keptIn,
  makeFolder,
  open,
  PASSWORD,
  PHONE,
  register,
  shoot,
  signIn,
  signOut,
  until,
  upload,
  useChromium,
} from './browser.ts';

const service = useService();
const browser = useChromium();

const exactly = (name: string) => ({ name, exact: true });
const fingerprint = /^(\d{5} ){11}\d{5}$/;

async function goTo(page: Page, place: string): Promise<void> {
  // On a phone the places are in a drawer.
  const menu = page.getByRole('button', exactly('Folders'));
  if (await menu.isVisible()) await menu.click();
  await page.getByRole('navigation', exactly('Folders')).getByRole('button', exactly(place)).click();
  await page.getByRole('heading', { name: place, level: 1 }).waitFor();
}

async function shareWith(page: Page, row: string, username: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  if ((await dialog.count()) === 0) await choose(page, row, 'Share');
  await dialog.getByLabel('Share with').selectOption('A user on this server');
  await dialog.getByLabel('Username').fill(username);
  await dialog.getByRole('button', exactly('Share')).click();
}

const close = (page: Page) => page.getByRole('dialog').getByRole('button', exactly('Close')).first().click();

/** What a browser knows of the other, and of its own: as the dialog of fingerprints shows it. */
async function lookAtKeys(page: Page) {
  await page.getByRole('button', { name: 'Contacts and fingerprints' }).click();
  const dialog = page.getByRole('dialog');
  const others = dialog.getByRole('list', { name: 'Your contacts' });
  await others.waitFor();
  return { dialog, others, own: await dialog.locator('.fingerprint').first().innerText() };
}

async function saved(page: Page, name: string): Promise<string> {
  const soon = page.waitForEvent('download');
  await page.getByRole('button', exactly(name)).click();
  const file = await soon;
  assert.equal(await file.failure(), null);
  return file.path();
}

test('two accounts share with each other through the page, and other keys than before stop them', async () => {
  const { page: hers } = await browser.visit(service.url);
  const { page: his, errors } = await browser.visit(service.url, { viewport: PHONE });
  const alice = await register(hers);
  const bob = await register(his);

  // Nothing yet, on his side.
  await goTo(his, 'Shared with me');
  await his.getByText('Nothing shared with you yet').waitFor();

  const data = randomBytes(70_000);
  await makeFolder(hers, 'gift');
  await open(hers, 'gift');
  await upload(hers, await browser.file('poem.txt', 'so much depends'), await browser.file('data.bin', data));
  await open(hers, 'All files');
  await shareWith(hers, 'gift', 'nobody_has_this');
  const dialog = hers.getByRole('dialog');
  await dialog.getByText('No user with that name').waitFor();
  await dialog.getByLabel('Username').and(hers.locator(':focus[aria-invalid=true]')).waitFor();
  const size = hers.viewportSize()!;
  await hers.setViewportSize({ width: 360, height: 560 });
  const seen = () =>
    dialog.getByRole('button', { name: 'Share', exact: true }).evaluate((button) => {
      const { top, bottom } = button.getBoundingClientRect();
      return (
        top > 0 && bottom <= innerHeight && document.elementFromPoint(innerWidth - 60, bottom - 8) === button
      );
    });
  await until(seen);
  await hers.setViewportSize(size);
  await shareWith(hers, 'gift', alice);
  await dialog.getByText('That’s you.').waitFor();
  await dialog.getByLabel('Message (optional)', { exact: true }).fill('for <b>you</b>');
  await shoot(hers, 'share-account');
  await shareWith(hers, 'gift', ` ${bob} `);
  await dialog.getByRole('heading', { name: `Shared with ${bob}` }).waitFor();
  const seenOfHim = await dialog.locator('.fingerprint').innerText();
  assert.match(seenOfHim, fingerprint);
  await shoot(hers, 'share-account-made');

  // He finds it, and reads it; what he sees of her keys is what she sees, and the other way round.
  await his.reload();
  const line = his.getByRole('list', { name: 'Shared with you' }).getByRole('listitem').first();
  await line.getByText(new RegExp(`from ${alice} · 2 files, 68 KB`)).waitFor();
  await line.getByText('Not verified').waitFor();
  await his.getByRole('button', exactly('Show files of gift')).click();
  await his.getByText('for <b>you</b>').waitFor();
  await shoot(his, 'received');
  const wide = await his.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `${wide} px wide`);
  await his.getByRole('button', exactly('poem.txt')).click();
  await his.getByRole('dialog').getByText('so much depends').waitFor();
  await his.keyboard.press('Escape');
  assert.ok(data.equals(await readFile(await saved(his, 'Download data.bin'))), 'the bytes of a file');
  const out = join(browser.folder, 'received-zip');
  execFileSync('unzip', ['-q', await saved(his, 'Download all as zip'), '-d', out]);
  assert.ok(data.equals(await readFile(join(out, 'gift/data.bin'))));
  assert.equal(await readFile(join(out, 'gift/poem.txt'), 'utf8'), 'so much depends');

  // One that somebody changed on the way is told as that, and keeps him from no other.
  await his.context().route('**/api/shared', async (route) => {
    const response = await route.fetch();
    const { shares } = (await response.json()) as { shares: { id: string; letter: string }[] };
    const [good] = shares;
    const letter = good!.letter.replace(/.{4}$/, (last) => (last === 'AAAA' ? 'BBBB' : 'AAAA'));
    await route.fulfill({ json: { shares: [{ ...good, id: 'A'.repeat(22), letter }, good] } });
  });
  await his.reload();
  const all = his.getByRole('list', { name: 'Shared with you' }).getByRole('listitem');
  await all.getByText(`This wasn’t signed by ${alice}, or it was changed on the way`).waitFor();
  await all.getByText('Not verified').waitFor();
  assert.equal(await all.count(), 2);
  await his.context().unroute('**/api/shared');
  await his.reload();
  await line.getByText('Not verified').waitFor();

  const { others, own } = await lookAtKeys(his);
  assert.equal(own, seenOfHim);
  const seenOfHer = await others.locator('.fingerprint').innerText();
  await shoot(his, 'contacts');
  await others.getByRole('button', { name: `Mark as verified: ${alice}` }).press('Enter');
  await others.getByText('Verified', { exact: true }).waitFor();
  // By the keyboard alone it goes on where it was.
  await until(() => others.getByRole('listitem').evaluate((one) => one.contains(document.activeElement)));
  await close(his);
  await line.getByText('Verified', { exact: true }).waitFor();
  // Whoever goes elsewhere meanwhile stays there.
  const held = Promise.withResolvers<Route>();
  await hers.context().route('**/api/accounts/*/identity', (route) => held.resolve(route), { times: 1 });
  await dialog.getByRole('button', { name: `Mark as verified: ${bob}` }).press('Enter');
  const answer = await held.promise;
  const elsewhere = dialog.getByRole('button', exactly('Close')).first();
  await elsewhere.focus();
  await answer.continue();
  await dialog.getByText(`You’ve verified the keys of ${bob}.`).waitFor();
  await hers.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  await elsewhere.and(hers.locator(':focus')).waitFor();
  await close(hers);
  await goTo(hers, 'Shared with me');
  assert.equal((await lookAtKeys(hers)).own, seenOfHer);
  await close(hers);

  // She ends it. He is told so where he looks, and later has nothing of it.
  await goTo(hers, 'Shared');
  const shared = hers.getByRole('list', exactly('Shared')).getByRole('listitem');
  await shared.getByText(`with ${bob} · 2 files`).waitFor();
  await hers.getByRole('button', exactly(`Stop sharing gift with ${bob}`)).click();
  await hers.getByRole('dialog').getByRole('button', exactly('Stop sharing')).click();
  await hers.getByText('Nothing shared yet').waitFor();
  await his.getByRole('button', exactly('Show files of gift')).click();
  await line.getByText('Its owner stopped sharing it').waitFor();
  await his.reload();
  await his.getByText('Nothing shared with you yet').waitFor();

  // What he compared outlives a sign-out, without her name.
  await signOut(his);
  const { contacts, session } = await keptIn(his);
  assert.deepEqual([contacts!.length, session!.length], [1, 0]);
  assert.doesNotMatch(JSON.stringify(contacts), new RegExp(`${alice}|${bob}`));
  await signIn(his, bob);

  // Her account is made anew: the same name, and other keys.
  await (await Szafa.login({ server: service.url }, { username: alice, password: PASSWORD })).deleteAccount({
    password: PASSWORD,
  });
  const anew = await Szafa.register({ server: service.url }, { username: alice, password: PASSWORD });
  await anew.upload(bytesSource(Buffer.from('it is me')), { path: 'me.txt' });
  const [entry] = await anew.list();
  await anew.shareWith(bob, [{ entry: entry!, name: 'me.txt' }]);
  await upload(his, await browser.file('own.txt', 'mine'));
  await shareWith(his, 'own.txt', alice);
  await his.getByRole('dialog').getByText('Nothing was shared: the keys').waitFor();
  await shoot(his, 'share-refused');
  await close(his);
  await goTo(his, 'Shared with me');
  await line.getByText(`The keys of ${alice} have changed`).waitFor();
  assert.equal(await his.getByRole('button', { name: /^Show files of/ }).count(), 0);
  await shoot(his, 'received-changed');
  await line.getByRole('button', exactly('Check the keys')).click();
  const keys = his.getByRole('dialog');
  const typed = keys.getByLabel(`Fingerprint read out by ${alice}`);
  const now = await anew.fingerprint();
  assert.notEqual(now, seenOfHer);
  assert.equal(await keys.getByText(now.slice(0, 11)).count(), 0, 'nothing to copy it from');
  const accept = async (words: string) => {
    await typed.fill(words);
    await keys.getByRole('button', exactly('Accept these keys')).click();
  };
  await accept('12345');
  await keys.getByText('A fingerprint has 60 digits.').waitFor();
  await accept(seenOfHer);
  await keys.getByText('doesn’t match the keys').waitFor();
  await shoot(his, 'contact-changed');
  await accept(now.replaceAll(' ', ''));
  await keys.getByText(`The new keys of ${alice} are accepted.`).waitFor();
  await close(his);
  await line.getByText('Verified', { exact: true }).waitFor();
  await his.getByRole('button', exactly('Show files of me.txt')).click();
  await his.getByRole('button', exactly('me.txt')).click();
  await his.getByRole('dialog').getByText('it is me').waitFor();
  await his.keyboard.press('Escape');
  await his.getByRole('dialog').waitFor({ state: 'detached' });

  // And back: what the page shares, another client of hers reads.
  await his.goto(`${service.url}/#/`);
  await shareWith(his, 'own.txt', alice);
  await his.getByText(`You’ve verified the keys of ${alice}.`).waitFor();
  await close(his);
  const [back] = await anew.sharedWithMe();
  assert.deepEqual([back!.from, back!.title, back!.problem], [bob, 'own.txt', undefined]);
  const read = await back!.open();
  const ticket = newTicket(anew.engine);
  await read.take(ticket);
  assert.equal(Buffer.from(await read.file(1, ticket).readRange(0, 100)).toString(), 'mine');
  await goTo(his, 'Shared with me');

  await his.getByRole('button', exactly('Remove me.txt')).click();
  await his.getByRole('dialog').getByRole('button', exactly('Remove')).click();
  await his.getByText('Nothing shared with you yet').waitFor();
  assert.deepEqual(
    (await anew.links()).map(({ ended }) => ended),
    ['ended'],
  );
  assert.deepEqual(
    errors.filter((one) => !/status of 4/.test(one)),
    [],
  );
});
