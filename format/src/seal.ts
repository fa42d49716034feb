import { type Bytes, concat, equal } from './bytes.ts';
import { EMPTY, type Engine, labelBytes } from './engine.ts';

const RANDOM = 24;
const COMMITMENT = 32;
const TAG = 16;

/** How much longer a sealed thing is than its plaintext. */
export const SEAL_OVERHEAD = RANDOM + COMMITMENT + TAG;

async function derive(engine: Engine, key: Bytes, random: Bytes, label: string) {
  const derived = await engine.hkdf(key, random, labelBytes(label), 64);
  return { key: derived.subarray(0, 32), commitment: derived.subarray(32) };
}

/** r ‖ commitment ‖ AES-256-GCM(plaintext); r makes the key fresh, the commitment makes it the only one. @public */
export async function seal(engine: Engine, key: Bytes, label: string, plain: Bytes): Promise<Bytes> {
  const random = engine.random(RANDOM);
  const once = await derive(engine, key, random, label);
  return concat(random, once.commitment, await engine.gcmSeal(once.key, EMPTY, plain));
}

export type Unsealed = { plain: Bytes } | { fault: 'length' | 'commitment' | 'tag' };

/** The commitment is checked first: `commitment` says "another key", `tag` says "changed bytes". @public */
export async function unseal(engine: Engine, key: Bytes, label: string, sealed: Bytes): Promise<Unsealed> {
  if (sealed.length < SEAL_OVERHEAD) return { fault: 'length' };
  const once = await derive(engine, key, sealed.subarray(0, RANDOM), label);
  if (!equal(once.commitment, sealed.subarray(RANDOM, RANDOM + COMMITMENT))) return { fault: 'commitment' };
  const plain = await engine.gcmOpen(once.key, EMPTY, sealed.subarray(RANDOM + COMMITMENT));
  return plain ? { plain } : { fault: 'tag' };
}
