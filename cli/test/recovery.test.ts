import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApiError, NetworkError, nodeEngine } from '@szafa/client/node';
import type { Invocation } from '../src/command.ts';
import { prepareKey, withKey } from '../src/lib/account/recovery.ts';
import { Output } from '../src/lib/print/output.ts';

const about = { server: 'http://x', username: 'ewa' };

test('a recovery key is deleted only where it certainly does not count', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'szafa-recovery-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const engine = stack.adopt(nodeEngine(), (one) => one.close());
  const out = new Output({ json: false, quiet: true });
  const notes: string[] = [];
  out.note = (code) => notes.push(code);
  const { signal } = new AbortController();
  /** What is in the folder after a command that met the error, and what it told. */
  const left = async (error: Error) => {
    notes.length = 0;
    const flags = { 'recovery-file': join(folder, 'key') };
    const invocation = { flags, out, signal } as unknown as Invocation;
    const prepared = await prepareKey(invocation, engine, about, false);
    const failing = withKey(prepared, async () => {
      throw error;
    });
    await assert.rejects(failing, error);
    const names = await readdir(folder);
    if (names.length > 0) assert.match(await readFile(join(folder, 'key'), 'utf8'), /ewa/);
    await rm(join(folder, 'key'), { force: true });
    return [...names, ...notes];
  };
  const kept = ['key', 'recovery-key-doubtful'];
  // The server did it, perhaps, and its answer was lost, or is a page of somebody else's.
  assert.deepEqual(await left(new NetworkError('cut off')), kept);
  assert.deepEqual(await left(new ApiError(502, {})), kept);
  assert.deepEqual(await left(new ApiError(500, {})), kept);
  assert.deepEqual(await left(new SyntaxError('<html>')), kept);
  assert.deepEqual(await left(new Error('anything else')), kept);
  // It never heard of it, or said no.
  assert.deepEqual(await left(new NetworkError('refused', { sent: false })), []);
  for (const status of [400, 401, 403, 409, 429]) assert.deepEqual(await left(new ApiError(status, {})), []);
});
