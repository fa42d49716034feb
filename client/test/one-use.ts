import assert from 'node:assert/strict';
import { pathOf, readFilesHead } from '@szafa/protocol';

const SALT_BYTES = 24;

/** One request, of which only this counts. */
interface Request {
  method: string;
  path: string;
  sent: Uint8Array;
}

/** The volumes that it carries, each as far as it left. */
function volumesIn({ method, path, sent }: Request): Buffer[] {
  const bytes = Buffer.from(sent);
  if (method === 'PUT' && path.startsWith('/api/transfer/')) return [bytes];
  const head = bytes.indexOf('\n');
  if (path !== pathOf('writeFiles') || head < 0) return [];
  let at = head + 1;
  return readFilesHead(bytes.toString('utf8', 0, head)).files.map(({ size }) => {
    at += size;
    return bytes.subarray(at - size, at);
  });
}

/**
 * That no key and nonce were used for two plaintexts, by all volumes that ever left, whole or in part. The salts are in the clear at
 * the head of each volume, random, and 24 bytes long: equal ones mean the same key, and then the bytes must be the same
 * as well. Of one that was cut off there is a beginning.
 */
export function assertOneUse(requests: readonly Request[]): number {
  const longest = new Map<string, Buffer>();
  for (const bytes of requests.flatMap(volumesIn)) {
    if (bytes.length <= SALT_BYTES) continue;
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
