import { argon2 as argon2Callback, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { TryLater } from '../platform/http/api-error.ts';
import { Semaphore } from '../platform/semaphore.ts';

const argon2 = promisify(argon2Callback);

/** OWASP's minimum for Argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19 * 1024, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;
const AT_ONCE = 2;
const MOST_WAITING = 1000;
const RETRY_SECONDS = 5;

const FORMAT = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

export const isPasswordHash = (text: string) => FORMAT.test(text);

/** Hashes passwords, a few at a time and fairly by address, so that a flood of logins cannot starve the server or other logins. */
export class Passwords {
  readonly #semaphore = new Semaphore(
    AT_ONCE,
    MOST_WAITING,
    () => new TryLater(503, 'too many logins at once; try again in a few seconds', RETRY_SECONDS),
  );

  hash(password: string, address = ''): Promise<string> {
    return this.inTurn(address, () => this.make(password));
  }

  /** Returns a hash in PHC format, with cost and salt. Call it only inside `inTurn`. */
  async make(password: string): Promise<string> {
    const salt = randomBytes(16);
    const tag = await derive(password, salt, COST, TAG_BYTES);
    const { memory, passes, parallelism } = COST;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${bare(salt)}$${bare(tag)}`;
  }

  /** For an unknown user (undefined hash) this takes equally long and returns false. Call it only inside `inTurn`. */
  async verify(password: string, hash: string | undefined): Promise<boolean> {
    const parts = hash === undefined ? undefined : FORMAT.exec(hash);
    if (hash !== undefined && !parts) throw new Error('a stored password hash is damaged');
    if (!parts) {
      await derive(password, randomBytes(16), COST, TAG_BYTES);
      return false;
    }
    const [, memory, passes, parallelism, salt, tag] = parts;
    const expected = Buffer.from(tag!, 'base64');
    const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    return timingSafeEqual(
      await derive(password, Buffer.from(salt!, 'base64'), cost, expected.length),
      expected,
    );
  }

  inTurn<T>(address: string, work: () => Promise<T>): Promise<T> {
    return this.#semaphore.run(address, work);
  }
}

function derive(password: string, nonce: Buffer, cost: typeof COST, tagLength: number): Promise<Buffer> {
  return argon2('argon2id', { message: Buffer.from(password), nonce, tagLength, ...cost }) as Promise<Buffer>;
}

const bare = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
