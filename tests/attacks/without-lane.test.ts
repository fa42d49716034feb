/** A Node that has lost what the fast lane needs: the service says so once, and serves without it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertOk, begin, makeFile, putVolume, register, withService } from '../harness/index.ts';

const CRIPPLED = fileURLToPath(new URL('crippled-node.mjs', import.meta.url));

test('without the internals of Node that it needs the lane stays closed, with one line in the log', async () => {
  const env = { NODE_OPTIONS: `--no-deprecation --import ${CRIPPLED}`, SZ_WORKERS: '2' };
  await withService({ env }, async (service) => {
    assert.equal(service.log.split('the fast lane is off').length - 1, 1, service.log);
    const user = await register(service);
    const file = makeFile([300_000]);
    assertOk(await putVolume(user, await begin(user, file), 1, file.volumes[0]!));
  });
});
