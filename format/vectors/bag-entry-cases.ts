/** The cases of bags that are opened by a recovery key, or by a passkey, instead of the password. */
import type { Bytes } from '../../client/src/index.ts';
import { type BagCase, changed, type Key } from './bag-cases.ts';
import type { Json } from './builder.ts';
import { flip, PARTS, short } from './file-cases.ts';

const RECOVERY = 'c7'.repeat(32);
const inRecovery = (change: (bytes: Bytes) => Bytes) => (json: Json) => ({
  ...json,
  entries: (json['entries'] as (Key & { type: string })[]).map((entry) =>
    entry.type === 'recovery' ? { ...entry, key: changed(entry.key, change) } : entry,
  ),
});
const byRecovery = { recovery: RECOVERY, reader: { recovery: RECOVERY } };

/** A reader that comes with a recovery key opens that entry, and no other. */
export const recoveryBags: BagCase[] = [
  { name: 'good-recovery', about: 'beside a recovery key, opened by the password', recovery: RECOVERY },
  { name: 'good-by-recovery', about: 'opened by the recovery key', ...byRecovery },
  {
    name: 'recovery-none',
    about: 'a recovery key, and no entry for one',
    reader: { recovery: RECOVERY },
    stage: 'entry',
  },
  {
    name: 'recovery-two',
    about: 'two recovery keys, opened by the password',
    recovery: RECOVERY,
    text: (json) => ({ ...json, entries: [...(json['entries'] as Json[]), (json['entries'] as Json[])[1]] }),
    stage: 'bag',
  },
  {
    name: 'recovery-short',
    about: 'the master key sealed for the recovery key lacks a byte, opened by the password',
    recovery: RECOVERY,
    text: inRecovery(short),
    stage: 'bag',
  },
  {
    name: 'recovery-other',
    about: 'another recovery key',
    recovery: RECOVERY,
    reader: { recovery: '77'.repeat(32) },
    stage: 'entry',
    code: 'wrong-password',
  },
  {
    name: 'recovery-of-password',
    about: "the password's entry in the place of the recovery key's, under the same KEK",
    recovery: RECOVERY,
    reader: { recovery: 'as the password' },
    text: (json) => {
      const [password] = json['entries'] as Json[];
      return { ...json, entries: [password, { ...password, type: 'recovery' }] };
    },
    stage: 'entry',
    code: 'wrong-password',
  },
  ...Object.entries(PARTS).map(
    ([part, at]): BagCase => ({
      name: `recovery-${part}`,
      about: `a bit of the ${part} of the entry for the recovery key`,
      ...byRecovery,
      text: inRecovery((key) => flip(key, at)),
      stage: 'entry',
      code: part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    }),
  ),
  {
    name: 'recovery-mac',
    about: 'the entry opens, and the MAC is from somebody else',
    ...byRecovery,
    macUnder: 'unknown',
    stage: 'bag-mac',
  },
];

const [RING, PHONE] = [
  { id: 'cmluZw', kek: '9a'.repeat(32) },
  { id: 'cGhvbmU', kek: '9b'.repeat(32) },
];
type PasskeyEntry = Key & { type: string; id: unknown };
/** Changes the entry of the first of two passkeys. */
const inRing = (change: (entry: PasskeyEntry) => object) => (json: Json) => ({
  ...json,
  entries: (json['entries'] as PasskeyEntry[]).map((entry) => (entry.id === RING.id ? change(entry) : entry)),
});
const both = { passkeys: [RING, PHONE] };
const byRing = { ...both, reader: { passkey: RING } };

/** A reader that comes with a passkey opens the entry of its id, and no other. */
export const passkeyBags: BagCase[] = [
  { name: 'good-passkeys', about: 'beside passkeys, opened by the password', ...both },
  { name: 'good-by-passkey', about: 'opened by the first passkey', ...byRing },
  { name: 'good-by-second', about: 'opened by the second passkey', ...both, reader: { passkey: PHONE } },
  {
    name: 'good-passkey-long',
    about: 'an id of 1,023 bytes',
    passkeys: [{ ...RING, id: 'A'.repeat(1364) }],
    reader: { passkey: { ...RING, id: 'A'.repeat(1364) } },
  },
  {
    name: 'passkey-none',
    about: 'a passkey that has no entry',
    passkeys: [PHONE],
    reader: { passkey: RING },
    stage: 'entry',
  },
  {
    name: 'passkey-other',
    about: 'another secret',
    ...both,
    reader: { passkey: { ...RING, kek: PHONE.kek } },
    stage: 'entry',
    code: 'wrong-password',
  },
  {
    name: 'passkey-exchanged',
    about: 'two passkeys whose ids were exchanged',
    ...byRing,
    text: (json) => ({
      ...json,
      entries: (json['entries'] as PasskeyEntry[]).map((entry) =>
        entry.type === 'passkey' ? { ...entry, id: entry.id === RING.id ? PHONE.id : RING.id } : entry,
      ),
    }),
    stage: 'entry',
    code: 'wrong-password',
  },
  {
    name: 'passkey-of-password',
    about: "the password's entry in the place of the passkey's, under the same KEK",
    ...both,
    reader: { passkey: { ...RING, kek: 'as the password' } },
    text: (json) => inRing(({ id }) => ({ ...(json['entries'] as Json[])[0], type: 'passkey', id }))(json),
    stage: 'entry',
    code: 'wrong-password',
  },
  ...(
    [
      ['twice', 'two entries of one id', (entry) => ({ ...entry, id: PHONE.id })],
      ['no-id', 'no id', ({ id: _, ...entry }) => entry],
      ['number', 'a number as id', (entry) => ({ ...entry, id: 7 })],
      ['empty', 'an empty id', (entry) => ({ ...entry, id: '' })],
      ['long', 'an id of 1,024 bytes', (entry) => ({ ...entry, id: `${'A'.repeat(1364)}AA` })],
      ['spelling', 'an id that is not canonical', (entry) => ({ ...entry, id: 'cmluZx' })],
      ['padding', 'an id with padding', (entry) => ({ ...entry, id: 'cmluZw==' })],
      ['no-key', 'no key', ({ key: _, ...entry }) => entry],
      [
        'short',
        'the sealed master key lacks a byte',
        (entry) => ({ ...entry, key: changed(entry.key, short) }),
      ],
    ] as [string, string, (entry: PasskeyEntry) => object][]
  ).map(
    ([name, about, change]): BagCase => ({
      name: `passkey-${name}`,
      about: `${about}, opened by the password`,
      ...both,
      text: inRing(change),
      stage: 'bag',
    }),
  ),
  ...Object.entries(PARTS).map(
    ([part, at]): BagCase => ({
      name: `passkey-${part}`,
      about: `a bit of the ${part} of the entry for the passkey`,
      ...byRing,
      text: inRing((entry) => ({ ...entry, key: changed(entry.key, (key) => flip(key, at)) })),
      stage: 'entry',
      code: part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    }),
  ),
  {
    name: 'passkey-mac',
    about: 'the entry opens, and the MAC is from somebody else',
    ...byRing,
    macUnder: 'unknown',
    stage: 'bag-mac',
  },
];
