/** Recovery keys, and secrets of passkeys, made from docs/format.md with Node's own primitives and nothing of the client. */
import type { PasskeyVector, RecoveryVector } from './kinds.ts';
import { b64, fixedFor, hex, hkdf, sha256 } from './writer-cases.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Five bits a character, by a text of bits. */
function textOf(key: Uint8Array): string {
  const check = sha256(Buffer.concat([Buffer.from('szafa/v1/recovery-check\0'), key])).subarray(0, 3);
  const bits = [...key, ...check].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const chars = bits.match(/.{5}/g)!.map((five) => ALPHABET[Number.parseInt(five, 2)]);
  return chars.join('').match(/.{4}/g)!.join('-');
}

function saltOf(service: string, username: string): Buffer {
  const named = [Buffer.from('szafa/v1/salt\0'), Buffer.from(service, 'hex'), Buffer.from(username)];
  return sha256(Buffer.concat(named)).subarray(0, 16);
}

function recovery(
  name: string,
  key: Uint8Array,
  username = 'ewa',
  service = '5a'.repeat(16),
): RecoveryVector {
  const salt = saltOf(service, username);
  const text = textOf(key);
  return {
    name,
    ...{ service_id: service, username, typed: text },
    expect: {
      key: hex(key),
      text,
      auth_secret: b64(hkdf(key, salt, 'szafa/v1/recovery-auth', 32)),
      kek: hex(hkdf(key, salt, 'szafa/v1/recovery-kek', 32)),
    },
  };
}

const key = fixedFor('recovery')('key', 32);
const good = recovery('good', key);
const text = good.typed;
const other = (at: number) => (text[at] === '7' ? '8' : '7');
const spelled = (name: string, typed: string): RecoveryVector => ({ ...good, name, typed });
const ones = recovery('ones', Buffer.from('0842108421'.repeat(6).concat('0842'), 'hex'));
const spelledOnes = (name: string, letter: string): RecoveryVector => {
  const typed = ones.typed.replaceAll('1', letter);
  if (typed === ones.typed) throw new Error('there is no 1 in it');
  return { ...ones, name, typed };
};
const wrong = (name: string, typed: string): RecoveryVector => ({ ...good, name, typed, expect: null });

export const recoveries: RecoveryVector[] = [
  good,
  recovery('good-ones', Buffer.alloc(32, 0xff)),
  recovery('good-one', Buffer.concat([Buffer.alloc(31), Uint8Array.of(1)])),
  recovery('good-other-user', key, 'Ewa'),
  recovery('good-other-service', key, 'ewa', '5b'.repeat(16)),
  spelled('spelled-small', text.toLowerCase()),
  spelled('spelled-whole', text.replaceAll('-', '')),
  spelled('spelled-blanks', `  ${text.replaceAll('-', ' \n')}\t`),
  spelled('spelled-dashes', text.replaceAll('-', '\u2013')),
  spelled('spelled-letters', text.replaceAll('0', 'o').replaceAll('1', 'l')),
  spelled('spelled-capital-o', text.replaceAll('0', 'O')),
  // This key is written with many ones.
  spelledOnes('spelled-capital-i', 'I'),
  spelledOnes('spelled-small-i', 'i'),
  spelledOnes('spelled-capital-l', 'L'),
  spelledOnes('spelled-small-l', 'l'),
  ...['\u2010', '\u2011', '\u2012', '\u2014', '\u2015', '\ufe58', '\ufe63', '\uff0d'].map((dash) =>
    spelled(`spelled-dash-${dash.codePointAt(0)!.toString(16)}`, text.replaceAll('-', dash)),
  ),
  ...[0, 7, 33, 68].map((at) =>
    wrong(`mistyped-${at}`, `${text.slice(0, at)}${other(at)}${text.slice(at + 1)}`),
  ),
  wrong('exchanged', `${text.slice(5, 9)}-${text.slice(0, 4)}${text.slice(9)}`),
  wrong('shorter', text.slice(0, -1)),
  wrong('longer', `${text}0`),
  wrong('strange', text.replace(/.$/, 'U')),
  wrong('empty', ''),
];

function passkey(name: string, username = 'ewa', service = '5a'.repeat(16)): PasskeyVector {
  const secret = fixedFor('passkey')('secret', 32);
  const kek = hex(hkdf(secret, saltOf(service, username), 'szafa/v1/passkey-kek', 32));
  return { name, service_id: service, username, secret: hex(secret), expect: { kek } };
}

export const passkeys: PasskeyVector[] = [
  passkey('good'),
  passkey('good-other-user', 'Ewa'),
  passkey('good-other-service', 'ewa', '5b'.repeat(16)),
];
