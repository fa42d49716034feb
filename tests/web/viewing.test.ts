/** Looking at files: what a preview shows of them, and how a person goes through them. One visit for all, since each costs a key derivation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { useService } from '../harness/index.ts';
import { register, row, shoot, until, upload, useChromium } from './browser.ts';
import { pdf, png } from './media.ts';

const service = useService();
const browser = useChromium();
const LONG_NAME = `${'a long name '.repeat(18)}.png`;
const POEM = `# Żółw

A *turtle* with a [home](https://elsewhere.test/home) and \`code\`.

<script>document.title = 'taken'</script>
<img src="https://elsewhere.test/seen.png"><link rel="dns-prefetch" href="//seen.elsewhere.test">
![a picture](https://elsewhere.test/picture.png)

\`\`\`js
const answer = 42; // <b>
\`\`\`
`;

async function show(page: Page, name: string): Promise<void> {
  await row(page, name).getByRole('button', { name, exact: true }).click();
  await shown(page, name);
}

const shown = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('heading', { name, exact: true }).waitFor();

/** Where the picture of the file that is named is, in its stage, and whether all of it is inside. */
async function layout(page: Page) {
  await page.waitForFunction(() => {
    const image = document.querySelector<HTMLImageElement>('dialog .picture img');
    return (
      image?.alt === document.querySelector('#modal-title')!.textContent &&
      image.complete &&
      image.naturalWidth > 0
    );
  });
  return page.evaluate(() => {
    const image = document.querySelector('dialog .picture img')!;
    const { left, top, right, bottom, width, height } = image.getBoundingClientRect();
    const stage = document.querySelector('dialog .preview-stage')!.getBoundingClientRect();
    const inside =
      left >= stage.left - 1 &&
      right <= stage.right + 1 &&
      top >= stage.top - 1 &&
      bottom <= stage.bottom + 1;
    const middle = { x: stage.left + stage.width / 2, y: stage.top + stage.height / 2 };
    return { inside, left, top, width, height, middle, stage: stage.width };
  });
}

async function look(page: Page) {
  const portrait = await layout(page);
  assert.ok(portrait.inside, 'all of a portrait picture is in sight');
  assert.ok(Math.abs(portrait.width / portrait.height - 0.75) < 0.02, 'in its own shape');

  const { middle } = portrait;
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.wheel(0, -300);
  await until(async () => (await layout(page)).width > portrait.width * 1.5);
  const zoomed = await layout(page);
  await page.mouse.down();
  await page.mouse.move(middle.x, middle.y + 50, { steps: 3 });
  await page.mouse.up();
  await until(async () => Math.abs((await layout(page)).top - zoomed.top - 50) < 2);
  // Zoomed, the arrows move the picture.
  await page.keyboard.press('ArrowUp');
  await until(async () => (await layout(page)).top > zoomed.top + 100);
  await page.keyboard.press('0');
  await until(async () => (await layout(page)).inside);
  await page.keyboard.press('+');
  await until(async () => !(await layout(page)).inside);
  await page.keyboard.press('-');
  await until(async () => (await layout(page)).inside);
  await page.mouse.dblclick(middle.x, middle.y);
  await until(async () => (await layout(page)).width >= portrait.width * 1.9);
  await shoot(page, 'preview-zoomed');
  await page.mouse.dblclick(middle.x, middle.y);
  await until(async () => (await layout(page)).inside);
}

/** Two fingers that part, then one that goes to the left. */
async function touch(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...points: [number, number][]) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
  const before = await layout(page);
  const { x, y } = before.middle;
  await send('touchStart', [x - 20, y], [x + 20, y]);
  for (const far of [30, 40, 50, 60]) await send('touchMove', [x - far, y], [x + far, y]);
  await send('touchEnd');
  // The first way of a finger may be taken for trembling.
  await until(async () => (await layout(page)).width > before.width * 1.5);
  await page.keyboard.press('0');
  await until(async () => (await layout(page)).inside);
  await send('touchStart', [x + 100, y]);
  for (const far of [60, 20, -40]) await send('touchMove', [x + far, y]);
  await send('touchEnd');
  await session.detach();
}

test('previews fit, are zoomed, and follow each other; texts are rendered where they can do nothing', async () => {
  const { page, errors } = await browser.visit(service.url, { hasTouch: true });
  await register(page);
  await upload(
    page,
    await browser.file('a portrait.png', png(600, 800)),
    await browser.file('b wide.png', png(1600, 300)),
    await browser.file('c empty.txt', ''),
    await browser.file('d poem.md', POEM),
    await browser.file('e code.py', 'def turtle(x):\n    return "<b>" + x\n'),
    await browser.file('f paper.pdf', pdf('A paper')),
    await browser.file(LONG_NAME, png(10, 10)),
  );
  await page.getByRole('button', { name: 'Clear finished' }).click();
  await page.getByRole('button', { name: 'Name', exact: true }).click();

  await show(page, 'a portrait.png');
  await look(page);
  const added = await row(page, 'a portrait.png').locator('.date').getAttribute('title');
  const words = await page.locator('.preview-info').innerText();
  assert.ok(words.includes(`added ${added}`), `the list says ${added}, the preview ${words}`);

  // A file whose name takes lines shows two of them, and no scrollbar.
  await page.keyboard.press('ArrowLeft');
  const heading = page.getByRole('dialog').getByRole('heading', { level: 2 });
  await until(async () => (await heading.innerText()).startsWith('a long name'));
  assert.equal(await heading.evaluate((element) => getComputedStyle(element).overflowY), 'hidden');
  const { width: small } = await layout(page);
  assert.equal(small, 10, 'a small picture stays as it is');

  for (const name of ['a portrait.png', 'b wide.png']) {
    await page.keyboard.press('ArrowRight');
    await shown(page, name);
  }
  const wide = await layout(page);
  assert.ok(wide.inside && wide.width > wide.stage - 2, 'as wide as there is room');
  await page.setViewportSize({ width: 390, height: 780 });
  await until(async () => {
    const { inside, stage } = await layout(page);
    return inside && stage <= 390;
  });
  await touch(page);
  await shown(page, 'c empty.txt');
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.getByText('This file is empty.').waitFor();
  await page.keyboard.press('ArrowRight');

  await shown(page, 'd poem.md');
  const frame = page.frameLocator('dialog iframe');
  await frame.getByRole('heading', { name: 'Żółw' }).waitFor();
  assert.equal(await frame.locator('em').innerText(), 'turtle');
  assert.match(await frame.locator('body').innerText(), /<script>document\.title/, 'HTML is shown, not made');
  assert.equal(await frame.locator('img, script, link, a[href]').count(), 0);
  assert.equal(await frame.locator('pre .hljs-keyword').innerText(), 'const');
  const inFrame = page.frames().find((one) => one.url().includes('/local/'))!;
  assert.equal(await inFrame.evaluate(() => globalThis.origin), 'null', 'an origin of its own');
  await shoot(page, 'preview-markdown');
  await page.getByRole('button', { name: 'View source' }).click();
  assert.match(await page.locator('dialog pre').innerText(), /^# Żółw/);
  await page.getByRole('button', { name: 'View source' }).click();
  await page.getByRole('button', { name: 'Next file' }).click();

  await shown(page, 'e code.py');
  await frame.locator('.hljs-keyword', { hasText: 'def' }).waitFor();
  assert.equal(await frame.locator('.hljs-string').innerText(), '"<b>"');
  await page.getByRole('button', { name: 'Next file' }).click();
  await shown(page, 'f paper.pdf');
  const source = await page.locator('dialog iframe').getAttribute('src');
  assert.match(source!, /\/f%20paper\.pdf$/, 'what the viewer takes its title from');
  await page.keyboard.press('Escape');
  assert.equal(await page.title(), 'szafa');
  // An address ends with its preview, also where the browser has not read from it yet.
  assert.deepEqual(
    errors.filter((one) => !one.includes('status of 404')),
    [],
  );
});
