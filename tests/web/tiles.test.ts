/** Files as tiles, with small pictures of pictures, and the pictures of all places by month. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadThumbnail } from '@szafa/protocol';
import type { Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { register, shoot, until, upload, useChromium } from './browser.ts';
import { png } from './media.ts';

const service = useService();
const browser = useChromium();

/** The tiles by name, and the width and height of the picture in each; undefined where there is an icon. */
function tiles(page: Page): Promise<Record<string, string | undefined>> {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll('.tile')].map((tile) => {
        const canvas = tile.querySelector<HTMLCanvasElement>('canvas:not([hidden])');
        const size = canvas ? `${canvas.width}x${canvas.height}` : undefined;
        return [tile.querySelector('.tile-name')!.textContent, size];
      }),
    ),
  );
}

test('tiles show small pictures, and never that of another file', async () => {
  const { page, context, errors } = await browser.visit(service.url);
  await register(page);
  await upload(
    page,
    await browser.file('portrait.png', png(300, 600)),
    await browser.file('wide.png', png(512, 128)),
    await browser.file('small.png', png(40, 30)),
    await browser.file('note.txt', 'no picture'),
    await browser.file('false.png', 'no picture either'),
  );
  await page.getByRole('button', { name: 'Clear finished' }).click();
  const asked = new Set<string>();
  context.on('request', (request) => {
    if (!request.url().endsWith('/thumbnails')) return;
    for (const id of (request.postDataJSON() as { files: string[] }).files) asked.add(id);
  });

  await page.getByRole('button', { name: 'Grid' }).click();
  const right = {
    'portrait.png': '128x256',
    'wide.png': '256x64',
    'small.png': '40x30',
    'note.txt': undefined,
    'false.png': undefined,
  };
  await until(async () => Object.values(await tiles(page)).filter(Boolean).length === 3);
  assert.deepEqual(await tiles(page), right);
  await shoot(page, 'grid');

  // By keyboard: to the next tile, into it, through the files, and out again.
  await page.locator('.tile-open').first().focus();
  const names = await page.locator('.tile-name').allTextContents();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('heading', { name: names[1]! }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog').getByRole('heading', { name: names[2]! }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Select small.png').check();
  await page.getByText('1 selected').waitFor();

  await page.getByRole('button', { name: 'Photos' }).click();
  const month = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric' }).format(new Date());
  await page.getByRole('heading', { name: month, level: 2 }).waitFor();
  await until(async () => Object.values(await tiles(page)).filter(Boolean).length === 3);
  assert.ok(!('note.txt' in (await tiles(page))), 'only pictures');
  await shoot(page, 'timeline');

  assert.equal(asked.size, 4, 'a thumbnail for each picture, by its name, and nothing else');

  // A server that gives the thumbnail of one picture for every other as well.
  let given = 0;
  let one: ReadThumbnail | undefined;
  await context.route('**/api/files/thumbnails', async (route) => {
    const { thumbnails } = (await (await route.fetch()).json()) as { thumbnails: ReadThumbnail[] };
    one ??= thumbnails.find(({ thumbnail }) => thumbnail !== null);
    const json = { thumbnails: thumbnails.map((each) => ({ ...each, thumbnail: one?.thumbnail ?? null })) };
    await route.fulfill({ json });
    given += thumbnails.length;
  });
  await page.reload();
  await page.getByRole('heading', { name: month, level: 2 }).waitFor();
  await until(async () => given === 4 && Object.values(await tiles(page)).filter(Boolean).length === 1);
  await page.waitForLoadState('networkidle');
  const shown = Object.entries(await tiles(page)).filter(([, size]) => size);
  assert.deepEqual(
    shown,
    [[shown[0]![0], right[shown[0]![0] as keyof typeof right]]],
    'its own, and no other',
  );
  assert.deepEqual(errors, []);
});
