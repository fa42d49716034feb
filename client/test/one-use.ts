import assert from 'node:assert/strict';

const SALT_BYTES = 24;

/** One request, of which only this counts. */
interface Request {
  method: string;
  path: string;
  sent: Uint8Array;
}

/**
 * That no key and nonce were used for two plaintexts, by all volumes that ever left, whole or in part. The salts are in the clear at
 * the head of each volume, random, and 24 bytes long: equal ones mean the same key, and then the bytes must be the same
 * as well. Of one that was cut off there is a beginning.
 */
export function assertOneUse(requests: readonly Request[]): number {
  const longest = new Map<string, Buffer>();
  for (const { method, path, sent } of requests) {
    if (method !== 'PUT' || !path.startsWith('/api/transfer/') || sent.length <= SALT_BYTES) continue;
    const bytes = Buffer.from(sent);
    const salt = bytes.toString('hex', 0, SALT_BYTES);
    const other = longest.get(salt) ?? bytes;
    const [short, long] = other.length < bytes.length ? [other, bytes] : [bytes, other];
    assert.equal(
      Buffer.compare(long.subarray(0, short.length), short),
      0,
      `salt ${salt} has sealed two volumes`,
    );
    longest.set(salt, long);
  }
  return longest.size;
}
