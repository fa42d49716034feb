import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Fastify from 'fastify';
import { buildPage } from '../../scripts/page.mjs';
import { addPage, missingPage } from '../../server/src/platform/http/page.ts';

const REAL = fileURLToPath(new URL('../..', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'szafa-page-'));
const dist = join(root, 'web', 'dist');
/** Of the shape of a link's id. */
const ID = '-_0aZ'.padEnd(22, 'x');
after(() => rmSync(root, { recursive: true, force: true }));

/** A checkout whose build does what `script` says. */
function checkout(script: string): void {
  for (const path of [
    'web/src',
    'web/public',
    'web/build',
    'cli/src',
    'cli/scripts',
    'client/src',
    'format/src',
    'protocol/src',
  ]) {
    mkdirSync(join(root, path), { recursive: true });
  }
  for (const file of [
    'web/index.html',
    'web/share.html',
    'web/request.html',
    'web/vite.config.ts',
    'cli/scripts/bundle.ts',
    'package-lock.json',
  ]) {
    cpSync(join(REAL, file), join(root, file));
  }
  mkdirSync(join(root, 'node_modules/vite/bin'), { recursive: true });
  writeFileSync(join(root, 'node_modules/vite/bin/vite.js'), script);
}

async function front(url = '/'): Promise<{ status: number; body: string }> {
  const app = Fastify();
  addPage(app, dist);
  const { statusCode, body } = await app.inject(url);
  await app.close();
  return { status: statusCode, body };
}

test('a build that fails is told with its reason, by the set-up, by the service and at /', async () => {
  mkdirSync(dist, { recursive: true });
  writeFileSync(join(dist, 'index.html'), 'an older page');
  checkout(
    `console.error('\\x1b[31mError: Cannot find module "${join(root, 'a')}"\\x1b[0m'); process.exit(1);`,
  );
  const said: string[] = [];
  const fault = buildPage(root, process.execPath, (text: string) => said.push(text));
  assert.equal(fault, 'Error: Cannot find module "./a"');
  assert.equal(existsSync(join(dist, 'index.html')), false, 'the older page is gone');
  assert.match(missingPage(dist)!, /its build failed: Error: Cannot find module "\.\/a"\. "npm start"/);
  const { status, body } = await front();
  assert.equal(status, 503);
  assert.match(body, /Cannot find module/);
  for (const url of ['/szafa.cjs', `/s/${ID}`, `/r/${ID}`])
    assert.deepEqual(await front(url), { status, body });
});

test('a failed build is tried again, and a good one is left alone', async () => {
  checkout(`import fs from 'node:fs'; fs.rmSync('${dist}', { recursive: true }); fs.mkdirSync('${dist}');
    fs.writeFileSync('${join(dist, 'index.html')}', 'the page');`);
  writeFileSync(join(root, 'node_modules/vite/bin/package.json'), '{"type":"module"}');
  const said: string[] = [];
  for (const _ of [1, 2])
    assert.equal(
      buildPage(root, process.execPath, (text: string) => said.push(text)),
      undefined,
    );
  assert.deepEqual(said, ['building the web app']);
  assert.equal(missingPage(dist), undefined);
  assert.deepEqual(await front(), { status: 200, body: 'the page' });
  assert.equal(readFileSync(join(dist, '.sources'), 'utf8').length, 64);
});

test('whatever could be the id of a link or a request gets the same page, and nothing else does', async () => {
  for (const [at, name] of [
    ['/s/', 'share.html'],
    ['/r/', 'request.html'],
  ] as const) {
    writeFileSync(join(dist, name), `the page of ${at}`);
    for (const id of [ID, '0'.repeat(22), `${ID}/`])
      assert.deepEqual(await front(at + id), { status: 200, body: `the page of ${at}` });
    for (const rest of ['', `${ID}x`, ID.slice(1), `${ID}/x`, `${ID.slice(1)}.`])
      assert.equal((await front(at + rest)).status, 404, at + rest);
    assert.equal((await front(`/${name}`)).status, 404, name);
  }
});

test('where nothing was built, that is said', async () => {
  rmSync(dist, { recursive: true, force: true });
  assert.match((await front()).body, /it was not built/);
});
