import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { Device } from '../cross/device.ts';
import { freshName, useService } from '../harness/index.ts';
import {
  choose,
  download,
  open,
  PASSWORD,
  register,
  row,
  shoot,
  signIn,
  spooled,
  upload,
  useChromium,
} from './browser.ts';

const service = useService();
const browser = useChromium();
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

test('what the command seals the page opens, and the other way round', async () => {
  const username = freshName();
  const device = await Device.make(service.url, { SZ_USER: username });
  try {
    await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
    // The page's is long enough for all it has: workers that seal, and a file in which volumes wait.
    const [fromCommand, fromPage] = [randomBytes(9_000_000), randomBytes(18_000_003)];
    await writeFile(device.path('from the command.bin'), fromCommand);
    await device.ok(['mkdir', 'Shared żółw']);
    await device.ok(['mkdir', '--plain-names', 'For all to see']);
    await writeFile(device.path('plain.txt'), 'plain');
    await device.ok(['put', '--plain-names', device.path('plain.txt')]);
    await device.ok(['put', device.path('from the command.bin')]);

    const { page } = await browser.visit(service.url);
    await signIn(page, username, 'not the password');
    await page.getByText('Wrong username or password').waitFor();
    await shoot(page, 'wrong-password');
    await signIn(page, username);
    await row(page, 'from the command.bin').waitFor();
    assert.ok(fromCommand.equals(await download(page, 'from the command.bin')), 'page opens the command’s');
    assert.equal(await row(page, 'plain.txt').getByText('Plain name').count(), 1);
    assert.equal(await row(page, 'from the command.bin').getByText('Plain name').count(), 0);
    const places = page.getByRole('navigation');
    assert.equal(await places.getByText('Plain name').count(), 1);
    await places.getByRole('button', { name: /^For all to see Plain name/ }).waitFor();
    await shoot(page, 'plain-names');
    await choose(page, 'plain.txt', 'Move');
    await page.getByRole('radio', { name: 'For all to see Plain name' }).waitFor();
    await page.getByRole('radio', { name: 'Shared żółw', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await open(page, 'Shared żółw');
    await upload(page, await browser.file('from the page.bin', fromPage));
    assert.deepEqual(await spooled(page), [], 'nothing of an upload stays behind');

    const listed = (await device.ok(['ls', '--json', 'Shared żółw'])).stdout;
    assert.match(listed, /from the page\.bin/);
    await device.ok(['get', 'from the page.bin', '--output', device.path('copy.bin')]);
    assert.ok(fromPage.equals(await readFile(device.path('copy.bin'))), 'command opens the page’s');
  } finally {
    await device.remove();
  }
});

test('hostile names are shown as text', async () => {
  const { page, errors } = await browser.visit(service.url);
  await register(page);
  const hostile = [
    '<img src=x onerror=document.title=1>.txt',
    'right‮to‬left fdp.exe',
    `${'very long '.repeat(20)}.txt`,
    'bell\u0007 and \u001b[31mred.txt',
    'عربي العربية.txt',
    '{{7*7}} $(id) %00 &amp;.txt',
    '..',
    'C:\\windows\\evil.txt',
  ];
  // Names that no disk would take come from the page itself.
  await page.locator('input[data-test=files]').evaluate((input, names) => {
    const data = new DataTransfer();
    for (const name of names) data.items.add(new File([name], name));
    (input as HTMLInputElement).files = data.files;
    input.dispatchEvent(new Event('change'));
  }, hostile);
  await page.getByText(`${hostile.length} files`, { exact: true }).waitFor();
  assert.equal(await page.title(), 'szafa');
  const shown = await page.locator('.file-name').allTextContents();
  assert.ok(shown.includes('<img src=x onerror=document.title=1>.txt'));
  assert.ok(
    shown.every((name) => !/[\p{Cc}\p{Cf}]/u.test(name)),
    'nothing that turns or hides text',
  );
  assert.equal(await page.locator('img').count(), 0);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, 'a long name does not widen the page');
  await shoot(page, 'hostile-names');
  const soon = page.waitForEvent('download');
  const dots = row(page, '..');
  await dots.getByRole('button', { name: 'More for ..' }).click();
  await page.getByRole('menuitem', { name: 'Download' }).click();
  assert.doesNotMatch((await soon).suggestedFilename(), /^\.+$/);
  assert.deepEqual(errors, []);
});

test('the vectors of the format, in the browser, with the engine of the page', async (t) => {
  const entry = at('vectors-entry.ts');
  const bundle = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: false,
      target: 'es2023',
      lib: { entry, formats: ['iife'], name: 'vectors' },
    },
  });
  const [output] = [bundle].flat() as { output: { code: string }[] }[];
  const { page } = await browser.visit(service.url);
  await page.evaluate(`${output!.output[0]!.code}; globalThis.vectors = vectors; undefined`);
  const load = async (name: string) =>
    JSON.parse(await readFile(at(`../../client/vectors/${name}.json`), 'utf8')) as object[];
  let count = 0;
  for (const kind of ['kdfs', 'seals', 'names', 'layouts', 'files'] as const) {
    const vectors = await load(kind);
    const faults = await page.evaluate(
      ([name, list]) =>
        (
          globalThis as unknown as { vectors: { run(name: string, list: object[]): Promise<string[]> } }
        ).vectors.run(name, list),
      [kind, vectors] as const,
    );
    assert.deepEqual(faults, [], kind);
    count += vectors.length;
  }
  t.diagnostic(`${count} vectors`);
  assert.ok(count >= 170);
});
