import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { streamBody } from '../src/platform/volumes/body.ts';
import { receive } from '../src/platform/volumes/receiver.ts';
import { SegmentPool } from '../src/platform/volumes/segments.ts';

test('the memory of a body goes back to the pool, also when it is refused or breaks off', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-receiver-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // Enough for one body.
  const pool = new SegmentPool(2, 64 * 1024);
  const volume = { idx: 1, size: 300_000, sha256: '0'.repeat(64) };
  const broken = Readable.from(
    (async function* () {
      yield Buffer.alloc(200_000);
      throw new Error('gone');
    })(),
  );
  const bodies = [Readable.from([Buffer.alloc(300_000)]), Readable.from([Buffer.alloc(300_001)]), broken];
  for (const [at, body] of bodies.entries()) {
    await assert.rejects(receive(join(folder, String(at)), volume, streamBody(body), pool));
    const lease = pool.lease();
    assert.ok(lease, `body ${at}`);
    pool.release(lease);
  }
});
