import { cleanUsername } from '@szafa/protocol';
import { type Bytes, concat, toBase64Url, utf8 } from './bytes.ts';
import { EMPTY, type Engine, type KdfParams, labels } from './engine.ts';
import { UnsupportedError } from './errors.ts';

/** How a key is derived from a password, by number: a service can name another number, but never weaker parameters. @public */
export const PROFILES: ReadonlyMap<number, KdfParams> = new Map([[1, { m: 64 * 1024, t: 3, p: 1 }]]);
/** What new bags use. @public */
export const PROFILE = 1;
/** That of an account without a key bag: nothing says by which it was made. @public */
export const BAGLESS_PROFILE = 1;

/** An account, as it is told from all others everywhere. @public */
export interface AccountName {
  /** 32 hex digits, from `GET /api/service`. */
  serviceId: string;
  username: string;
}

/** With the profile by which its secrets are derived. */
export interface ProfiledAccount extends AccountName {
  profile: number;
}

export function profileOf(profile: number): KdfParams {
  const params = PROFILES.get(profile);
  if (!params) throw new UnsupportedError('profile', `KDF profile ${profile} is unknown to this client`);
  return params;
}

/** The same on every device, and another one on every service. @public */
export async function accountSalt(engine: Engine, { serviceId, username }: AccountName): Promise<Bytes> {
  const name = concat(Uint8Array.fromHex(serviceId), utf8(cleanUsername(username)));
  return (await engine.sha256(concat(utf8(labels.salt), new Uint8Array(1), name))).slice(0, 16);
}

/** @public */
export interface AccountKeys {
  /** What the service gets as `password`. */
  authSecret: string;
  /** Opens the key bag. Never leaves the device. */
  kek: Bytes;
}

/** One run of Argon2id gives both: what logs in says nothing about what opens files. @public */
export async function deriveAccountKeys(
  engine: Engine,
  account: AccountName,
  password: string,
  profile = PROFILE,
): Promise<AccountKeys> {
  const params = profileOf(profile);
  // One password, one key: keyboards and systems differ in how they compose letters.
  const secret = utf8(password.normalize('NFC'));
  const root = await engine.argon2id(secret, await accountSalt(engine, account), params);
  const [auth, kek] = await Promise.all([
    engine.hkdf(root, EMPTY, utf8(labels.auth), 32),
    engine.hkdf(root, EMPTY, utf8(labels.kek), 32),
  ]);
  root.fill(0);
  return { authSecret: toBase64Url(auth), kek };
}
