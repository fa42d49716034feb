import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Api, parseRecoveryText, webEngine } from '@szafa/client';
import { deriveAccountKeys } from '@szafa/format';
import { readServerInfo } from '../../client/src/accounts/calls.ts';
import { Device } from '../cross/device.ts';
import { freshName, send, useService } from '../harness/index.ts';
import {
  choose,
  confirmKey,
  download,
  keptIn,
  open,
  PASSWORD,
  register,
  registerWithKey,
  row,
  shoot,
  signIn,
  signOut,
  tokenOf,
  until,
  upload,
  useChromium,
} from './browser.ts';
import { loadInto } from './bundled.ts';
import { SlowLine } from './slow-line.ts';

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
    await places.getByRole('treeitem', { name: /^For all to see Plain name/ }).waitFor();
    await shoot(page, 'plain-names');
    await choose(page, 'plain.txt', 'Move');
    const folders = page.getByRole('dialog').getByRole('treeitem');
    await folders.filter({ hasText: /^For all to seePlain name/ }).waitFor();
    await folders.filter({ hasText: /^Shared żółw\d+$/ }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await open(page, 'Shared żółw');
    await upload(page, await browser.file('from the page.bin', fromPage));

    const listed = (await device.ok(['ls', '--json', 'Shared żółw'])).stdout;
    assert.match(listed, /from the page\.bin/);
    await device.ok(['get', 'Shared żółw/from the page.bin', '--output', device.path('copy.bin')]);
    assert.ok(fromPage.equals(await readFile(device.path('copy.bin'))), 'command opens the page’s');
  } finally {
    await device.remove();
  }
});

/** Bytes in the forms in which they might travel. */
function formsOf(bytes: Uint8Array): string[] {
  const plain = Buffer.from(bytes);
  return [...(['latin1', 'hex', 'base64url'] as const).map((form) => plain.toString(form)), plain.toBase64()];
}

/** As the page derives them. */
async function keysOf(username: string) {
  const { service_id: serviceId } = await readServerInfo(new Api({ server: service.url }));
  return deriveAccountKeys(webEngine(), { serviceId, username }, PASSWORD);
}

test('neither password nor key, name or content goes to the service', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  // Then volumes are requests, and no byte of the visit is masked as those of sockets are.
  line.refused = 'Upgrade: websocket';
  line.heard = [];
  const { page } = await browser.visit(line.url);
  const { username, key } = await registerWithKey(page);
  await confirmKey(page, key);
  const { authSecret, kek } = await keysOf(username);
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByLabel('Folder name').fill('Thoughts on gardens');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Thoughts on gardens' }).waitFor();
  const content = 'nobody else reads this '.repeat(400_000);
  await upload(
    page,
    await browser.file('a secret name.txt', content),
    await browser.file('small.txt', content.slice(0, 99)),
  );
  await choose(page, 'small.txt', 'Make a copy');
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByText('Copied').waitFor();
  await signOut(page);
  await signIn(page, username);
  await open(page, 'Thoughts on gardens');
  await row(page, 'a secret name.txt').waitFor();

  const heard = Buffer.concat(line.heard).toString('latin1');
  const told = (text: string) => heard.includes(text);
  assert.ok(told(username) && told(authSecret) && told('PUT /api/transfer/'), 'all of it is looked at');
  assert.ok(heard.length > content.length);
  const secrets = [
    PASSWORD,
    key,
    key.slice(0, 9),
    key.replaceAll('-', ''),
    'Thoughts on gardens',
    'a secret name',
    'small.txt',
    'nobody else reads this',
  ];
  for (const secret of secrets) {
    const spelt = [encodeURIComponent(secret), secret.replaceAll(' ', '+')];
    assert.deepEqual([...formsOf(Buffer.from(secret)), ...spelt].filter(told), [], secret);
  }
  const recoveryKey = await parseRecoveryText(webEngine(), key);
  for (const secret of [kek, recoveryKey]) assert.deepEqual(formsOf(secret).filter(told), []);
});

test('keys are used in workers alone, cannot be exported, and are gone after the sign-out', async () => {
  const { page, context } = await browser.visit('about:blank');
  await context.addInitScript(() => {
    const used: string[] = [];
    for (const name of Object.getOwnPropertyNames(SubtleCrypto.prototype)) {
      const real = Reflect.get(SubtleCrypto.prototype, name);
      if (typeof real !== 'function' || name === 'constructor') continue;
      const noted = function (this: SubtleCrypto, ...args: unknown[]) {
        used.push(name);
        return Reflect.apply(real, this, args);
      };
      Object.assign(SubtleCrypto.prototype, { [name]: noted });
    }
    Object.assign(globalThis, { used });
  });
  const hired = page.waitForEvent('worker');
  await page.goto(service.url);
  const worker = await hired;
  await worker.evaluate(() => {
    const imported: { bytes: Uint8Array; hex: string; extractable: boolean }[] = [];
    const exported: string[] = [];
    const { subtle } = crypto;
    const { importKey, exportKey } = subtle;
    Object.assign(subtle, {
      importKey(...args: [string, Uint8Array, string, boolean]) {
        const [, bytes, algorithm, extractable] = args;
        // Of a key that signs an export alone tells the public half.
        const may = algorithm === 'Ed25519';
        imported.push({ bytes, hex: bytes.toHex(), extractable: extractable && !may });
        return Reflect.apply(importKey, subtle, args);
      },
      exportKey(format: 'jwk', key: CryptoKey) {
        if (key.algorithm.name !== 'Ed25519') exported.push('exportKey');
        return exportKey.call(subtle, format, key);
      },
      wrapKey: () => exported.push('wrapKey'),
    });
    Object.assign(globalThis, { imported, exported });
  });
  const username = await register(page);
  const { kek } = await keysOf(username);
  const content = randomBytes(17 * 1024 * 1024);
  await upload(page, await browser.file('by-workers.bin', content));
  assert.ok(content.equals(await download(page, 'by-workers.bin')));

  const devtools = await context.newCDPSession(page);
  const { targetInfo } = await devtools.send('Target.getTargetInfo');
  const { targetInfos } = await devtools.send('Target.getTargets', { filter: [{}] });
  const workers = targetInfos.filter(
    ({ type, browserContextId }) => type === 'worker' && browserContextId === targetInfo.browserContextId,
  );
  assert.equal(new Set(workers.map(({ url }) => url)).size, 2, 'one that has the keys, and those that seal');
  assert.deepEqual(await page.evaluate(() => (globalThis as unknown as { used: string[] }).used), []);
  const { imported, exported } = await worker.evaluate(() => {
    const scope = globalThis as unknown as {
      imported: { bytes: Uint8Array; hex: string; extractable: boolean }[];
      exported: string[];
    };
    const now = scope.imported.map(({ bytes, hex, extractable }) => ({
      hex,
      now: bytes.toHex(),
      extractable,
    }));
    return { imported: now, exported: scope.exported };
  });
  assert.deepEqual(exported, []);
  assert.deepEqual(
    imported.filter(({ extractable }) => extractable),
    [],
  );
  const mine = imported.filter(({ hex }) => hex === Buffer.from(kek).toString('hex'));
  assert.ok(mine.length > 0);
  for (const { now } of mine) assert.match(now, /^0+$/, 'the bytes that a key came in are wiped');

  const token = await tokenOf(page);
  const me = () => send(service.url, { path: '/api/auth/me', token });
  assert.equal((await me()).status, 200);
  await signOut(page);
  await until(async () => (await me()).status === 401);
  const { pins: _, ...left } = await keptIn(page);
  assert.deepEqual(Object.values(left).flat(), [], 'token, keys and names');
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
    '...',
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
  // Their lines lie over the list, and the files stand in it as they came.
  await page.getByRole('button', { name: 'Clear finished' }).click();
  const soon = page.waitForEvent('download');
  const dots = row(page, '...');
  await dots.getByRole('button', { name: 'More actions for ...' }).click();
  await page.getByRole('menuitem', { name: 'Download' }).click();
  assert.doesNotMatch((await soon).suggestedFilename(), /^\.+$/);
  assert.deepEqual(errors, []);
});

test('the vectors of the format, in the browser, with the engine of the page', async (t) => {
  const { page } = await browser.visit(service.url);
  await loadInto(page, at('vectors-entry.ts'), 'vectors');
  const load = async (name: string) =>
    JSON.parse(await readFile(at(`../../format/vectors/${name}.json`), 'utf8')) as object[];
  let count = 0;
  const kinds = [
    'kdfs',
    'bags',
    'bag-writers',
    'seals',
    'names',
    'layouts',
    'volumes',
    'writers',
    'links',
    'requests',
    'identities',
    'letters',
    'owns',
    'thumbnails',
    'files',
  ];
  for (const kind of kinds) {
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
