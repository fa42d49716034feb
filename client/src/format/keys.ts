import { cleanUsername } from '@szafa/protocol';
import { UnsupportedError } from '../errors.ts';
import { type Bytes, concat, equal, toBase64Url, utf8 } from './bytes.ts';
import { EMPTY, type Engine, type KdfParams, labels } from './engine.ts';

/** What new accounts and new rings use. @public */
export const KDF: KdfParams = { m: 64 * 1024, t: 3, p: 1 };

const FLOOR = { m: 46 * 1024, t: 1 };
/** `work` is m times t: what a run costs, about a second for a gigabyte. */
const CEILING = { m: 256 * 1024, t: 16, work: 1024 * 1024 };

/** Held before the KDF runs: a hostile ring can neither weaken the key nor exhaust the device. @public */
export function checkKdf({ m, t, p }: KdfParams): void {
  const whole = Number.isInteger(m) && Number.isInteger(t);
  const enough = m >= FLOOR.m && t >= FLOOR.t;
  const bearable = m <= CEILING.m && t <= CEILING.t && m * t <= CEILING.work;
  if (!whole || !enough || !bearable || p !== 1) {
    throw new UnsupportedError(
      'kdf',
      `refused Argon2id parameters m=${m} KiB, t=${t}, p=${p}: memory must be ${FLOOR.m} to ${CEILING.m}, ` +
        `passes ${FLOOR.t} to ${CEILING.t}, both together at most ${CEILING.work}, lanes 1`,
    );
  }
}

/** The same on every device, so that a second one needs nothing but the username. @public */
export async function accountSalt(engine: Engine, username: string): Promise<Bytes> {
  const name = utf8(cleanUsername(username));
  return (await engine.sha256(concat(utf8(labels.salt), new Uint8Array(1), name))).slice(0, 16);
}

async function stretch(engine: Engine, secret: string, salt: Bytes, params: KdfParams): Promise<Bytes> {
  checkKdf(params);
  // One password, one key: keyboards and systems differ in how they compose letters.
  return engine.argon2id(utf8(secret.normalize('NFC')), salt, params);
}

export interface AccountKeys {
  /** What the service gets as `password`. */
  authSecret: string;
  /** Opens rings and directory names. Never leaves the device. */
  kek: Bytes;
}

/** One run of Argon2id gives both: what logs in says nothing about what opens files. @public */
export async function deriveAccountKeys(
  engine: Engine,
  username: string,
  password: string,
): Promise<AccountKeys> {
  const root = await stretch(engine, password, await accountSalt(engine, username), KDF);
  const [auth, kek] = await Promise.all([
    engine.hkdf(root, EMPTY, utf8(labels.auth), 32),
    engine.hkdf(root, EMPTY, utf8(labels.kek), 32),
  ]);
  root.fill(0);
  return { authSecret: toBase64Url(auth), kek };
}

/** The KEK for a ring made with other parameters or another salt. @public */
export async function deriveKek(
  engine: Engine,
  secret: string,
  salt: Bytes,
  params: KdfParams,
): Promise<Bytes> {
  const root = await stretch(engine, secret, salt, params);
  const kek = await engine.hkdf(root, EMPTY, utf8(labels.kek), 32);
  root.fill(0);
  return kek;
}

export function isStandardKdf(params: KdfParams, salt: Bytes, standardSalt: Bytes): boolean {
  return params.m === KDF.m && params.t === KDF.t && params.p === KDF.p && equal(salt, standardSalt);
}
