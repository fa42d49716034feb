import { createHmac, timingSafeEqual } from 'node:crypto';
import { limits } from '@szafa/protocol';

const { digits, stepSeconds, stepsAround } = limits.totp;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Decodes base32 (RFC 4648). Secrets are validated before they are stored. */
function bytesOf(secret: string): Buffer {
  let bits = '';
  for (const char of secret) bits += ALPHABET.indexOf(char).toString(2).padStart(5, '0');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** The time step of RFC 6238. */
export const stepAt = (now: number) => Math.floor(now / 1000 / stepSeconds);

/** The code of RFC 4226. */
export function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const at = digest.at(-1)! & 15;
  const number = digest.readUInt32BE(at) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** Returns the latest step around `now` for which the code is right. */
export function stepOf(secret: string, code: string, now: number): number | undefined {
  const current = stepAt(now);
  let found: number | undefined;
  for (let step = current - stepsAround; step <= current + stepsAround; step++) {
    const [right, given] = [Buffer.from(codeOf(secret, step)), Buffer.from(code)];
    if (right.length === given.length && timingSafeEqual(right, given)) found = step;
  }
  return found;
}
