import assert from 'node:assert/strict';

/** Use it instead of `deepEqual`, which takes minutes to format the difference of a few thousand bytes. */
export function assertBytes(found: Uint8Array, expected: Uint8Array, what = 'the bytes'): void {
  if (Buffer.compare(found, expected) === 0) return;
  const at = expected.findIndex((byte, at) => byte !== found[at]);
  const from = at === -1 ? expected.length : at;
  assert.fail(`${what}: ${found.length} instead of ${expected.length}, and they differ from ${from} on`);
}
