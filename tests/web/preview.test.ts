import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { choose, register, row, shoot, upload, useChromium } from './browser.ts';
import { pdf, png, wav } from './media.ts';

const service = useService();
const browser = useChromium();

async function show(page: Page, name: string): Promise<void> {
  await row(page, name).getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').getByRole('heading', { name }).waitFor();
}

test('images, texts and PDFs are shown, other files are not', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  await upload(
    page,
    await browser.file('picture.png', png(320, 200)),
    await browser.file('poem.md', '# Żółw\n\n<script>alert(1)</script>\n'),
    await browser.file('paper.pdf', pdf('A paper about wardrobes')),
    await browser.file('thing.bin', randomBytes(100)),
    await browser.file('false.png', '<html>no image</html>'),
    await browser.file('page.html', '<h1>never a page</h1>'),
  );
  await page.getByRole('button', { name: 'Clear finished' }).click();

  await show(page, 'picture.png');
  const image = page.getByRole('img', { name: 'picture.png' });
  await page.waitForFunction(
    () => (document.querySelector('dialog img') as HTMLImageElement | null)?.complete,
  );
  assert.equal(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth), 320);
  await shoot(page, 'preview-image');
  await page.keyboard.press('Escape');

  await show(page, 'poem.md');
  assert.match(await page.locator('dialog pre').innerText(), /Żółw[\s\S]*<script>alert/);
  await shoot(page, 'preview-text');
  await page.keyboard.press('Escape');

  await show(page, 'page.html');
  assert.match(await page.locator('dialog pre').innerText(), /<h1>never/);
  await page.keyboard.press('Escape');

  await show(page, 'paper.pdf');
  const frame = page.locator('dialog iframe');
  await frame.waitFor();
  const answer = await page.evaluate(
    async (url) => {
      const response = await fetch(url);
      return [response.status, response.headers.get('content-type'), await response.text()] as const;
    },
    (await frame.getAttribute('src'))!,
  );
  assert.deepEqual(answer.slice(0, 2), [200, 'application/pdf']);
  assert.match(answer[2], /A paper about wardrobes/);
  await shoot(page, 'preview-pdf');
  await page.keyboard.press('Escape');

  await show(page, 'thing.bin');
  await page.getByText('There is no preview').waitFor();
  await shoot(page, 'preview-none');
  await page.keyboard.press('Escape');
  await show(page, 'false.png');
  await page.getByText('The preview could not be shown').waitFor();
  await page.keyboard.press('Escape');
  assert.deepEqual(errors, []);
});

test('sound and film are sought by fetching only the volumes that are needed', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  // Four volumes: a sound of some minutes.
  await upload(page, await browser.file('song.wav', wav(25 * 1024 * 1024)));
  const volumes: number[] = [];
  page.context().on('request', (request) => {
    const found = /\/api\/files\/[^/]+\/chunk\/(\d+)$/.exec(request.url());
    if (found && request.method() === 'GET') volumes.push(Number(found[1]));
  });
  await show(page, 'song.wav');
  const sound = page.locator('dialog audio');
  await sound.evaluate((element) => {
    const audio = element as HTMLAudioElement;
    return (
      audio.readyState > 0 || new Promise((resolve) => audio.addEventListener('loadedmetadata', resolve))
    );
  });
  const duration = await sound.evaluate((element) => (element as HTMLAudioElement).duration);
  assert.ok(duration > 200, `${duration} s`);
  await sound.evaluate(async (element) => {
    const audio = element as HTMLAudioElement;
    audio.currentTime = audio.duration * 0.99;
    await new Promise((resolve) => audio.addEventListener('seeked', resolve, { once: true }));
  });
  await shoot(page, 'preview-sound');
  const seen = new Set(volumes);
  assert.ok(seen.has(1) && seen.has(4), `fetched ${[...seen]}`);
  assert.ok(!seen.has(2), `what lies between is not fetched: ${[...seen]}`);
  await page.keyboard.press('Escape');
  await choose(page, 'song.wav', 'Preview');
  await page.locator('dialog audio').waitFor();
});
