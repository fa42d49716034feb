/** The cases of bags that are opened by a recovery key, or by a passkey, instead of the password. */
import type { Bytes } from '../../client/src/index.ts';
import { type BagCase, badBag, changed, goodBag, type Key } from './bag-cases.ts';
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
  goodBag('good-recovery', 'beside a recovery key, opened by the password', { recovery: RECOVERY }),
  goodBag('good-by-recovery', 'opened by the recovery key', { ...byRecovery }),
  badBag('entry', 'recovery-none', 'a recovery key, and no entry for one', {
    reader: { recovery: RECOVERY },
  }),
  badBag('bag', 'recovery-two', 'two recovery keys, opened by the password', {
    recovery: RECOVERY,
    text: (json) => ({ ...json, entries: [...(json['entries'] as Json[]), (json['entries'] as Json[])[1]] }),
  }),
  badBag(
    'bag',
    'recovery-short',
    'the master key sealed for the recovery key lacks a byte, opened by the password',
    { recovery: RECOVERY, text: inRecovery(short) },
  ),
  badBag(
    'entry',
    'recovery-other',
    'another recovery key',
    { recovery: RECOVERY, reader: { recovery: '77'.repeat(32) } },
    'wrong-password',
  ),
  badBag(
    'entry',
    'recovery-of-password',
    "the password's entry in the place of the recovery key's, under the same KEK",
    {
      recovery: RECOVERY,
      reader: { recovery: 'as the password' },
      text: (json) => {
        const [password] = json['entries'] as Json[];
        return { ...json, entries: [password, { ...password, type: 'recovery' }] };
      },
    },
    'wrong-password',
  ),
  ...Object.entries(PARTS).map(([part, at]) =>
    badBag(
      'entry',
      `recovery-${part}`,
      `a bit of the ${part} of the entry for the recovery key`,
      { ...byRecovery, text: inRecovery((key) => flip(key, at)) },
      part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    ),
  ),
  badBag('bag-mac', 'recovery-mac', 'the entry opens, and the MAC is from somebody else', {
    ...byRecovery,
    macUnder: 'unknown',
  }),
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
  goodBag('good-passkeys', 'beside passkeys, opened by the password', { ...both }),
  goodBag('good-by-passkey', 'opened by the first passkey', { ...byRing }),
  goodBag('good-by-second', 'opened by the second passkey', { ...both, reader: { passkey: PHONE } }),
  goodBag('good-passkey-long', 'an id of 1,023 bytes', {
    passkeys: [{ ...RING, id: 'A'.repeat(1364) }],
    reader: { passkey: { ...RING, id: 'A'.repeat(1364) } },
  }),
  badBag('entry', 'passkey-none', 'a passkey that has no entry', {
    passkeys: [PHONE],
    reader: { passkey: RING },
  }),
  badBag(
    'entry',
    'passkey-other',
    'another secret',
    { ...both, reader: { passkey: { ...RING, kek: PHONE.kek } } },
    'wrong-password',
  ),
  badBag(
    'entry',
    'passkey-exchanged',
    'two passkeys whose ids were exchanged',
    {
      ...byRing,
      text: (json) => ({
        ...json,
        entries: (json['entries'] as PasskeyEntry[]).map((entry) =>
          entry.type === 'passkey' ? { ...entry, id: entry.id === RING.id ? PHONE.id : RING.id } : entry,
        ),
      }),
    },
    'wrong-password',
  ),
  badBag(
    'entry',
    'passkey-of-password',
    "the password's entry in the place of the passkey's, under the same KEK",
    {
      ...both,
      reader: { passkey: { ...RING, kek: 'as the password' } },
      text: (json) => inRing(({ id }) => ({ ...(json['entries'] as Json[])[0], type: 'passkey', id }))(json),
    },
    'wrong-password',
  ),
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
  ).map(([name, about, change]) =>
    badBag('bag', `passkey-${name}`, `${about}, opened by the password`, { ...both, text: inRing(change) }),
  ),
  ...Object.entries(PARTS).map(([part, at]) =>
    badBag(
      'entry',
      `passkey-${part}`,
      `a bit of the ${part} of the entry for the passkey`,
      { ...byRing, text: inRing((entry) => ({ ...entry, key: changed(entry.key, (key) => flip(key, at)) })) },
      part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    ),
  ),
  badBag('bag-mac', 'passkey-mac', 'the entry opens, and the MAC is from somebody else', {
    ...byRing,
    macUnder: 'unknown',
  }),
];
