import { createCipheriv, hash } from 'node:crypto';

let pattern = Buffer.alloc(0);

/** Returns the first bytes of an endless incompressible pattern, which is the same in every process. */
export function patternOf(bytes: number): Buffer {
  if (pattern.length < bytes) {
    // Generate all of it again: AES-CTR with a fixed key is cheap and always produces the same prefix.
    pattern = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes));
  }
  return pattern.subarray(0, bytes);
}

const digests = new Map<number, string>();

export function patternSha256(bytes: number): string {
  let digest = digests.get(bytes);
  if (digest === undefined) {
    digest = hash('sha256', patternOf(bytes), 'hex');
    digests.set(bytes, digest);
  }
  return digest;
}
