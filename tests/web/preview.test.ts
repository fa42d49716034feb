import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { choose, picture, register, row, shoot, upload, useChromium } from './browser.ts';
import { pdf, png, wav, webm } from './media.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;
const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>';

async function show(page: Page, name: string): Promise<void> {
  await row(page, name).getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').getByRole('heading', { name }).waitFor();
}

/** The share of an element, as it looks, that is magenta. */
async function magenta(element: Locator): Promise<number> {
  const seen = (await element.screenshot()).toString('base64');
  return element.page().evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d')!;
    pen.drawImage(image, 0, 0);
    const { data } = pen.getImageData(0, 0, image.width, image.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at]! > 200 && data[at + 1]! < 60 && data[at + 2]! > 200) count++;
    }
    return count / (data.length / 4);
  }, seen);
}

test('images, texts and PDFs are shown, other files are not', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  await upload(
    page,
    await browser.file('picture.png', png(320, 200)),
    await browser.file('poem.txt', '# Żółw\n\n<script>alert(1)</script>\n'),
    await browser.file('paper.pdf', pdf('A paper about wardrobes')),
    await browser.file('thing.bin', randomBytes(100)),
    await browser.file('false.png', '<html>no image</html>'),
    await browser.file('page.html', '<h1>never a page</h1>'),
    await browser.file('drawing.svg', DRAWING),
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

  // Opened by itself, a drawing is a document under our address: it runs nothing, and reaches nothing of ours.
  await show(page, 'drawing.svg');
  const source = (await page.locator('dialog img').getAttribute('src'))!;
  const [type, sniffing, policy] = await page.evaluate(async (url) => {
    const { headers } = await fetch(url);
    return ['content-type', 'x-content-type-options', 'content-security-policy'].map((name) =>
      headers.get(name),
    );
  }, source);
  assert.deepEqual([type, sniffing], ['image/svg+xml', 'nosniff']);
  assert.match(policy!, /default-src 'none'.*; sandbox$/);
  await page.keyboard.press('Escape');

  await show(page, 'poem.txt');
  assert.match(await page.locator('dialog pre').innerText(), /Żółw[\s\S]*<script>alert/);
  await shoot(page, 'preview-text');
  await page.keyboard.press('Escape');

  await show(page, 'page.html');
  await page.frameLocator('dialog iframe').getByText('<h1>never').waitFor();
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
  // The browser's own viewer draws it, some time after the frame is there.
  for (let waited = 0; (await magenta(frame)) < 0.05; waited += 200) {
    assert.ok(waited < 60_000, 'the PDF is drawn');
    await page.waitForTimeout(200);
  }
  await shoot(page, 'preview-pdf');
  await page.keyboard.press('Escape');

  await show(page, 'thing.bin');
  await page.getByText('No preview available').waitFor();
  await shoot(page, 'preview-none');
  await page.keyboard.press('Escape');
  await show(page, 'false.png');
  await page.getByText('Couldn’t show the preview').waitFor();
  await page.keyboard.press('Escape');

  // One after the other, in the order of the list.
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  const names = [
    'drawing.svg',
    'false.png',
    'page.html',
    'paper.pdf',
    'picture.png',
    'poem.txt',
    'thing.bin',
  ];
  const [previous, next] = ['Previous file', 'Next file'].map((name) => page.getByRole('button', { name }));
  const heading = page.getByRole('dialog').getByRole('heading', { level: 2 }).first();
  await show(page, names[0]!);
  assert.ok(await previous!.isDisabled());
  for (const name of names.slice(1)) {
    await next!.click();
    await page.getByRole('dialog').getByRole('heading', { name }).waitFor();
  }
  assert.ok(await next!.isDisabled());
  await page.getByText('No preview available').waitFor();
  await previous!.click();
  await page.getByRole('dialog').getByText('Żółw').waitFor();
  assert.equal(await heading.innerText(), 'poem.txt');
  await page.keyboard.press('Escape');
  // An address ends with its preview, also where the browser has not read from it yet.
  assert.deepEqual(
    errors.filter((one) => !one.includes('status of 404')),
    [],
  );
});

test('of a long text the beginning is shown, and it is said', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const line = `${'ż'.repeat(99)}\n`;
  await upload(
    page,
    await browser.file('long.txt', `x${line.repeat(4000)}`),
    await browser.file('fits.txt', `${'y'.repeat(127)}\n`.repeat(4096)),
  );
  await page.getByRole('button', { name: 'Clear finished' }).click();
  const said = page.getByText('Only the beginning is shown. Download the file to see all of it.');
  await show(page, 'long.txt');
  await said.waitFor();
  const content = () => page.locator('dialog pre').evaluate((element) => element.textContent);
  // The limit of 512 KiB falls into a character.
  const beginning = `x${line.repeat(2634)}${'ż'.repeat(60)}`;
  assert.equal(Buffer.byteLength(beginning), 512 * 1024 - 1);
  assert.ok((await content()) === beginning, 'whole characters up to the limit');
  await picture(page, 'preview-cut');
  // What is around the text; axe would read half a megabyte four times.
  await page.locator('dialog pre').evaluate((element) => {
    element.textContent = 'short';
  });
  await shoot(page, 'preview-cut-short');
  await page.keyboard.press('Escape');
  await show(page, 'fits.txt');
  assert.equal((await content()).length, 512 * 1024);
  assert.equal(await said.count(), 0);
});

/** The volumes that are fetched from now on. */
function fetched(page: Page): Set<number> {
  const volumes = new Set<number>();
  page.context().on('request', (request) => {
    const found = /\/api\/files\/[^/]+\/chunk\/(\d+)$/.exec(request.url());
    if (found && request.method() === 'GET') volumes.add(Number(found[1]));
  });
  return volumes;
}

/** Waits until sound or film knows its length, and gives it. */
function lengthOf(media: Locator): Promise<number> {
  return media.evaluate(async (element) => {
    const known = element as HTMLMediaElement;
    if (known.readyState === 0)
      await new Promise((resolve) => known.addEventListener('loadedmetadata', resolve, { once: true }));
    return known.duration;
  });
}

function seek(media: Locator, share: number): Promise<void> {
  return media.evaluate(async (element, at) => {
    const moved = element as HTMLMediaElement;
    moved.currentTime = moved.duration * at;
    await new Promise((resolve) => moved.addEventListener('seeked', resolve, { once: true }));
  }, share);
}

test('sound is sought by fetching only the volumes that are needed', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  // Four volumes: a sound of some minutes.
  await upload(page, await browser.file('song.wav', wav(25 * MIB)));
  const volumes = fetched(page);
  await show(page, 'song.wav');
  const sound = page.locator('dialog audio');
  const seconds = await lengthOf(sound);
  assert.ok(seconds > 200, `${seconds} s`);
  await seek(sound, 0.99);
  await shoot(page, 'preview-sound');
  assert.ok(volumes.has(1) && volumes.has(4), `fetched ${[...volumes]}`);
  assert.ok(!volumes.has(2), `what lies between is not fetched: ${[...volumes]}`);
  await page.keyboard.press('Escape');
  await choose(page, 'song.wav', 'Preview');
  await page.locator('dialog audio').waitFor();
});

/** Key frames, each of another colour, from the browser's own encoder. */
async function frames(page: Page, colours: string[]): Promise<Buffer[]> {
  const encoded = await page.evaluate(async (all) => {
    const parts: number[][] = [];
    const encoder = new VideoEncoder({
      output: (chunk) => {
        const bytes = new Uint8Array(chunk.byteLength);
        chunk.copyTo(bytes);
        parts.push([...bytes]);
      },
      error: (error) => {
        throw error;
      },
    });
    encoder.configure({ codec: 'vp8', width: 320, height: 180 });
    const canvas = new OffscreenCanvas(320, 180);
    const pen = canvas.getContext('2d')!;
    for (const [at, colour] of all.entries()) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 320, 180);
      const frame = new VideoFrame(canvas, { timestamp: at * 1_000_000 });
      encoder.encode(frame, { keyFrame: true });
      frame.close();
    }
    await encoder.flush();
    return parts;
  }, colours);
  return encoded.map((bytes) => Buffer.from(bytes));
}

test('film is sought by fetching only the volumes that are needed', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  const colours = ['#a04040', '#40a040', '#4040a0', '#a0a040'];
  // Each picture begins in a volume of its own.
  const film = webm(await frames(page, colours), 320, 180, 8 * MIB);
  await upload(page, await browser.file('film.webm', film));
  const volumes = fetched(page);
  await show(page, 'film.webm');
  const picture = page.locator('dialog video');
  assert.equal(await lengthOf(picture), 40);
  await seek(picture, 0.95);
  const seen = await picture.evaluate((element) => {
    const video = element as HTMLVideoElement;
    const pen = new OffscreenCanvas(1, 1).getContext('2d')!;
    pen.drawImage(video, 0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = pen.getImageData(0, 0, 1, 1).data;
    return { width: video.videoWidth, lastColour: red > 130 && green > 130 && blue < 90 };
  });
  assert.deepEqual(seen, { width: 320, lastColour: true });
  await shoot(page, 'preview-film');
  assert.ok(volumes.has(1) && volumes.has(4), `fetched ${[...volumes]}`);
  assert.ok(!volumes.has(2) && !volumes.has(3), `what lies between is not fetched: ${[...volumes]}`);
  assert.deepEqual(errors, []);
});
