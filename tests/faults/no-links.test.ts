/** A disk that has no hard links, as FAT: what is written once is written once there, too. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const CLIENT = new URL('../../client/src/node/index.ts', import.meta.url).href;

test('the keys of an account are pinned by whoever sees them first, without links as well', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-no-links-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const pin = async (digest: string): Promise<unknown> => {
    const program = `
      const { fileContacts } = await import(${JSON.stringify(CLIENT)});
      const store = fileContacts(${JSON.stringify(folder)}).of('alice', '${'0'.repeat(32)}');
      const pin = await store.saveFirst('bob', { digest: '${digest}', verified: false });
      console.log(JSON.stringify([pin.digest, (await store.load('bob')).digest]));`;
    const calls = '?link,linkat';
    const { stdout, stderr } = await promisify(execFile)('strace', [
      ...['-f', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EPERM`],
      ...[process.execPath, '--input-type=module', '-e', program],
    ]);
    assert.match(stderr, /EPERM .*INJECTED/, 'there were no links');
    return JSON.parse(stdout);
  };
  const [first, second] = ['a'.repeat(64), 'b'.repeat(64)];
  assert.deepEqual(await pin(first), [first, first]);
  assert.deepEqual(await pin(second), [first, first]);
  assert.equal((await readdir(folder)).length, 1, 'nothing else is left');
});
