/**
 * Writes the vectors. What each must come to is said in the cases, not found out by running the code. The bytes
 * are the same at every run: `node format/vectors/generate.ts` and an unchanged folder belong together.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Bytes } from '../../client/src/index.ts';
import { nodeEngine } from '../../client/src/node/index.ts';
import { concat } from '../src/bytes.ts';
import { deriveAccountKeys, type Master, seal, toBase64Url } from '../src/index.ts';
import { bagBytes, bagJson } from './bag-builder.ts';
import { type BagCase, badBags, goodBags } from './bag-cases.ts';
import { passkeyBags, recoveryBags } from './bag-entry-cases.ts';
import { bagWriters } from './bag-writer-cases.ts';
import { type Base, buildFile, type Faults, reproducible, withKey } from './builder.ts';
import { cases, flip, forgeries, replaced } from './file-cases.ts';
import type { BagVector, FileVector, KdfVector, SealVector } from './kinds.ts';
import { layouts } from './layout-cases.ts';
import { identities, letters } from './letter-cases.ts';
import { links } from './link-cases.ts';
import { nameVectors } from './name-cases.ts';
import { owns } from './own-cases.ts';
import { passkeys, recoveries } from './recovery-cases.ts';
import { requestVectors } from './request-cases.ts';
import { textFiles } from './text-cases.ts';
import { thumbnails } from './thumbnail-cases.ts';
import { paths, versions } from './tree-cases.ts';
import { volumes } from './volume-cases.ts';
import { writers } from './writer-cases.ts';

const native = nodeEngine();
const engine = reproducible(native, 'szafa vectors');
const masters: Master[] = [7, 4, 1].map((epoch) => ({ epoch, key: engine.random(32) }));
const master = masters[0]!.key;

function bytesOf(length: number): Bytes {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 7 + 3) & 255;
  return bytes;
}

const sealedWith = (name: string, size: number) => ({ name, size, rev: 3, gen: 2, added: 1_767_225_600_001 });

function baseOf(length: number, more: Partial<Base> = {}): Base {
  const metadata = { ...sealedWith('raport.txt', length), mtime: 1_767_225_600_000, type: 'text/plain' };
  return { masters, plain: bytesOf(length), volumeSize: 64, metadata, ...more };
}

async function good(name: string, about: string, base: Base, faults?: Faults): Promise<FileVector> {
  const { metadata, plain } = base;
  const file = await buildFile(engine, base, faults);
  return { name, about, ...file, expect: { metadata, plain: toBase64Url(plain) } };
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const files: FileVector[] = [];
for (const length of [0, 1, 63, 64, 65, 127, 128, 129, 150]) {
  files.push(await good(`good-${length}`, `${length} bytes in volumes of 64`, baseOf(length)));
}
const named = (name: string) => baseOf(10, { metadata: sealedWith(name, 10) });
files.push(
  await good('good-minimal', 'only what must be in the metadata', named('a')),
  await good('good-long-name', 'a name that does not fit the record', named('ż'.repeat(300))),
  await good('good-path', 'a path as a name', named('folder/inner/file.bin')),
  await good('good-all-metadata', 'every field that the metadata may have', {
    ...baseOf(10),
    metadata: {
      ...sealedWith('d', 10),
      mtime: -1,
      nanos: -999_999,
      type: 'text/plain',
      mode: 0o640,
      special: 3,
      source: '/home/ewa/d',
      link: '../target',
      sparse: true,
      hardlink: 'Zm9sZGVyX2lub2RlLTE',
      thumbnail: sha256(bytesOf(11)),
      shared: true,
    },
  }),
  await good('good-plain-name', 'the name is not sealed in the list', baseOf(10), {
    record: withKey('file_name', 'raport.txt'),
  }),
  await good('good-plain-path', 'a plain name as the service cleans it', named(' a/b\\c\u0007.bin '), {
    record: withKey('file_name', 'abc.bin'),
  }),
  await good('good-plain-below', 'a plain name without its directory', named('folder/b/c.bin'), {
    record: withKey('file_name', 'bc.bin'),
  }),
  await good('good-unknown-header', 'a key of the header that this version does not know', baseOf(10), {
    header: withKey('later', { any: 'value' }),
  }),
  await good('good-duplicate-key', 'a key of the header twice: the last one counts', baseOf(10), {
    headerText: (header) => replaced(header, /^\{/, '{"volume_size":1,'),
  }),
  await good('good-numbers', 'numbers in another spelling', baseOf(150), {
    headerText: (header) =>
      replaced(replaced(header, /"volume_count":3/, '"volume_count":3.0'), /:64,/, ':6.4e1,'),
  }),
  await good('good-unknown-metadata', 'a key that this version does not know', named('d'), {
    metadata: withKey('later', true),
  }),
  await good('good-unpadded', 'metadata without blanks behind it', named('d'), {
    metadataText: (text) => text,
  }),
  await good('good-earlier', 'under an earlier master key', baseOf(10, { masters: masters.toReversed() })),
);
/** `size` bytes, and zeros up to `padded`. */
function paddedBase(size: number, padded: number): Base {
  const metadata = { ...sealedWith('p', size), padded };
  return baseOf(padded, { plain: concat(bytesOf(size), new Uint8Array(padded - size)), metadata });
}
for (const [size, padded] of [
  [150, 150],
  [150, 160],
  [60, 200],
  [0, 1],
] as const) {
  const { name, about, ...rest } = await good(
    `good-padded-${size}-${padded}`,
    `${size} bytes, and zeros up to ${padded}`,
    paddedBase(size, padded),
  );
  files.push({
    name,
    about,
    ...rest,
    expect: { ...rest.expect, plain: toBase64Url(bytesOf(size)) } as FileVector['expect'],
  });
}
files.push(
  await good('good-late', 'a size for volumes after number 1,000, of which there are none', {
    ...baseOf(10),
    volumeSize: 262_144,
    lateVolumeSize: 524_288,
  }),
);
for (const [at, where] of [
  [60, 'first'],
  [199, 'last'],
] as const) {
  const base = paddedBase(60, 200);
  files.push({
    name: `volume-padding-${where}`,
    about: `the ${where} byte of the padding is not zero`,
    ...(await buildFile(engine, { ...base, plain: flip(base.plain, at) })),
    expect: { stage: 'volume', code: 'tampered' },
  });
}
for (const { name, about, faults, stage, code = 'tampered' } of cases) {
  files.push({ name, about, ...(await buildFile(engine, baseOf(150), faults)), expect: { stage, code } });
}
const [one, two] = [await buildFile(engine, baseOf(150)), await buildFile(engine, baseOf(150))];
files.push(
  {
    name: 'volume-earlier',
    about: 'volume 2 of an earlier upload of the same file',
    ...one,
    volumes: [one.volumes[0]!, two.volumes[1]!, one.volumes[2]!],
    expect: { stage: 'volume', code: 'tampered' },
  },
  {
    name: 'header-of-other',
    about: 'the header of another file, whose record is known',
    ...one,
    enc_params: two.enc_params,
    expect: { stage: 'record', code: 'tampered' },
  },
  {
    name: 'file-of-other',
    about: 'header and record of another file, volumes of this',
    ...two,
    volumes: one.volumes,
    expect: { stage: 'volume', code: 'tampered' },
  },
);
/** With random bytes of their own. */
const forging = reproducible(native, 'forged');
for (const { name, about, faults, stage } of forgeries) {
  const expect = { stage, code: 'tampered' };
  files.push({ name, about, ...(await buildFile(forging, baseOf(150), faults)), expect });
}
files.push({
  name: 'digest-forged-only',
  about: 'the only volume was sealed again with the file key, of other bytes',
  ...(await buildFile(forging, baseOf(10), { forged: 1, digests: (_, others) => others })),
  expect: { stage: 'digest', code: 'tampered' },
});

const older = baseOf(10, { masters: masters.toReversed() });
const middle = baseOf(10, { masters: [masters[1]!, masters[0]!, masters[2]!] });
const seen = { code: 'tampered', stage: 'rev' };
files.push(
  { ...(await good('good-floor', 'the earliest epoch that is not retired', middle)), floor: 4 },
  {
    ...(await good('epoch-retired', 'below the floor of the key bag', older)),
    floor: 4,
    expect: { ...seen, stage: 'epoch' },
  },
  { ...(await good('good-seen-rev', 'the highest rev that was seen', baseOf(10))), seen_rev: 3 },
  { ...(await good('rev-older', 'a lower rev than was seen', baseOf(10))), seen_rev: 4, expect: seen },
  await good('good-plain-cut', 'a plain name, cut to 255 characters', named('n'.repeat(300)), {
    record: withKey('file_name', 'n'.repeat(255)),
  }),
  await good('good-plain-cut-wide', 'characters are code points', named('\u{1f600}'.repeat(300)), {
    record: withKey('file_name', '\u{1f600}'.repeat(255)),
  }),
  await good(
    'good-plain-c1',
    'C1 controls and DEL are removed from a plain name',
    named('a\u0085b\u009fc\u007fd'),
    {
      record: withKey('file_name', 'abcd'),
    },
  ),
  {
    ...(await good(
      'name-plain-uncut',
      'a plain name that is longer than the server keeps',
      named('n'.repeat(300)),
      {
        record: withKey('file_name', 'n'.repeat(256)),
      },
    )),
    expect: { ...seen, stage: 'name' },
  },
  {
    ...(await good('name-plain-c1', 'a plain name with a C1 control', named('a\u0085b'), {
      record: withKey('file_name', 'a\u0085b'),
    })),
    expect: { ...seen, stage: 'name' },
  },
);
files.push(...(await textFiles(reproducible(native, 'texts'), baseOf(10))));

/** Under a KEK that is given; deriving it has vectors of its own. */
const reader = { service_id: '5a'.repeat(16), username: 'wektor', kek: engine.random(32).toHex() };
const identity = { x25519: '25'.repeat(32), ed25519: 'ed'.repeat(32) };
const floorIn = (json: unknown) => {
  const { floor = 1 } = (json ?? {}) as { floor?: number };
  return floor > 1 ? { floor } : {};
};
async function bagVector(one: BagCase): Promise<BagVector> {
  const { text = (json) => json, raw = (written) => written, bytes = (bag) => bag } = one;
  const account = { serviceId: reader.service_id, username: reader.username };
  const parts = {
    account,
    kek: Uint8Array.fromHex(reader.kek),
    masters,
    rev: 5,
    recovery: one.recovery === undefined ? undefined : Uint8Array.fromHex(one.recovery),
    passkeys: one.passkeys?.map(({ id, kek }) => ({ id, kek: Uint8Array.fromHex(kek) })),
  };
  const json = text(await bagJson(engine, parts));
  const under = { earlier: masters[1]!.key, unknown: new Uint8Array(32).fill(9), current: master };
  const made = await bagBytes(engine, under[one.macUnder ?? 'current'], raw(JSON.stringify(json)), one.suite);
  const bag = bytes(made);
  const pin = one.pin?.digest === 'same' ? { ...one.pin, digest: sha256(bag) } : one.pin;
  const known = one.name === 'good-first' ? masters.slice(0, 1) : masters;
  return {
    name: one.name,
    about: one.about,
    ...reader,
    ...one.reader,
    ...(one.reader?.recovery === 'as the password' && { recovery: reader.kek }),
    ...(one.reader?.passkey?.kek === 'as the password' && {
      passkey: { ...one.reader.passkey, kek: reader.kek },
    }),
    ...(pin && { pin }),
    bag: toBase64Url(bag),
    expect: one.stage
      ? { stage: one.stage, code: one.code ?? 'tampered' }
      : {
          rev: 5,
          digest: sha256(bag),
          masters: known.map(({ epoch, key: bytesOfKey }) => ({ epoch, key: bytesOfKey.toHex() })),
          ...identity,
          ...floorIn(json),
        },
  };
}
const bags: BagVector[] = [];
for (const one of [...goodBags, ...badBags, ...recoveryBags, ...passkeyBags]) bags.push(await bagVector(one));

const kdfs: KdfVector[] = [];
for (const [name, serviceId, username, secret] of [
  ['ascii', '5a'.repeat(16), 'ewa', 'correct horse battery staple'],
  ['composed', '5a'.repeat(16), 'ewa', 'zażółć'],
  ['decomposed', '5a'.repeat(16), 'ewa', 'zażółć'.normalize('NFD')],
  ['surrogate', '5a'.repeat(16), 'ewa', 'koń \ud800'],
  ['other-user', '5a'.repeat(16), 'Ewa', 'correct horse battery staple'],
  ['other-service', '5b'.repeat(16), 'ewa', 'correct horse battery staple'],
] as const) {
  const keys = await deriveAccountKeys(engine, { serviceId, username }, secret);
  const derived = { auth_secret: keys.authSecret, kek: keys.kek.toHex() };
  kdfs.push({ name, service_id: serviceId, username, password: secret, profile: 1, ...derived });
}

const key = engine.random(32);
const label = 'szafa/v1/test';
const sealed = await seal(engine, key, label, bytesOf(40));
const sealVector = (name: string, bytes: Bytes, expect: SealVector['expect'], more = {}): SealVector => ({
  name,
  key: key.toHex(),
  label,
  sealed: toBase64Url(bytes),
  expect,
  ...more,
});
const seals: SealVector[] = [
  sealVector('good', sealed, { plain: bytesOf(40).toHex() }),
  sealVector('good-empty', await seal(engine, key, label, new Uint8Array(0)), { plain: '' }),
  sealVector('random', flip(sealed, 0), { fault: 'commitment' }),
  sealVector('commitment', flip(sealed, 24), { fault: 'commitment' }),
  sealVector('ciphertext', flip(sealed, 56), { fault: 'tag' }),
  sealVector('tag', flip(sealed, -1), { fault: 'tag' }),
  sealVector('shorter', sealed.slice(0, -1), { fault: 'tag' }),
  sealVector('longer', concat(sealed, Uint8Array.of(0)), { fault: 'tag' }),
  sealVector('too-short', sealed.slice(0, 71), { fault: 'length' }),
  sealVector('empty', new Uint8Array(0), { fault: 'length' }),
  sealVector('other-label', sealed, { fault: 'commitment' }, { label: 'szafa/v1/tesu' }),
  sealVector('other-key', sealed, { fault: 'commitment' }, { key: '01'.repeat(32) }),
];

const names = nameVectors(masters, sha256(bytesOf(5)));

/** As the formatter of the repository writes it: an array that fits stands on one line, those in others first. */
function textOf(vectors: unknown[]): string {
  const arrays = /^( *"\w+": )\[\n((?:.*[^[\n]\n)*?) *\](,?)$/gm;
  const fold = (long: string, key: string, items: string, comma: string) => {
    const short = `${key}[${items.trim().replace(/\n */g, ' ')}]${comma}`;
    return short.length <= 110 ? short : long;
  };
  return `${JSON.stringify(vectors, null, 2).replace(arrays, fold).replace(arrays, fold)}\n`;
}

const counts: string[] = [];
for (const [name, vectors] of Object.entries({
  ...{ files, kdfs, seals, names, layouts, writers, volumes },
  ...{ bags, 'bag-writers': bagWriters, recoveries, passkeys, links, identities, letters },
  ...{ requests: requestVectors, thumbnails, owns, paths, versions },
})) {
  writeFileSync(new URL(`./${name}.json`, import.meta.url), textOf(vectors));
  counts.push(`${name} ${vectors.length}`);
}
console.log(counts.join(', '));
await native.close();
