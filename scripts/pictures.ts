/**
 * `npm run pictures`: takes the screenshots for the documentation, docs/web-*.webp, from the real web app with a real server. Photos
 * shown in them are drawn here, so that no one else has a copyright on them.
 */
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { Service } from '../tests/harness/index.ts';
import { Chromium, choose, confirmKey, open, pick, registerWithKey, until } from '../tests/web/browser.ts';
import { SlowLine } from '../tests/web/slow-line.ts';

const DOCS = fileURLToPath(new URL('../docs', import.meta.url));
const WIDE = { width: 1120, height: 700 };
const PHONE = { width: 390, height: 700 };
const QUALITY = 72;
/** Limit for all pictures together, because they are part of every clone. */
const MOST_BYTES = 500_000;

const service = new Service();
const browser = new Chromium();

/** Takes a screenshot as WebP, by the DevTools protocol: Playwright itself cannot write WebP. */
async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(async () => {
    await document.fonts.ready;
    for (const moving of document.getAnimations()) {
      if (moving.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) moving.finish();
    }
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  await session.detach();
  await writeFile(join(DOCS, `web-${name}.webp`), Buffer.from(data, 'base64'));
}

/** Draws hills under a sky in the given hue. */
async function landscape(page: Page, name: string, hue: number): Promise<string> {
  const drawn = await page.evaluate(async (tone) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [1200, 800];
    const pen = canvas.getContext('2d')!;
    const sky = pen.createLinearGradient(0, 0, 0, 800);
    sky.addColorStop(0, `hsl(${tone} 60% 70%)`);
    sky.addColorStop(1, `hsl(${tone + 40} 80% 88%)`);
    pen.fillStyle = sky;
    pen.fillRect(0, 0, 1200, 800);
    pen.fillStyle = `hsl(${tone + 50} 95% 92%)`;
    pen.beginPath();
    pen.arc(300 + tone * 2, 240, 70, 0, Math.PI * 2);
    pen.fill();
    for (let ridge = 0; ridge < 4; ridge++) {
      pen.fillStyle = `hsl(${tone + 150} ${28 + ridge * 6}% ${58 - ridge * 13}%)`;
      pen.beginPath();
      pen.moveTo(0, 800);
      for (let x = 0; x <= 1200; x += 6) {
        const wave = Math.sin(x / (190 - ridge * 22) + tone + ridge * 2) * 54 + Math.sin(x / 61 + tone) * 14;
        pen.lineTo(x, 400 + ridge * 105 + wave);
      }
      pen.lineTo(1200, 800);
      pen.fill();
    }
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.85));
    return (new Uint8Array(await blob!.arrayBuffer()) as Uint8Array & { toBase64(): string }).toBase64();
  }, hue);
  return browser.file(name, Buffer.from(drawn, 'base64'));
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
const settled = async (page: Page) => {
  const clear = page.getByRole('button', { name: 'Clear finished' });
  await clear.waitFor();
  await until(async () => (await page.locator('.transfers .count').count()) === 0);
  await clear.click();
};

async function account(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await take(page, 'sign-in');
  const { key } = await registerWithKey(page, 'ada');
  await take(page, 'recovery-key');
  await confirmKey(page, key);
  await page.getByText('Nothing here yet').waitFor();
  await until(async () => (await page.locator('.notice').count()) === 0);
  await take(page, 'first-steps');
}

async function makeFolder(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New folder', exact: true }).click();
  await page.getByLabel('Folder name').fill(name);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await heading(page, name);
}

const NOTES = `# The ridge in three days

From the station up to the pass, then **along the ridge** to the lake.

| Day | From | To | Hours |
| --- | --- | --- | --- |
| 1 | Station | Hut at the pass | 5 |
| 2 | Hut at the pass | Lake | 7 |
| 3 | Lake | Village | 4 |

- [x] boots, map, the small stove
- [ ] tell Ania when we are back
`;

/** Morning, noon, evening, above the clouds, and a last red sky. */
const HUES = [205, 190, 20, 215, 345];

async function fill(page: Page): Promise<void> {
  await makeFolder(page, 'Taxes 2026');
  await pick(page, await browser.file('Assessment.pdf', 'p'.repeat(220_000)));
  await settled(page);
  await open(page, 'All files');
  await makeFolder(page, 'Holiday');
  const names = [
    'Morning at the lake',
    'The pass',
    'Evening in the hills',
    'Above the clouds',
    'The last day',
  ];
  const pictures = [];
  for (const [at, name] of names.entries()) pictures.push(await landscape(page, `${name}.jpg`, HUES[at]!));
  await pick(page, ...pictures, await browser.file('Three days.md', NOTES));
  await settled(page);
  await open(page, 'All files');
  await pick(
    page,
    await browser.file('Letter to Ania.txt', 'Dear Ania'),
    await browser.file('Zażółć gęślą jaźń.odt', 'o'.repeat(38_000)),
    await browser.file('Song of the river.mp3', 's'.repeat(4_300_000)),
  );
  await settled(page);
}

async function functions(page: Page): Promise<void> {
  await take(page, 'list');
  await page.locator('#filter').fill('zazolc');
  await until(async () => (await page.locator('.rows .row').count()) === 1);
  await take(page, 'search');
  await page.locator('#filter').fill('');

  await open(page, 'Holiday');
  await page.emulateMedia({ colorScheme: 'dark' });
  await choose(page, 'Evening in the hills.jpg', 'Preview');
  await page.getByRole('img', { name: 'Evening in the hills.jpg' }).waitFor();
  await take(page, 'preview');
  await page.keyboard.press('Escape');
  await page.emulateMedia({ colorScheme: 'light' });
  await choose(page, 'Three days.md', 'Preview');
  await page.frameLocator('iframe').getByText('along the ridge').waitFor();
  await take(page, 'markdown');
  await page.keyboard.press('Escape');

  await open(page, 'All files');
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Account' }).click();
  await page.getByText('Sessions').waitFor();
  await take(page, 'account');
  await page.keyboard.press('Escape');
}

/** Shows tiles, renaming, versions and the trash. */
async function living(page: Page): Promise<void> {
  await open(page, 'Holiday');
  await page.getByRole('button', { name: 'Grid' }).click();
  await until(async () => (await page.locator('.tile canvas:not([hidden])').count()) === HUES.length);
  await take(page, 'tiles');
  await page.getByRole('button', { name: 'List', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await choose(page, 'The last day.jpg', 'Rename');
  await dialog.getByLabel('New name').waitFor();
  await take(page, 'rename');
  await page.keyboard.press('Escape');
  await pick(page, await browser.file('Three days.md', `${NOTES}- [x] a second map\n`));
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await settled(page);
  await choose(page, 'Three days.md', 'Versions');
  await dialog.getByText('Current').waitFor();
  await take(page, 'versions');
  await page.keyboard.press('Escape');
  await choose(page, 'The last day.jpg', 'Delete');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('navigation', { name: 'Folders' }).getByRole('button', { name: 'Trash' }).click();
  await heading(page, 'Trash');
  await page.locator('.rows .row').waitFor();
  await take(page, 'trash');
  await open(page, 'All files');
}

/** Shows running transfers, over a connection slow enough to take a picture. */
async function transfers(page: Page, line: SlowLine): Promise<void> {
  const films = [];
  for (const name of ['Film of the ridge.mkv', 'Film of the lake.mkv', 'Backup.tar', 'Scans.zip']) {
    films.push(await browser.file(name, Buffer.alloc(24_000_000, name)));
  }
  line.bytesPerSecond = 1_500_000;
  await pick(page, ...films);
  const status = page.locator('.total .transfer-status');
  await until(async () => ((await status.count()) > 0 ? /left/.test((await status.textContent())!) : false));
  await until(
    async () => (await status.textContent())!.split(' / ')[0]!.length > '0 of 4 files · 4.0'.length,
  );
  await take(page, 'transfers');
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await settled(page);
}

/** Shows the link of a folder, and the page that it opens on a phone. */
async function sharing(page: Page): Promise<void> {
  await choose(page, 'Holiday', 'Share by a link');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Message (optional)').fill('The three days on the ridge, as promised.');
  await take(page, 'share');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = await dialog.locator('.shared-link').innerText();
  await page.keyboard.press('Escape');
  const visitor = await page.context().newPage();
  await visitor.setViewportSize(PHONE);
  await visitor.goto(link);
  await heading(visitor, 'Holiday');
  await take(visitor, 'shared');
  await visitor.close();
}

async function settings(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Settings' }).click();
  await page.getByLabel('Language').selectOption('Polski');
  await page.getByRole('dialog', { name: 'Ustawienia' }).waitFor();
  await take(page, 'settings');
  await page.getByLabel('Język').selectOption('English');
  await page.getByRole('dialog', { name: 'Settings' }).waitFor();
  await page.keyboard.press('Escape');
}

async function main(): Promise<void> {
  await mkdir(DOCS, { recursive: true });
  for (const name of await readdir(DOCS)) if (/^web-.*\.(png|webp)$/.test(name)) await rm(join(DOCS, name));
  const line = await SlowLine.start({ after: (end) => ends.push(end) }, () => service.url);
  const { page } = await browser.visit(line.url, { viewport: WIDE, colorScheme: 'light', locale: 'en' });
  await account(page);
  await fill(page);
  await functions(page);
  await living(page);
  await sharing(page);
  await transfers(page, line);
  await settings(page);
  await page.setViewportSize(PHONE);
  await take(page, 'phone');
  const taken = (await readdir(DOCS)).filter((name) => name.endsWith('.webp'));
  const sizes = await Promise.all(taken.map(async (name) => (await stat(join(DOCS, name))).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  process.stdout.write(`${taken.length} pictures, ${Math.round(bytes / 1000)} KB\n`);
  if (bytes > MOST_BYTES) throw new Error(`the pictures have ${bytes} bytes, more than ${MOST_BYTES}`);
}

const ends: (() => unknown)[] = [];
await Promise.all([service.start(), browser.start()]);
try {
  await main();
} finally {
  for (const end of ends) await end();
  await browser.stop();
  await service.discard();
}
