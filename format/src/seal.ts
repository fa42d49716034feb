import { type Bytes, concat, equal } from './bytes.ts';
import { deriveKey, EMPTY, type Engine } from './engine.ts';
import { type Stage, TamperedError } from './errors.ts';

const RANDOM = 24;
const COMMITMENT = 32;
const TAG = 16;

/** Extra bytes of a sealed value. */
export const SEAL_OVERHEAD = RANDOM + COMMITMENT + TAG;

async function derive(engine: Engine, key: Bytes, random: Bytes, label: string) {
  const derived = await deriveKey(engine, key, label, random, 64);
  return { key: derived.subarray(0, 32), commitment: derived.subarray(32) };
}

/**
 * Seals a value under a key that serves many values.
 * @returns random ‖ commitment ‖ AES-256-GCM(plaintext). The random bytes give each value a fresh key. The commitment ensures that no
 * other key opens it. @public
 */
export async function seal(engine: Engine, key: Bytes, label: string, plain: Bytes): Promise<Bytes> {
  const random = engine.random(RANDOM);
  const once = await derive(engine, key, random, label);
  return concat(random, once.commitment, await engine.gcmSeal(once.key, EMPTY, plain));
}

export type Unsealed = { plain: Bytes } | { fault: 'length' | 'commitment' | 'tag' };

/**
 * Opens a sealed value. Checks the commitment before the tag.
 * @returns the fault `commitment` for a wrong key or label, `tag` for changed bytes @public
 */
export async function unseal(engine: Engine, key: Bytes, label: string, sealed: Bytes): Promise<Unsealed> {
  if (sealed.length < SEAL_OVERHEAD) return { fault: 'length' };
  const once = await derive(engine, key, sealed.subarray(0, RANDOM), label);
  if (!equal(once.commitment, sealed.subarray(RANDOM, RANDOM + COMMITMENT))) return { fault: 'commitment' };
  const plain = await engine.gcmOpen(once.key, EMPTY, sealed.subarray(RANDOM + COMMITMENT));
  return plain ? { plain } : { fault: 'tag' };
}

/**
 * Opens a sealed value.
 * @throws TamperedError at this stage if it does not open
 */
export async function unsealOrThrow(
  engine: Engine,
  key: Bytes,
  label: string,
  sealed: Bytes,
  [stage, message]: [Stage, string],
): Promise<Bytes> {
  const opened = await unseal(engine, key, label, sealed);
  if (!('plain' in opened)) throw new TamperedError(stage, message);
  return opened.plain;
}
