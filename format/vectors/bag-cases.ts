/** The cases of the bag vectors: as in file-cases.ts, one fault each, and the stage at which every implementation must stop. */
import type { Bytes } from '../../client/src/index.ts';
import type { Json } from './builder.ts';
import { withKey } from './builder.ts';
import { flip, PARTS, short, without } from './file-cases.ts';
import type { BagVector } from './kinds.ts';

export interface BagCase {
  name: string;
  about: string;
  /** Before the MAC is made. */
  text?: (json: Json) => unknown;
  raw?: (text: string) => string;
  /** After it. */
  bytes?: (bag: Bytes) => Bytes;
  suite?: number;
  /** The bag has an entry for the recovery key of this KEK. */
  recovery?: string;
  /** And for these passkeys. */
  passkeys?: { id: string; kek: string }[];
  reader?: Partial<Pick<BagVector, 'service_id' | 'username' | 'kek' | 'recovery' | 'passkey'>>;
  /** What the reader has seen before; the digest of this very bag where it is 'same'. */
  pin?: { rev: number; digest: string };
  /** Of the MAC, instead of the current one. */
  macUnder?: 'earlier' | 'unknown';
  stage?: string;
  code?: 'tampered' | 'unsupported' | 'wrong-password';
}

export type Key = { key: string };
export const changed = (text: string, change: (bytes: Bytes) => Bytes) =>
  change(Uint8Array.fromBase64(text, { alphabet: 'base64url' }) as Bytes).toBase64({
    alphabet: 'base64url',
    omitPadding: true,
  });
const inEntry = (change: (bytes: Bytes) => Bytes) => (json: Json) => ({
  ...json,
  entries: (json['entries'] as Key[]).map((entry) => ({ ...entry, key: changed(entry.key, change) })),
});
const inEarlier = (change: (bytes: Bytes) => Bytes) => (json: Json) => ({
  ...json,
  earlier: (json['earlier'] as Key[]).map((one, at) =>
    at === 1 ? { ...one, key: changed(one.key, change) } : one,
  ),
});
const earlierEpochs =
  (...epochs: unknown[]) =>
  (json: Json) => ({
    ...json,
    earlier: (json['earlier'] as Key[]).map((one, at) => ({ ...one, epoch: epochs[at] })),
  });
const entriesOf = (change: (entry: Json) => unknown[]) => (json: Json) => ({
  ...json,
  entries: change((json['entries'] as Json[])[0]!),
});
const DIGEST = 'ab'.repeat(32);

export const goodBags: BagCase[] = [
  { name: 'good', about: 'three master keys' },
  { name: 'good-pinned', about: 'the one that was seen before', pin: { rev: 5, digest: 'same' } },
  {
    name: 'good-newer',
    about: 'a later one than the one that was seen before',
    pin: { rev: 4, digest: DIGEST },
  },
  { name: 'good-first', about: 'no earlier master key', text: withKey('earlier', []) },
  {
    name: 'good-floor',
    about: 'the earlier master keys are retired, and still there',
    text: withKey('floor', 4),
  },
  { name: 'good-floor-1', about: 'a floor that retires nothing', text: withKey('floor', 1) },
  {
    name: 'good-unknown',
    about: 'a key that this version does not know',
    text: withKey('later', { any: 1 }),
  },
  {
    name: 'good-entries',
    about: 'ways to the master key that this version does not know, around the one that it knows',
    text: entriesOf((entry) => [{ type: 'another', key: 'x' }, entry, { type: 'fourth', id: 7 }]),
  },
  {
    name: 'good-duplicate',
    about: 'a key twice: the last one counts',
    raw: (text) => text.replace('{', '{"rev":1,'),
  },
  {
    name: 'good-numbers',
    about: 'a number in another spelling',
    raw: (text) => text.replace('"rev":5', '"rev":0.5e1'),
  },
];

const fields = ['service_id', 'username', 'rev', 'profile', 'epoch', 'earlier', 'entries', 'identity'];

export const badBags: BagCase[] = [
  { name: 'empty', about: 'no byte', bytes: () => new Uint8Array(0), stage: 'bag' },
  { name: 'suite-0', about: 'suite 0', suite: 0, stage: 'suite', code: 'unsupported' },
  { name: 'suite-2', about: 'suite 2', suite: 2, stage: 'suite', code: 'unsupported' },
  { name: 'suite-alone', about: 'a suite and nothing else', bytes: (bag) => bag.slice(0, 1), stage: 'bag' },
  { name: 'cut-mac', about: 'the end of the MAC is missing', bytes: (bag) => bag.slice(0, 32), stage: 'bag' },
  { name: 'no-text', about: 'no text after the MAC', raw: () => '', stage: 'bag' },
  { name: 'not-json', about: 'not JSON', raw: (text) => text.slice(1), stage: 'bag' },
  { name: 'array', about: 'a JSON array', raw: () => '[]', stage: 'bag' },
  { name: 'bom', about: 'a byte order mark before the JSON', raw: (text) => `\ufeff${text}`, stage: 'bag' },
  ...fields.map(
    (key): BagCase => ({ name: `without-${key}`, about: `no ${key}`, text: without(key), stage: 'bag' }),
  ),
  ...(
    [
      ['service_id', 'AB'.repeat(16), 'upper case'],
      ['service_id', 'ab'.repeat(15), 'too short'],
      ['service_id', 7, 'a number'],
      ['username', null, 'null'],
      ['floor', 0, 'zero'],
      ['floor', 8, 'above the epoch'],
      ['floor', 1.5, 'a fraction'],
      ['floor', '1', 'text'],
      ['floor', null, 'null'],
      ['rev', 0, 'zero'],
      ['rev', -5, 'negative'],
      ['rev', 1.5, 'a fraction'],
      ['rev', '5', 'text'],
      ['rev', 2 ** 53, '2^53'],
      ['profile', -1, 'negative'],
      ['profile', '1', 'text'],
      ['epoch', 0, 'zero'],
      ['epoch', 2 ** 32, '2^32'],
      ['epoch', 2.5, 'a fraction'],
      ['earlier', {}, 'an object'],
      ['earlier', [null], 'with null in it'],
      ['entries', {}, 'an object'],
      ['entries', [], 'empty'],
      ['entries', [7], 'with a number in it'],
      ['entries', [{ key: 'x' }], 'with one that has no type'],
      ['identity', [], 'an array'],
      ['identity', {}, 'empty'],
    ] as const
  ).map(
    ([key, value, about], at): BagCase => ({
      name: `${key}-${at}`,
      about: `${key}: ${about}`,
      text: withKey(key, value),
      stage: 'bag',
    }),
  ),
  { name: 'entries-two', about: 'two passwords', text: entriesOf((entry) => [entry, entry]), stage: 'bag' },
  {
    name: 'entries-65',
    about: '65 entries',
    text: entriesOf((entry) => [...Array(64).fill({ type: 'x' }), entry]),
    stage: 'bag',
  },
  { name: 'entry-short', about: 'the sealed master key lacks a byte', text: inEntry(short), stage: 'bag' },
  {
    name: 'entry-31',
    about: 'the sealed master key has a byte more',
    text: inEntry((key) => new Uint8Array([...key, 0])),
    stage: 'bag',
  },
  {
    name: 'earlier-short',
    about: 'a sealed earlier master key lacks a byte',
    text: inEarlier(short),
    stage: 'bag',
  },
  {
    name: 'earlier-order',
    about: 'earlier master keys in ascending order',
    text: earlierEpochs(1, 4),
    stage: 'bag',
  },
  { name: 'earlier-twice', about: 'two of one epoch', text: earlierEpochs(4, 4), stage: 'bag' },
  {
    name: 'earlier-current',
    about: 'an earlier one of the current epoch',
    text: earlierEpochs(7, 4),
    stage: 'bag',
  },
  { name: 'earlier-zero', about: 'an earlier one of epoch 0', text: earlierEpochs(4, 0), stage: 'bag' },
  ...[0, 2].map(
    (profile): BagCase => ({
      name: `profile-${profile}`,
      about: `KDF profile ${profile}`,
      text: withKey('profile', profile),
      stage: 'profile',
      code: 'unsupported',
    }),
  ),
  {
    name: 'owner-service',
    about: 'of another service',
    reader: { service_id: 'cd'.repeat(16) },
    stage: 'owner',
  },
  { name: 'owner-username', about: 'of another account', reader: { username: 'wektor2' }, stage: 'owner' },
  {
    name: 'owner-case',
    about: 'of an account in other letters',
    reader: { username: 'Wektor' },
    stage: 'owner',
  },
  { name: 'rollback', about: 'an older one than before', pin: { rev: 6, digest: DIGEST }, stage: 'rollback' },
  {
    name: 'rollback-same',
    about: 'another one of the same rev',
    pin: { rev: 5, digest: DIGEST },
    stage: 'rollback',
  },
  {
    name: 'wrong-password',
    about: 'another KEK',
    reader: { kek: '77'.repeat(32) },
    stage: 'entry',
    code: 'wrong-password',
  },
  ...Object.entries(PARTS).map(
    ([part, at]): BagCase => ({
      name: `entry-${part}`,
      about: `a bit of the ${part} of the entry`,
      text: inEntry((key) => flip(key, at)),
      stage: 'entry',
      code: part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    }),
  ),
  { name: 'mac-first', about: 'the first bit of the MAC', bytes: (bag) => flip(bag, 1), stage: 'bag-mac' },
  { name: 'mac-last', about: 'the last bit of the MAC', bytes: (bag) => flip(bag, 32), stage: 'bag-mac' },
  { name: 'mac-earlier', about: 'a MAC from an earlier master key', macUnder: 'earlier', stage: 'bag-mac' },
  { name: 'mac-unknown', about: 'a MAC from somebody else', macUnder: 'unknown', stage: 'bag-mac' },
  ...Object.entries(PARTS).map(
    ([part, at]): BagCase => ({
      name: `earlier-${part}`,
      about: `a bit of the ${part} of an earlier master key`,
      text: inEarlier((key) => flip(key, at)),
      stage: 'masters',
    }),
  ),
  {
    name: 'two-suite-bag',
    about: 'another suite, and no JSON',
    suite: 2,
    raw: () => '[]',
    stage: 'suite',
    code: 'unsupported',
  },
  {
    name: 'two-bag-profile',
    about: 'an unknown profile, and no identity',
    text: (json) => without('identity')(withKey('profile', 0)(json)),
    stage: 'bag',
  },
  {
    name: 'two-profile-owner',
    about: 'an unknown profile, and another account',
    text: withKey('profile', 0),
    reader: { username: 'wektor2' },
    stage: 'profile',
    code: 'unsupported',
  },
  {
    name: 'two-owner-rollback',
    about: 'of another account, and an older one than before',
    reader: { username: 'wektor2' },
    pin: { rev: 6, digest: DIGEST },
    stage: 'owner',
  },
  {
    name: 'two-rollback-entry',
    about: 'an older one, under another password',
    reader: { kek: '77'.repeat(32) },
    pin: { rev: 6, digest: DIGEST },
    stage: 'rollback',
  },
  {
    name: 'two-mac-masters',
    about: 'another MAC, and an earlier master key that does not open',
    text: inEarlier((key) => flip(key, PARTS.tag)),
    macUnder: 'unknown',
    stage: 'bag-mac',
  },
];
