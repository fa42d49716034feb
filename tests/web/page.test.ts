import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { send, useService, withService } from '../harness/index.ts';
import { Chromium, openTab, register, row, shoot, upload, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();
const root = fileURLToPath(new URL('../..', import.meta.url));
const FIRST_LOAD_BYTES = 120_000;
/** Word for word: a rule more is as much of a change as a rule less. */
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; media-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types szafa";

test('the page is small, hashed files are kept for ever, and scripts carry their digests', async (t) => {
  const page = await send(service.url, { path: '/' });
  assert.equal(page.status, 200);
  assert.equal(page.headers['x-content-type-options'], 'nosniff');
  assert.equal(page.headers['referrer-policy'], 'no-referrer');
  assert.equal(page.headers['cache-control'], 'no-cache');
  assert.doesNotMatch(page.text, /<script(?![^>]*\ssrc=)/, 'no inline script');
  const tags = [...page.text.matchAll(/<(?:script|link)[^>]*"(\/assets\/[^"]+)"[^>]*>/g)];
  assert.ok(tags.length >= 2);
  for (const [tag, url = ''] of tags) {
    const file = await send(service.url, { path: url });
    assert.match(String(file.headers['cache-control']), /immutable/);
    const digest = createHash('sha384').update(file.body).digest('base64');
    assert.ok(tag!.includes(`integrity="sha384-${digest}"`), url);
  }
  const again = await send(service.url, {
    path: '/',
    headers: { 'if-none-match': String(page.headers['etag']) },
  });
  assert.equal(again.status, 304);

  const { page: tab } = await browser.visit('about:blank');
  const urls = new Set<string>();
  tab.context().on('request', (request) => urls.add(request.url()));
  await tab.goto(service.url);
  await tab.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await tab.waitForLoadState('networkidle');
  const hosts = new Set([...urls].map((url) => new URL(url).host));
  assert.deepEqual([...hosts], [new URL(service.url).host], 'no request to any other host');
  const paths = [...urls].map((url) => new URL(url).pathname);
  assert.ok(
    paths.some((path) => path.startsWith('/assets/main-')),
    `the worker is counted: ${paths}`,
  );
  const headers = { 'accept-encoding': 'gzip, br' };
  const answers = await Promise.all(paths.map((path) => send(service.url, { path, headers })));
  const bytes = answers.reduce((sum, { body }) => sum + body.length, 0);
  t.diagnostic(`first load: ${(bytes / 1000).toFixed(1)} KB compressed in ${paths.length} files`);
  assert.ok(bytes > 10_000 && bytes < FIRST_LOAD_BYTES, `${bytes} bytes`);
});

test('one policy for everything that the service serves as the page, and nothing to run elsewhere', async () => {
  const dist = join(root, 'web', 'dist');
  const files = await readdir(dist, { recursive: true, withFileTypes: true });
  const names = files
    .filter((entry) => entry.isFile() && entry.name !== '.sources')
    .map((entry) => join(entry.parentPath, entry.name).slice(dist.length));
  const paths = names.filter((name) => !/\.(html|br|gz)$/.test(name));
  const visited = ['/s/', '/r/'].map((at) => at + 'x'.repeat(22));
  assert.ok(
    paths.includes('/sw.js') && paths.some((path) => /^\/assets\/main-.*\.js$/.test(path)),
    `${paths}`,
  );
  for (const path of ['/', '/?anything', ...visited, ...paths]) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await send(service.url, { method, path });
      assert.equal(status, 200, path);
      assert.equal(headers['content-security-policy'], POLICY, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.equal(headers['referrer-policy'], 'no-referrer', path);
      assert.equal(headers['set-cookie'], undefined, path);
    }
  }
  // No path of another kind is answered with a page.
  for (const path of [
    '/index.html',
    '/share.html',
    '/request.html',
    ...visited.map((path) => `${path}/x`),
    '/sw.js/x',
    '/assets/',
    '/assets/none.js',
    '/local/x',
    '/no%2Fwhere',
  ]) {
    const { status, headers, text } = await send(service.url, { path });
    assert.equal(status, 404, path);
    assert.match(String(headers['content-type']), /^application\/json/, path);
    assert.doesNotMatch(text, /[<>]/, path);
  }

  // The browser keeps to it: no text becomes a script, and no policy of another name makes one.
  const { page } = await browser.visit(service.url);
  const outcomes = await page.evaluate(async () => {
    const refused = async (act: () => unknown) => {
      try {
        await act();
        return false;
      } catch {
        return true;
      }
    };
    const { trustedTypes } = globalThis as unknown as {
      trustedTypes: { createPolicy(name: string, rules: object): object };
    };
    return {
      html: await refused(() => {
        document.createElement('p').innerHTML = '<b>bold</b>';
      }),
      worker: await refused(() => new Worker('/sw.js')),
      policy: await refused(() => trustedTypes.createPolicy('another', {})),
      same: await refused(() => trustedTypes.createPolicy('szafa', {})),
    };
  });
  assert.deepEqual(new Set(Object.values(outcomes)), new Set([true]), JSON.stringify(outcomes));
});

test('over plain HTTP from elsewhere the page says why it cannot work, and what to do', async () => {
  const elsewhere = new Chromium(['--host-resolver-rules=MAP szafa.test 127.0.0.1']);
  await elsewhere.start();
  try {
    const { page } = await elsewhere.visit(service.url.replace('127.0.0.1', 'szafa.test'));
    await page.getByRole('heading', { name: 'This address isn’t secure' }).waitFor();
    await page.getByText('SZ_TLS_CERT').waitFor();
    assert.equal(await page.getByLabel('Password').count(), 0, 'no password is asked for');
    await shoot(page, 'insecure');
  } finally {
    await elsewhere.stop();
  }
});

test('the service speaks TLS itself', async () => {
  const pem = join(root, 'server', 'test', 'pull', 'tls.pem');
  const env = { SZ_TLS_CERT: pem, SZ_TLS_KEY: pem };
  // The harness looks at plain HTTP when it stops a service; this one is ended without that look.
  await withService({ env }, async (secure) => {
    assert.match(secure.url, /^https:/);
    const { page } = await browser.visit(secure.url, { ignoreHTTPSErrors: true });
    await register(page);
    await upload(page, await browser.file('over-tls.txt', 'sealed twice'));
    await row(page, 'over-tls.txt').waitFor();
    await page.context().close();
    await secure.discard();
  });
});

test('a tab with a page that does not let go of the database is told, and waited for', async () => {
  const { page: old, context } = await browser.visit(`${service.url}/docs`);
  await old.evaluate(
    () =>
      new Promise<void>((resolve, reject) => {
        const request = indexedDB.open('szafa', 1);
        request.onerror = () => reject(request.error);
        request.onupgradeneeded = () => request.result.createObjectStore('session');
        request.onsuccess = () => {
          Object.assign(globalThis, { held: request.result });
          resolve();
        };
      }),
  );
  const page = await context.newPage();
  await page.goto(service.url);
  await page.getByText('An older version of this page is open in another tab.').waitFor();
  // Again, as long as it is so.
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('An older version of this page is open in another tab.').waitFor();
  await old.close();
  await page.getByRole('button', { name: 'Try again' }).click();
  await register(page);
});

test('keys stay in the browser in a form that cannot be read out, and go with the sign-out', async () => {
  const { page } = await browser.visit(service.url);
  await register(page);
  await upload(page, await browser.file('one.txt', 'one'));
  const look = () =>
    page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const request = indexedDB.open('szafa');
        request.onsuccess = () => resolve(request.result);
      });
      const all = async (store: string) =>
        new Promise<unknown[]>((resolve) => {
          const request = database.transaction(store).objectStore(store).getAll();
          request.onsuccess = () => resolve(request.result);
        });
      const [session] = (await all('session')) as { kek: CryptoKey; token: string; username: string }[];
      const counts = await Promise.all(
        [...database.objectStoreNames].map(async (name) => (await all(name)).length),
      );
      const kek = session?.kek;
      const pins = await all('pins');
      database.close();
      return {
        key: kek && { type: kek.type, extractable: kek.extractable, algorithm: kek.algorithm.name },
        keys: session && Object.keys(session).sort(),
        total: counts.reduce((sum, count) => sum + count, 0),
        pins: pins.map((pin) => Object.keys(pin as object).sort()),
        storage: localStorage.length + sessionStorage.length,
      };
    });
  const before = await look();
  assert.deepEqual(before.key, { type: 'secret', extractable: false, algorithm: 'HKDF' });
  assert.deepEqual(before.keys, ['kek', 'token', 'username']);
  await page.reload();
  await row(page, 'one.txt').waitFor();

  // Another tab is signed in at once, follows what happens here, and is signed out with this one.
  const other = await openTab(page, service.url);
  await row(other, 'one.txt').waitFor();
  await upload(page, await browser.file('two.txt', 'two'));
  await row(other, 'two.txt').waitFor();
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await other.getByText('You signed out in another tab').waitFor();
  await other.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  const { key, total, storage, pins } = await look();
  assert.deepEqual({ key, total, storage }, { key: undefined, total: 1, storage: 0 });
  const protects = ['digest', 'master', 'profile', 'rev', 'serviceId'];
  assert.deepEqual(pins, [protects], 'what protects the next visit, and no secret');
});
