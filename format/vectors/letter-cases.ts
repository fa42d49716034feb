/** Identities and letters, made from docs/format.md with Node's own primitives and nothing of the client. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { hpke, publicOf } from './hpke-builder.ts';
import type { IdentityVector, LetterVector } from './letter-vectors.ts';
import { b64, fixedFor, hex, sha256 } from './writer-cases.ts';

const drawn = fixedFor('letters');
const bytes = (...parts: (Uint8Array | string)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const named = (name: string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(name));
  return bytes(length, name);
};

const signer = (secret: Uint8Array) =>
  createPrivateKey({
    key: bytes(Buffer.from('302e020100300506032b657004220420', 'hex'), secret),
    format: 'der',
    type: 'pkcs8',
  });

interface Person {
  username: string;
  x25519: Buffer;
  ed25519: Buffer;
}

const person = (username: string, key = username): Person => ({
  username,
  x25519: drawn(`x25519 of ${key}`, 32),
  ed25519: drawn(`ed25519 of ${key}`, 32),
});
const secretsOf = ({ x25519, ed25519 }: Person) => ({ x25519: hex(x25519), ed25519: hex(ed25519) });
const publicKeys = ({ x25519, ed25519 }: Person) => ({
  x25519: publicOf(x25519),
  ed25519: createPublicKey(signer(ed25519)).export({ format: 'der', type: 'spki' }).subarray(-32),
});

const service = drawn('service', 16);
const elsewhere = drawn('another service', 16);

function statementOf(who: Person, at: Buffer = service): Buffer {
  const { x25519, ed25519 } = publicKeys(who);
  return bytes('szafa/v1/identity', Uint8Array.of(1), at, named(who.username), x25519, ed25519);
}

function documentOf(who: Person, at: Buffer = service, suite = 1): Buffer {
  const { x25519, ed25519 } = publicKeys(who);
  return bytes(Uint8Array.of(suite), x25519, ed25519, sign(null, statementOf(who, at), signer(who.ed25519)));
}

const [alice, bob, carol] = [person('alice'), person('bob'), person('carol')];
const tampered = (stage: string) => ({ code: 'tampered', stage });

function identity(who: Person): IdentityVector {
  const digest = sha256(statementOf(who));
  const digits = (BigInt(`0x${hex(digest)}`) % 10n ** 60n).toString().padStart(60, '0');
  const { x25519, ed25519 } = publicKeys(who);
  const fingerprint = Array.from({ length: 12 }, (_, at) => digits.slice(5 * at, 5 * at + 5)).join(' ');
  return {
    ...{ name: `good-${who.username}`, about: 'as its owner made it', service_id: hex(service) },
    ...{ username: who.username, document: b64(documentOf(who)), secrets: secretsOf(who) },
    expect: { x25519: hex(x25519), ed25519: hex(ed25519), digest: hex(digest), fingerprint },
  };
}

const badIdentity = (
  name: string,
  about: string,
  document: Uint8Array,
  expect: IdentityVector['expect'],
): IdentityVector => ({
  ...{ name, about, service_id: hex(service), username: 'alice', document: b64(document), expect },
});

const flipped = (whole: Uint8Array, at: number) => {
  const copy = Buffer.from(whole);
  copy[at < 0 ? copy.length + at : at]! ^= 1;
  return copy;
};

const document = documentOf(alice);
/** The keys of one, with the signing key of the other in their place. */
const mixed = { ...alice, x25519: bob.x25519 };

/** A name that the server gives, with a document that is sound for it. */
const oddName = (name: string, about: string, username: string): IdentityVector => ({
  ...badIdentity(`name-${name}`, about, documentOf(person(username)), tampered('identity')),
  username,
});

export const identities: IdentityVector[] = [
  identity(alice),
  {
    ...identity(alice),
    name: 'good-pin',
    about: 'as it was seen before',
    pin: hex(sha256(statementOf(alice))),
  },
  {
    ...badIdentity('pin', 'other keys than were seen before', document, { code: 'contact-changed' }),
    pin: hex(sha256(statementOf(person('alice', 'the next alice')))),
  },
  {
    ...badIdentity(
      'two-pin-signature',
      'other keys, not signed',
      flipped(document, -1),
      tampered('identity'),
    ),
    pin: hex(sha256(statementOf(person('alice', 'the next alice')))),
  },
  identity(person('a_1')),
  identity(person('a'.repeat(32))),
  oddName('short', 'a name of two letters', 'al'),
  oddName('long', 'a name of 33 letters', 'a'.repeat(33)),
  oddName('letter', 'a Cyrillic letter', '\u0430lice'),
  oddName('dash', 'a dash', 'alice-b'),
  oddName('blank', 'a blank at the end', 'alice '),
  identity(bob),
  identity(person('Zofia_9')),
  badIdentity('x25519', 'another bit in the first key', flipped(document, 1), tampered('identity')),
  badIdentity('ed25519', 'another bit in the second key', flipped(document, 40), tampered('identity')),
  badIdentity('signature', 'another bit in the signature', flipped(document, -1), tampered('identity')),
  badIdentity(
    'mixed',
    'the X25519 key of somebody else under the signature',
    bytes(Uint8Array.of(1), publicKeys(bob).x25519, document.subarray(33)),
    tampered('identity'),
  ),
  badIdentity('name', "another account's", documentOf(bob), tampered('identity')),
  badIdentity('service', "another service's", documentOf(alice, elsewhere), tampered('identity')),
  badIdentity('short', 'cut off', document.subarray(0, -1), tampered('identity')),
  badIdentity('long', 'a byte too many', bytes(document, '\0'), tampered('identity')),
  badIdentity('empty', 'nothing', Buffer.alloc(0), tampered('identity')),
  badIdentity('suite', 'suite 2', documentOf(alice, service, 2), { code: 'unsupported', stage: 'suite' }),
];

const shareId = drawn('share id', 16);
const key = bytes(drawn('secret of the share', 32), drawn('digest of the header', 16));
const ephemeral = drawn('ephemeral', 32);
const content = { key: b64(key), title: 'zdjęcia', size: 123_456, made: 1_767_225_600_000 };

interface Parts {
  from?: Person;
  to?: Person;
  share?: Uint8Array;
  at?: Buffer;
  json?: unknown;
  text?: string;
  suite?: number;
  /** Who signs; the sender, unless told. */
  by?: Person;
  /** For whose key it is sealed; the recipient's, unless told. */
  sealedFor?: Person;
}

function letterOf(parts: Parts = {}): Buffer {
  const { from = alice, to = bob, share = shareId, at = service, json = content, suite = 1 } = parts;
  const { by = from, sealedFor = to } = parts;
  const about = bytes(
    ...['szafa/v1/letter', Uint8Array.of(suite), at, share],
    ...[named(from.username), sha256(statementOf(from, at)), named(to.username), sha256(statementOf(to, at))],
  );
  const text = Buffer.from(parts.text ?? JSON.stringify(json));
  const plain = Buffer.concat([text, Buffer.alloc((256 - (text.length % 256)) % 256, ' ')]);
  const sealed = hpke({ ephemeral, recipient: publicKeys(sealedFor).x25519, info: about, plain });
  return bytes(Uint8Array.of(suite), sign(null, bytes(about, sealed), signer(by.ed25519)), sealed);
}

function letter(
  name: string,
  about: string,
  sealed: Uint8Array,
  expect: LetterVector['expect'],
  { from = alice, to = bob }: Pick<Parts, 'from' | 'to'> = {},
): LetterVector {
  return {
    ...{ name, about, service_id: hex(service), share_id: b64(shareId) },
    from: { username: from.username, document: b64(documentOf(from)) },
    to: { username: to.username, secrets: secretsOf(to) },
    ...{ letter: b64(sealed), expect },
  };
}

const good = letterOf();
const written = { secrets: secretsOf(alice), random: hex(ephemeral) };
const long = { ...content, title: 'ż'.repeat(200) };
const malformed = (name: string, about: string, json: unknown) =>
  letter(name, about, letterOf({ json }), tampered('letter'));

const pinned = letter('two-pin-letter', 'other keys than were seen before, and no letter', Buffer.alloc(0), {
  code: 'contact-changed',
});

export const letters: LetterVector[] = [
  { ...pinned, from: { ...pinned.from, pin: hex(sha256(statementOf(carol))) } },
  letter(
    'good-surrogate',
    'a lone surrogate in the title',
    letterOf({ json: { ...content, title: 'a\ud800' } }),
    { ...content, title: 'a\ufffd' },
  ),
  { ...letter('good', 'from alice to bob', good, content), written },
  { ...letter('good-long', 'a title beyond one step', letterOf({ json: long }), long), written },
  letter('good-more', 'a key that nobody knows yet', letterOf({ json: { ...content, more: 1 } }), content),
  letter('share', 'of another share', letterOf({ share: drawn('other share', 16) }), tampered('signature')),
  letter('recipient', 'to somebody else', letterOf({ to: carol }), tampered('signature')),
  letter('sender', 'from somebody else', letterOf({ from: carol }), tampered('signature')),
  letter('service', 'on another service', letterOf({ at: elsewhere }), tampered('signature')),
  letter('forged', 'signed by somebody else', letterOf({ by: carol }), tampered('signature')),
  letter(
    'resigned',
    'what alice sealed, signed by carol as her own: the seal is bound to alice',
    (() => {
      const sealed = good.subarray(65);
      const about = bytes(
        ...['szafa/v1/letter', Uint8Array.of(1), service, shareId],
        ...[named('carol'), sha256(statementOf(carol)), named('bob'), sha256(statementOf(bob))],
      );
      return bytes(Uint8Array.of(1), sign(null, bytes(about, sealed), signer(carol.ed25519)), sealed);
    })(),
    tampered('letter'),
    { from: carol },
  ),
  letter(
    'new-key',
    'from alice with keys that are not hers any more',
    letterOf({ from: person('alice', 'the next alice') }),
    tampered('signature'),
  ),
  letter('mixed-key', 'to bob with another X25519 key', good, tampered('signature'), {
    to: { ...mixed, username: 'bob' },
  }),
  letter('seal', 'signed, but sealed for another key', letterOf({ sealedFor: carol }), tampered('letter')),
  letter('flip-signature', 'another bit', flipped(good, 1), tampered('signature')),
  letter('flip-encapsulated', 'another bit', flipped(good, 65), tampered('signature')),
  letter('flip-sealed', 'another bit', flipped(good, -1), tampered('signature')),
  letter(
    'zero-signature',
    'no signature',
    bytes(good.subarray(0, 1), Buffer.alloc(64), good.subarray(65)),
    tampered('signature'),
  ),
  letter('short', 'cut off', good.subarray(0, 112), tampered('letter')),
  letter('empty', 'nothing', Buffer.alloc(0), tampered('letter')),
  letter('suite', 'suite 2', letterOf({ suite: 2 }), { code: 'unsupported', stage: 'suite' }),
  letter('text', 'not JSON', letterOf({ text: 'key' }), tampered('letter')),
  malformed('text-array', 'an array', [content]),
  malformed('key', 'a key of 47 bytes', { ...content, key: b64(key.subarray(1)) }),
  malformed('key-none', 'no key', { ...content, key: undefined }),
  malformed('title', 'a title that is null', { ...content, title: null }),
  malformed('size', 'a size below zero', { ...content, size: -1 }),
  malformed('made-none', 'no time', { ...content, made: undefined }),
  malformed('made-text', 'a time that is no number', { ...content, made: '2026-01-01' }),
  malformed('made-late', 'a time that no calendar has', { ...content, made: 8_640_000_000_000_001 }),
];
