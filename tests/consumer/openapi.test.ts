/** `/openapi.json` as the tools of others take it: a linter, a generator, and a client that the generator makes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { freshName, useService } from '../harness/index.ts';

const service = useService();
const here = fileURLToPath(new URL('.', import.meta.url));
// Below this package, so that its modules are found.
const folder = mkdtempSync(join(here, 'node_modules', 'made-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const read = async () => (await service.call({ path: '/openapi.json' })).text;

test('redocly finds nothing to complain about', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: await read(), absoluteRef: '/openapi.json', config });
  assert.deepEqual(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    [],
  );
});

const CLIENT = `
import createClient from 'openapi-fetch';
import { createHash } from 'node:crypto';
import type { paths } from './schema.js';

const [url, username, password] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url });
const must = <T>({ data, error }: { data?: T; error?: unknown }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
};
const { token } = must(await client.POST('/api/auth/register', { body: { username, password } }));
const headers = { authorization: \`Bearer \${token}\` };
const bytes = new TextEncoder().encode('a volume');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const { transfer_id } = must(await client.POST('/api/transfer/init', {
  headers,
  body: { file_name: 'made', file_size: bytes.length, total_sha256: sha256, chunk_count: 1,
    chunks: [{ size: bytes.length, sha256 }], enc_params: { by: 'a generated client' } },
}));
must(await client.PUT('/api/transfer/{transfer_id}/chunk/{idx}', {
  headers, params: { path: { transfer_id, idx: '1' } }, body: bytes as never, bodySerializer: (body: unknown) => body as never,
}));
const { file_id } = must(await client.POST('/api/transfer/{transfer_id}/complete', {
  headers, params: { path: { transfer_id } },
}));
const { files } = must(await client.GET('/api/files', { headers }));
const { response } = await client.GET('/api/files/{file_id}/chunk/{idx}', {
  headers, params: { path: { file_id, idx: '1' } }, parseAs: 'stream',
});
console.log(JSON.stringify([files.map((file) => file.file_name), await response.text()]));
`;

test('a client made by openapi-typescript compiles and uploads a file', async () => {
  const require = createRequire(import.meta.url);
  const { default: generate, astToString } = await import('openapi-typescript');
  const text = await read();
  writeFileSync(join(folder, 'schema.ts'), astToString(await generate(text)));
  writeFileSync(join(folder, 'client.ts'), CLIENT);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const options = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--types',
    'node',
    '--skipLibCheck',
  ];
  const compiled = spawnSync(process.execPath, [tsc, ...options, join(folder, 'client.ts')], {
    encoding: 'utf8',
  });
  assert.equal(compiled.status, 0, compiled.stdout);
  const args = [join(folder, 'client.js'), service.url, freshName(), 'correct horse battery'];
  const ran = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 180_000 });
  assert.equal(ran.status, 0, ran.stderr);
  assert.deepEqual(JSON.parse(ran.stdout), [['made'], 'a volume']);
});
