/** What the page does not take: weak passwords, keys that open nothing, and names that the service made up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type * as Database from '../../web/src/core/database.worker.ts';
import { Between } from '../cross/between.ts';
import { Device } from '../cross/device.ts';
import { freshName, useService } from '../harness/index.ts';
import { choose, PASSWORD, register, row, signIn, upload, useChromium } from './browser.ts';
import { loadInto } from './bundled.ts';

const service = useService();
const browser = useChromium();

test('a weak password does not register; what judges it is loaded only then', async () => {
  const { page } = await browser.visit(service.url);
  const username = freshName();
  await page.getByRole('button', { name: 'New here? Create an account' }).click();
  const scripts: string[] = [];
  page.on('request', (request) => {
    // The dialog that shows a recovery key is loaded with any new password.
    const isJudge =
      /\.js$/.test(request.url()) && !/\/(sw\.js|assets\/(?:recovery-key|fold)-)/.test(request.url());
    if (isJudge) scripts.push(request.url());
  });
  await page.getByLabel('Username').fill(username);
  const tryWith = async (password: string, repeated: string, said: RegExp) => {
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByLabel('Repeat password').fill(repeated);
    await page.getByRole('button', { name: 'Create an account', exact: true }).click();
    await page.getByRole('alert').getByText(said).waitFor();
  };
  await tryWith('password1', 'password2', /don’t match/);
  await tryWith('1234567', '1234567', /at least 8 characters/);
  assert.equal(scripts.length, 0, scripts.join());
  await tryWith('password1', 'password1', /too easy to guess/);
  const own = scripts.filter((url) => url.startsWith(`${service.url}/assets/`));
  assert.ok(own.length > 0 && own.length === scripts.length, scripts.join());
  await tryWith(`${username}!`, `${username}!`, /too easy to guess/);
  await page.context().close();
});

test('a password that opens none of the files is told at the sign-in', async () => {
  const device = await Device.make(service.url, { SZ_USER: freshName() });
  try {
    const env = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'rower chmura zamek lampa' };
    await device.ok(['register', '--passphrase'], { env });
    await device.ok(['put', '-', '--name', 'deep'], { input: 'x' });
    const { page } = await browser.visit(service.url);
    await signIn(page, device.env['SZ_USER']!);
    await page.getByRole('alert').getByText('doesn’t open the files of this account').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    await page.context().close();
  } finally {
    await device.remove();
  }
});

test('a name that the service made up is marked, and the file is neither shown nor saved under it', async () => {
  await using between = await Between.start(service.url);
  const { page } = await browser.visit(between.url);
  await register(page);
  const draft = await browser.file('draft.txt', 'the draft');
  await upload(page, draft);
  await row(page, 'draft.txt').waitFor();
  between.inward = (path, body) => {
    if (!path.startsWith('/api/files?')) return body;
    const list = JSON.parse(body.toString()) as { files: { file_name: string }[] };
    const files = list.files.map((file) => ({ ...file, file_name: 'invoice.txt' }));
    return Buffer.from(JSON.stringify({ ...list, files }));
  };
  // Opened once as what it is: the name that is listed later is held against it again.
  await choose(page, 'draft.txt', 'Preview');
  await page.getByText('the draft').waitFor();
  await page.keyboard.press('Escape');
  await page.reload();
  await row(page, 'invoice.txt').getByText('Plain name').waitFor();
  await choose(page, 'invoice.txt', 'Preview');
  await page.getByText('was changed after it was uploaded').waitFor();
  assert.equal(await page.getByText('the draft').count(), 0);
  await page.keyboard.press('Escape');
  await choose(page, 'invoice.txt', 'Download');
  await page.locator('.transfer.failed').getByText('was changed after it was uploaded').waitFor();
  await page.context().close();
});

test('what two tabs keep: a key is not kept after a sign-out, and what was seen of a file never goes back', async () => {
  const { page } = await browser.visit(service.url);
  await loadInto(
    page,
    fileURLToPath(new URL('../../web/src/core/database.worker.ts', import.meta.url)),
    'database',
  );
  const found = await page.evaluate(async () => {
    const { sessionStore, browserRevs } = (globalThis as unknown as { database: typeof Database }).database;
    const kek = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt']);
    const session = { username: 'ada', token: 'first', kek };
    await sessionStore.keepSession(session);
    await sessionStore.endSession('first');
    // The other tab changes the password of a session that has ended here.
    await sessionStore.renewSession(session);
    const ended = await sessionStore.session();
    await sessionStore.forgetAll();
    await sessionStore.renewSession(session);
    const forgotten = await sessionStore.session();

    const revs = browserRevs.of('ada');
    await revs.save(new Map([['a', 5]]));
    // A tab with an older list.
    await revs.save(
      new Map([
        ['a', 3],
        ['b', 2],
      ]),
    );
    return { ended, forgotten, revs: [...(await revs.load())].sort() };
  });
  assert.deepEqual(found, {
    ended: { username: 'ada' },
    forgotten: undefined,
    revs: [
      ['a', 5],
      ['b', 2],
    ],
  });
});
