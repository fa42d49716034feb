/** The service gives away its own command: a second machine needs Node and curl. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { assertBytes } from '../harness/bytes.ts';
import { freshName, sha256, useService } from '../harness/index.ts';

const service = useService();

suite('/szafa.cjs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'szafa-command-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'szafa.cjs');

  test('has the digest that the page names', async () => {
    const answer = await fetch(`${service.url}/szafa.cjs`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const bytes = await answer.bytes();
    writeFileSync(file, bytes);
    // The page, its scripts, and those that they load later.
    const page = await (await fetch(service.url)).text();
    const texts = [page];
    const names = new Set<string>();
    for (const text of texts) {
      const named = text.matchAll(/(?:\/assets|\.)\/([\w-]+\.js)\b/g);
      for (const [, name] of named) {
        if (names.has(name!)) continue;
        names.add(name!);
        texts.push(await (await fetch(`${service.url}/assets/${name}`)).text());
      }
    }
    assert.ok(
      texts.some((script) => script.includes(sha256(bytes))),
      page,
    );

    const head = await fetch(`${service.url}/szafa.cjs`, { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), String(bytes.length));
    const etag = head.headers.get('etag')!;
    const again = await fetch(`${service.url}/szafa.cjs`, { headers: { 'if-none-match': etag } });
    assert.equal(again.status, 304);
  });

  test('registers, uploads and downloads', () => {
    const env = {
      ...{ SZ_CONFIG: join(folder, 'config'), SZ_SERVER: service.url },
      ...{ SZ_USER: freshName(), SZ_PASSWORD: 'a long and quiet evening' },
    };
    for (const args of [['register'], ['put', 'szafa.cjs'], ['get', 'szafa.cjs', '--output', 'copy']]) {
      const { status, stderr } = spawnSync(process.execPath, [file, ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    }
    assertBytes(readFileSync(join(folder, 'copy')), readFileSync(file));
  });
});
