import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathOf, type Quota } from '@szafa/protocol';
import { send, sha256, useService, withService } from '../harness/index.ts';
import {
  choose,
  download,
  keptIn,
  letPick,
  pick,
  picked,
  register,
  row,
  shoot,
  tokenOf,
  transfers,
  until,
  upload,
  useChromium,
  volumesTaken,
} from './browser.ts';
import { png } from './media.ts';
import { SlowLine } from './slow-line.ts';

const MIB = 1024 * 1024;
const SENDING = /^Uploading · .*[KM]B\/s · .* left$/;
const service = useService({ env: { SZ_QUOTA: String(32 * MIB), SZ_QUOTA_ENFORCE: '1' } });
const browser = useChromium();

test('several uploads at once: progress, rate and time left; a pause stops the bytes', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page, errors } = await browser.visit(line.url);
  await register(page);
  const before = volumesTaken(service);
  const content = randomBytes(17 * MIB);
  const first = await browser.file('first.bin', content);
  const second = await browser.file('second.bin', randomBytes(9 * MIB));
  const shares = async () => Object.fromEntries((await transfers(page)).map((one) => [one.name, one.share]));
  const moving = async () => {
    const under = await transfers(page);
    return under.length === 2 && under.every((one) => SENDING.test(one.status) && one.share > 0);
  };
  line.bytesPerSecond = MIB / 8;
  await pick(page, first, second);
  await until(moving);
  const early = await shares();
  await until(async () => Object.entries(await shares()).every(([name, share]) => share > early[name]!));
  const late = Object.values(await shares());
  assert.ok(
    late.every((share) => share < 1),
    `both at once: ${late}`,
  );
  await shoot(page, 'uploading');

  await page.getByRole('button', { name: 'Pause all' }).click();
  await until(async () => (await transfers(page)).every(({ status }) => status.startsWith('Paused')));
  await shoot(page, 'paused');
  // What was on its way arrives; then nothing follows, though all of it would be there within a second.
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  let carried: number;
  do {
    carried = line.carried;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  } while (line.carried !== carried);
  const taken = volumesTaken(service) - before;
  assert.ok(taken < 5, `${taken} of 5 volumes`);
  assert.equal(await page.getByRole('row').count(), 0, 'neither is there');
  assert.ok((await transfers(page)).every(({ status }) => status.startsWith('Paused')));

  line.bytesPerSecond = MIB / 8;
  await page.getByRole('button', { name: 'Resume all' }).click();
  await until(moving);
  await page.getByRole('button', { name: 'Pause first.bin' }).click();
  await page.getByText(/^Paused/).waitFor();
  const apart = await shares();
  await until(async () => (await shares())['second.bin']! > apart['second.bin']!);
  assert.equal((await shares())['first.bin'], apart['first.bin']);
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await row(page, 'second.bin').waitFor();
  await page.getByRole('button', { name: 'Resume first.bin' }).click();
  await row(page, 'first.bin').waitFor();
  assert.ok(content.equals(await download(page, 'first.bin')), 'the same bytes');
  assert.deepEqual(errors, []);
});

test('a picture that is paused, or paused and resumed, when only its thumbnail is missing is there once', async () => {
  const { page, context } = await browser.visit(service.url);
  await register(page);
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  await context.route('**/thumbnail', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    waiting++;
    await held.promise;
    return route.continue().catch(() => undefined);
  });
  const names = ['paused.png', 'resumed.png'];
  for (const name of names) await pick(page, await browser.file(name, png(300, 200)));
  await until(() => waiting === 2);
  await page.evaluate(async () => {
    const press = (label: string) => document.querySelector<HTMLElement>(`[aria-label="${label}"]`)!.click();
    press('Pause paused.png');
    press('Pause resumed.png');
    // The list is drawn again in a microtask, before anything is heard of the worker.
    for (let step = 0; step < 20; step++) await undefined;
    press('Resume resumed.png');
  });
  for (const name of names) await row(page, name).waitFor();
  await until(async () => (await transfers(page)).every(({ status }) => status.startsWith('Uploaded')));
  held.resolve();
  const token = await tokenOf(page);
  const { json } = await send(service.url, { path: pathOf('listFiles'), token });
  assert.equal((json['files'] as unknown[]).length, names.length, 'one version of each');
  assert.deepEqual((await keptIn(page))['uploads'], [], 'and nothing to go on with');
});

test('a cancelled upload leaves nothing on the service and nothing in the browser', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  const begun: string[] = [];
  page.context().on('response', async (response) => {
    if (!response.url().endsWith(pathOf('init'))) return;
    begun.push(((await response.json()) as { transfer_id: string }).transfer_id);
  });
  const path = await browser.file('unwanted.bin', randomBytes(17 * MIB));
  line.bytesPerSecond = MIB;
  await pick(page, path);
  await until(async () => begun.length === 1 && ((await transfers(page))[0]?.share ?? 0) > 0);
  const token = await tokenOf(page);
  const received = () => send(service.url, { path: pathOf('received', { transfer_id: begun[0]! }), token });
  assert.equal((await received()).status, 200);
  const left = async () => {
    const { journal, uploads } = await keptIn(page);
    return [journal!.length > 0, uploads!.length > 0];
  };
  assert.deepEqual(await left(), [true, true]);
  await page.getByRole('button', { name: 'Cancel unwanted.bin' }).click();
  await page.getByText('unwanted.bin').waitFor({ state: 'detached' });
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await until(async () => (await received()).status === 404);
  await until(async () => !(await left()).includes(true));
  assert.equal(await page.getByRole('row').count(), 0);
  // Twice this size is more than the quota, which counts what is under way: it no longer does.
  await upload(page, path);
});

test('the quota: what is used, when it is full, and what no longer fits', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  const token = await tokenOf(page);
  const asked = async () =>
    (await send(service.url, { path: pathOf('quota'), token })).json as unknown as Quota;
  const meter = page.getByRole('meter', { name: 'Storage' });
  const shown = async () => Number(await meter.getAttribute('aria-valuenow'));
  const full = page.getByText('Storage full');
  await page.getByText('0 B of 32 MB').first().waitFor();
  assert.equal(await shown(), 0);

  await upload(page, await browser.file('most.bin', randomBytes(20 * MIB)));
  await page.getByText('20 MB of 32 MB').first().waitFor();
  const { percent, remain_bytes: remain } = await asked();
  assert.ok(percent > 60 && percent < 70, `${percent} %`);
  assert.equal(await shown(), percent);
  await pick(page, await browser.file('fat.bin', randomBytes(20 * MIB)));
  await page.getByText('Not enough storage left.').waitFor();
  await shoot(page, 'failed');
  assert.equal(await row(page, 'fat.bin').count(), 0);
  assert.equal(await full.count(), 0);

  // But for what sealing adds.
  await upload(page, await browser.file('rest.bin', randomBytes(remain - 8192)));
  await full.waitFor();
  assert.equal((await asked()).percent, 100);
  assert.equal(await shown(), 100);
  await shoot(page, 'quota-full');
  // What is in the trash still counts.
  await choose(page, 'most.bin', 'Delete');
  await page.getByRole('button', { name: 'Trash' }).click();
  await page.getByRole('button', { name: 'Empty trash' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete forever' }).click();
  await full.waitFor({ state: 'detached' });
  await page.goBack();
  assert.equal(await shown(), (await asked()).percent);
  await page.getByRole('button', { name: 'Retry fat.bin' }).click();
  await row(page, 'fat.bin').waitFor();
});

test('of many small files none is remembered as unfinished', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  await page.locator('input[data-test=files]').evaluate((input) => {
    const data = new DataTransfer();
    for (let i = 0; i < 150; i++) data.items.add(new File([`${i}`], `small-${i}.txt`));
    (input as HTMLInputElement).files = data.files;
    input.dispatchEvent(new Event('change'));
  });
  await page.getByText('150 files', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('150 files', { exact: true }).waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await page.getByText(/^Interrupted/).count(), 0);
});

test('where sockets are not let through, volumes travel as requests', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  line.refused = 'Upgrade: websocket';
  const { page } = await browser.visit(line.url);
  const requests: string[] = [];
  page.context().on('requestfinished', (request) => {
    if (request.method() === 'PUT') requests.push(request.url());
  });
  await register(page);
  const content = randomBytes(17 * MIB);
  // Slow, until a busy page has shown that it sends.
  line.bytesPerSecond = MIB / 4;
  await pick(page, await browser.file('by-requests.bin', content));
  await page.getByText(SENDING).waitFor();
  line.bytesPerSecond = Number.POSITIVE_INFINITY;
  await row(page, 'by-requests.bin').waitFor();
  assert.equal(requests.length, 3);
  assert.ok(content.equals(await download(page, 'by-requests.bin')), 'the same bytes');
});

test('over TLS volumes travel along sockets as well', async () => {
  const pem = fileURLToPath(new URL('../../server/test/pull/tls.pem', import.meta.url));
  await withService({ env: { SZ_TLS_CERT: pem, SZ_TLS_KEY: pem } }, async (secure) => {
    const visit = await browser.visit(secure.url, { ignoreHTTPSErrors: true });
    const { page } = visit;
    // With a certificate that it does not trust the browser runs no service worker.
    await letPick(visit);
    const sockets: string[] = [];
    page.on('websocket', (socket) => sockets.push(socket.url()));
    await register(page);
    const content = randomBytes(17 * MIB);
    await upload(page, await browser.file('sealed-twice.bin', content));
    assert.equal(volumesTaken(secure), 3);
    assert.match(sockets[0] ?? 'none', /^wss:/);
    await page.getByRole('button', { name: 'Clear finished' }).click();
    await choose(page, 'sealed-twice.bin', 'Download');
    await page.getByText(/^Downloaded/).waitFor();
    assert.deepEqual(await picked(page), { 'sealed-twice.bin': sha256(content) });
    await page.context().close();
    // The harness looks at plain HTTP when it stops a service; this one is ended without that look.
    await secure.discard();
  });
});

test('an upload whose sealer cannot be loaded says so, and works once it can', async (t) => {
  const line = await SlowLine.start(t, () => service.url);
  const { page } = await browser.visit(line.url);
  await register(page);
  line.refused = 'GET /assets/';
  await pick(page, await browser.file('unsealed.bin', randomBytes(9 * MIB)));
  await page.getByText('Part of this page couldn’t be loaded. Try again, or reload the page.').waitFor();
  line.refused = undefined;
  await page.getByRole('button', { name: 'Retry unsealed.bin' }).click();
  await row(page, 'unsealed.bin').waitFor();
});
