import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { limits } from '@szafa/protocol';

/** What an answer to a challenge is good for: to come in by itself, to stand beside a password, to be added to an account. */
export type Purpose = 'enter' | 'second' | 'add';

/** For whom a challenge is; nobody is known yet where a passkey comes in by itself. */
export interface Asked {
  purpose: Purpose;
  accountId?: string | undefined;
}

const RANDOM = 16;
const TIME = 8;
const MAC = 16;

/**
 * Challenges that carry their own proof: random bytes, the time until which they can be answered, and a MAC over both, the
 * purpose and the account. Anybody may ask for one, so nothing is written down for it; each counts once since those that were
 * answered are kept until that time (`usePasskey`). All nodes share the secret, which is in the database.
 */
export class Challenges {
  readonly #secret: () => Promise<string>;
  readonly #now: () => number;
  #known: Promise<string> | undefined;

  constructor(secret: () => Promise<string>, now: () => number) {
    this.#secret = secret;
    this.#now = now;
  }

  async make(asked: Asked): Promise<string> {
    const head = Buffer.alloc(RANDOM + TIME);
    randomBytes(RANDOM).copy(head);
    head.writeBigUInt64BE(BigInt(this.#now() + limits.passkeys.seconds * 1000), RANDOM);
    return Buffer.concat([head, await this.#mac(head, asked)]).toString('base64url');
  }

  /** When it ends; undefined where it is none of ours, for something or somebody else, or over. */
  async check(challenge: unknown, asked: Asked): Promise<number | undefined> {
    if (typeof challenge !== 'string') return undefined;
    const bytes = Buffer.from(challenge, 'base64url');
    // In one spelling only: another one of the same bytes would count once more.
    if (bytes.length !== RANDOM + TIME + MAC || bytes.toString('base64url') !== challenge) return undefined;
    const head = bytes.subarray(0, RANDOM + TIME);
    if (!timingSafeEqual(bytes.subarray(RANDOM + TIME), await this.#mac(head, asked))) return undefined;
    const until = Number(head.readBigUInt64BE(RANDOM));
    return until > this.#now() ? until : undefined;
  }

  async #mac(head: Buffer, { purpose, accountId = '' }: Asked): Promise<Buffer> {
    this.#known ??= this.#secret().catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    const mac = createHmac('sha256', await this.#known);
    return mac.update(`${purpose}\0${accountId}\0`).update(head).digest().subarray(0, MAC);
  }
}
