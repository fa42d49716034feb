import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '@szafa/protocol';
import { useService } from '../harness/index.ts';
import { choose, open, pick, register, row, shoot, until, upload, useChromium } from './browser.ts';
import { png } from './media.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();

/** A request that gets no answer until its route is taken away. */
const unanswered = () => {};

test('loading and failing lists', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  await page.getByText('Nothing here yet').waitFor();
  await context.route('**/api/quota', unanswered);
  await page.reload();
  await page.getByText('Opening your files…').waitFor();
  await shoot(page, 'loading');
  await context.unroute('**/api/quota');
  await context.route('**/api/quota', (route) => route.fulfill({ status: 500, json: { error: 'no' } }));
  await page.reload();
  await page.getByText('Couldn’t load your files').waitFor();
  await page.getByText('Something went wrong on the server. Try again.').waitFor();
  await shoot(page, 'list-failed');
  await context.unroute('**/api/quota');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Nothing here yet').waitFor();
});

test('a start that fails says why and offers to try again; one without an answer goes on by itself', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  const within = () => page.getByRole('heading', { name: 'All files' }).waitFor();
  const tryAgain = () => page.getByRole('button', { name: 'Try again' }).click();

  await context.route('**/api/auth/me', unanswered);
  await page.reload();
  await page.getByText('Opening szafa…').waitFor();
  await shoot(page, 'starting');
  await context.unroute('**/api/auth/me');
  await within();

  await context.route('**/api/auth/me', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>Welcome to our hotel</h1>' }),
  );
  await page.reload();
  await page.getByRole('heading', { name: 'The server at this address isn’t szafa.' }).waitFor();
  await shoot(page, 'start-failed');
  await context.unroute('**/api/auth/me');
  await tryAgain();
  await within();

  const AWAY = /\/(api\/|readyz)/;
  await context.route(AWAY, (route) => route.abort());
  await page.reload();
  await page.getByRole('heading', { name: 'Can’t reach the server.' }).waitFor();
  await page.getByText('Trying again…').waitFor();
  await shoot(page, 'start-unreachable');
  // Looked for from now on: it is told for some seconds only.
  const told = page.getByText('Back online.').waitFor();
  await context.unroute(AWAY);
  await within();
  await told;

  // The script of the page's worker, as when the service got another version in between.
  await page.evaluate(() => caches.delete('szafa-shell'));
  await context.route('**/assets/main-*', (route) => route.fulfill({ status: 404, json: { error: 'no' } }));
  await page.reload();
  await page.getByRole('heading', { name: 'Part of this page couldn’t be loaded.' }).waitFor();
  await shoot(page, 'start-part-missing');
  await context.unroute('**/assets/main-*');
  await tryAgain();
  await within();
});

test('a browser that is too old is told so, and what to do', async () => {
  const { page, context } = await browser.visit('about:blank');
  await context.addInitScript(() => Reflect.deleteProperty(Array, 'fromAsync'));
  await page.goto(service.url);
  await page.getByRole('heading', { name: 'This browser is too old' }).waitFor();
  await page.getByText('Update this browser, or open this address in another one.').waitFor();
  await page.getByText('It lacks: Array.fromAsync.').waitFor();
  assert.equal(await page.getByLabel('Password').count(), 0, 'no password is asked for');
  await shoot(page, 'too-old');
});

test('the description of the interface is readable on a phone and in the dark, every reference resolved', async () => {
  const viewport = { width: 360, height: 740 };
  const { page, errors } = await browser.visit(`${service.url}/docs`, { viewport, colorScheme: 'dark' });
  const seen = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    back: getComputedStyle(document.body).backgroundColor,
    text: document.body.innerText,
    links: [...document.querySelectorAll('nav a')].map((link) => (link as HTMLAnchorElement).hash.slice(1)),
    missing: [...document.querySelectorAll('nav a')]
      .map((link) => (link as HTMLAnchorElement).hash)
      .filter((hash) => document.querySelector(hash) === null),
  }));
  assert.equal(seen.width, viewport.width, 'nothing to scroll sideways');
  assert.deepEqual(
    seen.back
      .match(/\d+/g)!
      .map(Number)
      .filter((part) => part > 64),
    [],
    `dark: ${seen.back}`,
  );
  assert.doesNotMatch(seen.text, /\$ref|#\/components|undefined|\[object/);
  assert.deepEqual(seen.links.toSorted(), Object.keys(routes).toSorted());
  assert.deepEqual(seen.missing, []);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#register$/);
  await shoot(page, 'docs');
  assert.deepEqual(errors, [], 'the policy lets its style through');
});

test('what is counted, said and in sight while files come, are looked for and looked at', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url, { viewport: { width: 1000, height: 560 } });
  await register(page);
  await page.getByText('Nothing here yet').waitFor();

  // Transfers: a card in the corner, which folds by itself when all are done, also where it was opened by hand.
  line.bytesPerSecond = 200_000;
  await pick(page, await browser.file('film.bin', new Uint8Array(1_500_000)));
  await page.getByText('Your files appear here once they’re uploaded.').waitFor();
  assert.equal(await page.getByText('Nothing here yet').count(), 0);
  const card = (await page.locator('.transfers').boundingBox())!;
  assert.ok(card.width < 500 && card.height < 260 && card.y > 300, JSON.stringify(card));
  await page.getByRole('button', { name: 'Hide transfers' }).click();
  await page.getByRole('button', { name: 'Show transfers' }).click();
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await row(page, 'film.bin').waitFor();
  await page.getByRole('button', { name: 'Show transfers' }).waitFor();
  await page.getByRole('button', { name: 'Clear finished' }).click();

  // Numbers: folders are found as well, and of pictures only those are counted that are shown.
  await page.getByRole('button', { name: 'New folder', exact: true }).click();
  const create = page.getByRole('button', { name: 'Create', exact: true });
  await create.click();
  const field = page.getByLabel('Folder name');
  await page.getByRole('alert').getByText('Enter a name.').waitFor();
  await field.and(page.locator(':focus[aria-invalid=true][aria-describedby=name-fault]')).waitFor();
  await field.fill('Zażółć');
  await create.click();
  await page.getByRole('heading', { name: 'Zażółć' }).waitFor();
  await open(page, 'All files');
  await page.locator('#filter').fill('zazolc');
  await page.getByText('Found: 1 folder', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Grid' }).click();
  await page.locator('.tile-folders').getByRole('button', { name: 'Zażółć' }).waitFor();
  await page.locator('#filter').fill('');
  const pictures = ['one.png', 'two.png'];
  for (const name of pictures) await pick(page, await browser.file(name, png(30, 20)));
  await page.getByText('1 folder, 3 files', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Photos' }).click();
  await page.getByText('2 files', { exact: true }).waitFor();
  await page.locator('#filter').fill('one');
  await page.getByText('Found: 1 file', { exact: true }).waitFor();
  await page.locator('#filter').fill('');
  await page.getByRole('button', { name: 'List', exact: true }).click();

  // A dialog that is taller than the window: what is in it scrolls, inside its round corners; keys are in one piece.
  await page.keyboard.press('?');
  await page.getByText('Keyboard').waitFor();
  const about = await page.evaluate(() => {
    const dialog = document.querySelector('dialog')!;
    const body = dialog.querySelector('.modal-body')!;
    const keys = [...dialog.querySelectorAll('.keys div')].map((line) => {
      const [cap, words] = ['kbd', 'dd'].map((part) => line.querySelector(part)!.getBoundingClientRect());
      return { height: cap!.height, gap: words!.left - cap!.right };
    });
    return {
      outside: dialog.scrollHeight - dialog.clientHeight,
      inside: body.scrollHeight - body.clientHeight,
      bad: keys.filter(({ height, gap }) => height > 30 || gap < 8),
    };
  });
  assert.ok(about.outside === 0 && about.inside > 0, JSON.stringify(about));
  assert.deepEqual(about.bad, []);
  await page.keyboard.press('Escape');

  // A document in a frame: something is shown before it is there.
  await upload(page, await browser.file('poem.md', '# Poem\n\n**bold**\n'));
  await page.evaluate(() => {
    const seen: boolean[] = [];
    Reflect.set(globalThis, 'seen', seen);
    new MutationObserver(() => {
      const frame = document.querySelector('dialog iframe');
      if (frame) seen.push(document.querySelector('dialog .spinner') !== null);
    }).observe(document.body, { childList: true, subtree: true });
  });
  await choose(page, 'poem.md', 'Preview');
  await page.frameLocator('dialog iframe').getByText('bold').waitFor();
  await until(async () => (await page.locator('dialog .spinner').count()) === 0);
  assert.equal(await page.evaluate(() => (Reflect.get(globalThis, 'seen') as boolean[])[0]), true);
  await page.keyboard.press('Escape');

  // Notices, one below the other: their buttons are in one column.
  await choose(page, 'one.png', 'Delete');
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'one.png').waitFor();
  await choose(page, 'two.png', 'Delete');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  const ends = await page.locator('.notice .icon-button').evaluateAll((buttons) => ({
    count: buttons.length,
    rights: new Set(buttons.map((one) => Math.round(one.getBoundingClientRect().right))).size,
  }));
  assert.ok(ends.count > 1 && ends.rights === 1, JSON.stringify(ends));

  // In Polish the names of places are longer; ten thousand files are a long number.
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Settings' }).click();
  await page.getByLabel('Language').selectOption('Polski');
  await page.getByRole('heading', { name: 'Wszystkie pliki' }).waitFor();
  await page.locator('.place-count').evaluateAll((all) => {
    for (const one of all) one.textContent = '10 000';
  });
  const cut = await page
    .locator('.place-name')
    .evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
    );
  assert.deepEqual(cut, []);
});
