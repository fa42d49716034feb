/** Key bags as a client could make them one day, and as nobody should: for vectors and attacks. */
import { concat, utf8 } from '../src/bytes.ts';
import { EMPTY } from '../src/engine.ts';
import {
  type AccountName,
  type Bytes,
  type Engine,
  labels,
  type Master,
  seal,
  toBase64Url,
} from '../src/index.ts';
import type { MasterJson } from './kinds.ts';

export interface BagParts {
  account: AccountName;
  kek: Bytes;
  /** Newest first. */
  masters: Master[];
  rev?: number;
  /** The KEK of a recovery key, if there is one. */
  recovery?: Bytes | undefined;
  /** Those of passkeys. */
  passkeys?: { id: string; kek: Bytes }[] | undefined;
}

/** The text inside, as an object that a case may change. */
export async function bagJson(engine: Engine, parts: BagParts) {
  const { account, kek, masters, recovery, passkeys = [], rev = 1 } = parts;
  const [current, ...earlier] = masters as [Master, ...Master[]];
  const sealed = async (key: Bytes, label: string, secret: Bytes) =>
    toBase64Url(await seal(engine, key, label, secret));
  return {
    service_id: account.serviceId,
    username: account.username,
    rev,
    profile: 1,
    epoch: current.epoch,
    earlier: await Promise.all(
      earlier.map(async ({ epoch, key }) => ({ epoch, key: await sealed(current.key, labels.master, key) })),
    ),
    entries: [
      { type: 'password', key: await sealed(kek, labels.password, current.key) },
      ...(recovery ? [{ type: 'recovery', key: await sealed(recovery, labels.recovery, current.key) }] : []),
      ...(await Promise.all(
        passkeys.map(async ({ id, kek: own }) => ({
          ...{ type: 'passkey', id },
          key: await sealed(own, labels.passkey, current.key),
        })),
      )),
    ],
    identity: {
      x25519: await sealed(current.key, labels.x25519, new Uint8Array(32).fill(0x25)),
      ed25519: await sealed(current.key, labels.ed25519, new Uint8Array(32).fill(0xed)),
    },
  };
}

/** The exact bytes for a text, right or wrong. */
export async function bagBytes(
  engine: Engine,
  master: Bytes,
  text: string | object,
  suite = 1,
): Promise<Bytes> {
  const bytes = utf8(typeof text === 'string' ? text : JSON.stringify(text));
  const key = await engine.hkdf(master, EMPTY, utf8(labels.bag), 32);
  return concat(Uint8Array.of(suite), await engine.hmac(key, concat(Uint8Array.of(suite), bytes)), bytes);
}

/** The account of a reader whose keys a vector names. */
export const READER = { serviceId: '5a'.repeat(16), username: 'wektor' };

/** The bag of that reader, and the KEK that opens it. */
export async function bagOfReader(
  engine: Engine,
  { masters, floor }: { masters: MasterJson[]; floor?: number },
): Promise<{ bag: Bytes; kek: Bytes }> {
  const kek = new Uint8Array(32).fill(0x5a);
  // A bag has them newest first; a file may be under any of them.
  const newest = masters
    .map(({ epoch, key }): Master => ({ epoch, key: Uint8Array.fromHex(key) }))
    .toSorted((a, b) => b.epoch - a.epoch);
  const json = await bagJson(engine, { account: READER, kek, masters: newest });
  return { bag: await bagBytes(engine, newest[0]!.key, { ...json, floor }), kek };
}
