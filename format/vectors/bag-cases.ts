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

/** A bag that opens. */
export const goodBag = (name: string, about: string, parts: Partial<BagCase> = {}): BagCase => ({
  ...{ name, about, ...parts },
});

/** A bag that every reader refuses at this stage. */
export const badBag = (
  stage: string,
  name: string,
  about: string,
  parts: Partial<BagCase>,
  code: BagCase['code'] = 'tampered',
): BagCase => ({ name, about, ...parts, stage, code });

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
  goodBag('good', 'three master keys'),
  goodBag('good-pinned', 'the one that was seen before', { pin: { rev: 5, digest: 'same' } }),
  goodBag('good-newer', 'a later one than the one that was seen before', { pin: { rev: 4, digest: DIGEST } }),
  goodBag('good-first', 'no earlier master key', { text: withKey('earlier', []) }),
  goodBag('good-floor', 'the earlier master keys are retired, and still there', {
    text: withKey('floor', 4),
  }),
  goodBag('good-floor-1', 'a floor that retires nothing', { text: withKey('floor', 1) }),
  goodBag('good-unknown', 'a key that this version does not know', { text: withKey('later', { any: 1 }) }),
  goodBag(
    'good-entries',
    'ways to the master key that this version does not know, around the one that it knows',
    { text: entriesOf((entry) => [{ type: 'another', key: 'x' }, entry, { type: 'fourth', id: 7 }]) },
  ),
  goodBag('good-duplicate', 'a key twice: the last one counts', {
    raw: (text) => text.replace('{', '{"rev":1,'),
  }),
  goodBag('good-numbers', 'a number in another spelling', {
    raw: (text) => text.replace('"rev":5', '"rev":0.5e1'),
  }),
];

const fields = ['service_id', 'username', 'rev', 'profile', 'epoch', 'earlier', 'entries', 'identity'];

export const badBags: BagCase[] = [
  badBag('bag', 'empty', 'no byte', { bytes: () => new Uint8Array(0) }),
  badBag('suite', 'suite-0', 'suite 0', { suite: 0 }, 'unsupported'),
  badBag('suite', 'suite-2', 'suite 2', { suite: 2 }, 'unsupported'),
  badBag('bag', 'suite-alone', 'a suite and nothing else', { bytes: (bag) => bag.slice(0, 1) }),
  badBag('bag', 'cut-mac', 'the end of the MAC is missing', { bytes: (bag) => bag.slice(0, 32) }),
  badBag('bag', 'no-text', 'no text after the MAC', { raw: () => '' }),
  badBag('bag', 'not-json', 'not JSON', { raw: (text) => text.slice(1) }),
  badBag('bag', 'array', 'a JSON array', { raw: () => '[]' }),
  badBag('bag', 'bom', 'a byte order mark before the JSON', { raw: (text) => `\ufeff${text}` }),
  ...fields.map((key) => badBag('bag', `without-${key}`, `no ${key}`, { text: without(key) })),
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
  ).map(([key, value, about], at) =>
    badBag('bag', `${key}-${at}`, `${key}: ${about}`, { text: withKey(key, value) }),
  ),
  badBag('bag', 'entries-two', 'two passwords', { text: entriesOf((entry) => [entry, entry]) }),
  badBag('bag', 'entries-65', '65 entries', {
    text: entriesOf((entry) => [...Array(64).fill({ type: 'x' }), entry]),
  }),
  badBag('bag', 'entry-short', 'the sealed master key lacks a byte', { text: inEntry(short) }),
  badBag('bag', 'entry-31', 'the sealed master key has a byte more', {
    text: inEntry((key) => new Uint8Array([...key, 0])),
  }),
  badBag('bag', 'earlier-short', 'a sealed earlier master key lacks a byte', { text: inEarlier(short) }),
  badBag('bag', 'earlier-order', 'earlier master keys in ascending order', { text: earlierEpochs(1, 4) }),
  badBag('bag', 'earlier-twice', 'two of one epoch', { text: earlierEpochs(4, 4) }),
  badBag('bag', 'earlier-current', 'an earlier one of the current epoch', { text: earlierEpochs(7, 4) }),
  badBag('bag', 'earlier-zero', 'an earlier one of epoch 0', { text: earlierEpochs(4, 0) }),
  ...[0, 2].map((profile) =>
    badBag(
      'profile',
      `profile-${profile}`,
      `KDF profile ${profile}`,
      { text: withKey('profile', profile) },
      'unsupported',
    ),
  ),
  badBag('owner', 'owner-service', 'of another service', { reader: { service_id: 'cd'.repeat(16) } }),
  badBag('owner', 'owner-username', 'of another account', { reader: { username: 'wektor2' } }),
  badBag('owner', 'owner-case', 'of an account in other letters', { reader: { username: 'Wektor' } }),
  badBag('rollback', 'rollback', 'an older one than before', { pin: { rev: 6, digest: DIGEST } }),
  badBag('rollback', 'rollback-same', 'another one of the same rev', { pin: { rev: 5, digest: DIGEST } }),
  badBag('entry', 'wrong-password', 'another KEK', { reader: { kek: '77'.repeat(32) } }, 'wrong-password'),
  ...Object.entries(PARTS).map(([part, at]) =>
    badBag(
      'entry',
      `entry-${part}`,
      `a bit of the ${part} of the entry`,
      { text: inEntry((key) => flip(key, at)) },
      part === 'random' || part === 'commitment' ? 'wrong-password' : 'tampered',
    ),
  ),
  badBag('bag-mac', 'mac-first', 'the first bit of the MAC', { bytes: (bag) => flip(bag, 1) }),
  badBag('bag-mac', 'mac-last', 'the last bit of the MAC', { bytes: (bag) => flip(bag, 32) }),
  badBag('bag-mac', 'mac-earlier', 'a MAC from an earlier master key', { macUnder: 'earlier' }),
  badBag('bag-mac', 'mac-unknown', 'a MAC from somebody else', { macUnder: 'unknown' }),
  ...Object.entries(PARTS).map(([part, at]) =>
    badBag('masters', `earlier-${part}`, `a bit of the ${part} of an earlier master key`, {
      text: inEarlier((key) => flip(key, at)),
    }),
  ),
  badBag(
    'suite',
    'two-suite-bag',
    'another suite, and no JSON',
    { suite: 2, raw: () => '[]' },
    'unsupported',
  ),
  badBag('bag', 'two-bag-profile', 'an unknown profile, and no identity', {
    text: (json) => without('identity')(withKey('profile', 0)(json)),
  }),
  badBag(
    'profile',
    'two-profile-owner',
    'an unknown profile, and another account',
    { text: withKey('profile', 0), reader: { username: 'wektor2' } },
    'unsupported',
  ),
  badBag('owner', 'two-owner-rollback', 'of another account, and an older one than before', {
    reader: { username: 'wektor2' },
    pin: { rev: 6, digest: DIGEST },
  }),
  badBag('rollback', 'two-rollback-entry', 'an older one, under another password', {
    reader: { kek: '77'.repeat(32) },
    pin: { rev: 6, digest: DIGEST },
  }),
  badBag('bag-mac', 'two-mac-masters', 'another MAC, and an earlier master key that does not open', {
    text: inEarlier((key) => flip(key, PARTS.tag)),
    macUnder: 'unknown',
  }),
];
