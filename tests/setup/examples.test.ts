/** The examples of README.md and docs/write-a-client.md, run as they stand. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freshName, useService } from '../harness/index.ts';
import { ROOT } from './installation.ts';

const service = useService();
const folder = mkdtempSync(join(tmpdir(), 'szafa-examples-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The shell block of a page that contains the text, for this server and an account of its own. */
function example(page: string, containing: string): string {
  const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/```sh\n(.*?)```/gs);
  const block = [...blocks].map(([, text]) => text!).find((text) => text.includes(containing));
  assert.ok(block, `${page} has an example with ${containing}`);
  return block.replaceAll('http://127.0.0.1:8080', service.url).replaceAll('ada', freshName());
}

async function run(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...process.env, SZ_CONFIG: join(folder, 'config'), SZ_PASSWORD_FILE: join(folder, 'password') },
  });
  return stdout;
}

test('the upload and download with curl', async () => {
  assert.match(await run(example('docs/write-a-client.md', '/api/transfer/init')), /the same bytes\n$/);
});

test('the first file with the command', async () => {
  writeFileSync(join(folder, 'password'), 'correct horse battery staple');
  writeFileSync(join(folder, 'holiday.mkv'), 'a film');
  const command = `"${process.execPath}" "${join(ROOT, 'cli/bin/szafa.mjs')}"`;
  await run(example('README.md', 'npx @szafa/cli put').replaceAll('npx @szafa/cli', command));
  assert.equal(readFileSync(join(folder, 'copy.mkv'), 'utf8'), 'a film');
});
