/**
 * Writes the vectors. What each must come to is said in the cases, not found out by running the code. The bytes
 * are the same at every run: `node client/vectors/generate.ts` and an unchanged folder belong together.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { concat } from '../src/format/bytes.ts';
import { deriveAccountKeys, type Master, seal, toBase64Url } from '../src/format/index.ts';
import type { Bytes } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';
import { bagBytes, bagJson } from './bag-builder.ts';
import { type BagCase, badBags, goodBags, passkeyBags, recoveryBags } from './bag-cases.ts';
import { bagWriters } from './bag-writer-cases.ts';
import { type Base, buildFile, type Faults, reproducible, withKey } from './builder.ts';
import { cases, flip, replaced } from './file-cases.ts';
import type { BagVector, FileVector, KdfVector, LayoutVector, NameVector, SealVector } from './kinds.ts';
import { identities, letters } from './letter-cases.ts';
import { links } from './link-cases.ts';
import { passkeys, recoveries } from './recovery-cases.ts';
import { requestVectors } from './request-cases.ts';
import { thumbnails } from './thumbnail-cases.ts';
import { volumes } from './volume-cases.ts';
import { boundTo, dirName, namePlain, sealName, writers } from './writer-cases.ts';

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
      type: 'text/plain',
      mode: 0o640,
      source: '/home/ewa/d',
      link: '../target',
      thumbnail: sha256(bytesOf(11)),
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

/** Under a KEK that is given; deriving it has vectors of its own. */
const reader = { service_id: '5a'.repeat(16), username: 'wektor', kek: engine.random(32).toHex() };
const identity = { x25519: '25'.repeat(32), ed25519: 'ed'.repeat(32) };
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

const names: NameVector[] = [];
const total = sha256(bytesOf(5));
const bound = boundTo(Uint8Array.fromHex(total), 1234, 3);
const fields = {
  kind: 'file',
  key: master.toHex(),
  total_sha256: total,
  size: 1234,
  chunk_count: 3,
} as const;
const listed = (rev: number) => ({
  rev,
  gen: rev + 1 < 2 ** 32 ? rev + 1 : rev,
  added: 1_767_225_600_000 + rev,
});
const fileName = (name: string, rev: number) => sealName('file', master, bound, namePlain(name, listed(rev)));
for (const [given, rev, kept = given] of [
  ['', 1],
  ['a', 1],
  ['raport.txt', 1],
  ['raport.txt', 2],
  ['raport.txt', 2 ** 32 - 1],
  ['żółw/ß.bin', 1],
  ['n'.repeat(32), 1],
  ['n'.repeat(33), 1],
  ['x'.repeat(160), 1],
  ['y'.repeat(161), 1, 'y'.repeat(160)],
  [`${'ż'.repeat(79)}aż`, 1, `${'ż'.repeat(79)}a`],
  ['ż'.repeat(100), 1, 'ż'.repeat(80)],
] as [given: string, rev: number, kept?: string][]) {
  const expect = { name: kept, ...listed(rev), whole: kept === given };
  names.push({ name: `file-${names.length}`, ...fields, given, text: fileName(given, rev), expect });
}
const text = fileName('raport.txt', 1);
const first = text[0] === 'A' ? 'B' : 'A';
const sealedRaw = (flag: number, ...name: number[]) => {
  const plain = new Uint8Array(15 + 32);
  plain.set([flag, 0, 0, 0, 1, 0, 0, 0, 1]);
  plain.set(name, 15);
  return sealName('file', master, bound, plain);
};
const nameFaults: [string, Partial<NameVector>][] = [
  ['not-utf8', { text: sealedRaw(0, 0x61, 0xc5) }],
  ['flag', { text: sealedRaw(2, 0x61) }],
  ['too-short', { text: sealName('file', master, bound, new Uint8Array(46)) }],
  ['sha256', { total_sha256: '0'.repeat(64) }],
  ['sha256-not-hex', { total_sha256: 'x'.repeat(64) }],
  ['size', { size: 1235 }],
  ['count', { chunk_count: 4 }],
  ['key', { key: masters[1]!.key.toHex() }],
  ['iv', { text: first + text.slice(1) }],
  ['end', { text: `${text.slice(0, -4)}AAAA` }],
  ['shorter', { text: text.slice(0, -4) }],
  ['padding', { text: `${text}=` }],
  ['plain', { text: 'raport.txt' }],
  ['plain-letters', { text: 'CertificateOfIncorporationAndOtherPapersOfTheYear2026OfTheCompany' }],
  ['empty', { text: '' }],
  ['as-directory', { kind: 'dir' }],
];
for (const [name, fault] of nameFaults)
  names.push({ name: `file-${name}`, ...fields, text, ...fault, expect: null });
const noRecord = { rev: 0, gen: 0, added: 0, whole: true };
for (const given of ['a', 'Zdjęcia', 'd'.repeat(32)]) {
  const dir = { kind: 'dir', text: dirName(master, given) } as const;
  const name = `dir-${given.length}`;
  names.push(
    { name, ...dir, key: master.toHex(), given, expect: { name: given, ...noRecord } },
    { name: `${name}-key`, ...dir, key: masters[1]!.key.toHex(), expect: null },
  );
}
names.push({
  name: 'dir-unpadded',
  kind: 'dir',
  key: master.toHex(),
  text: sealName('dir', master, new Uint8Array(0), Buffer.from('Zdjęcia')),
  expect: null,
});

const MIB = 1024 * 1024;
/** Cut volume by volume, as a writer does that does not know the end. */
function cut(size: number, volumeSize: number, late = volumeSize): Omit<LayoutVector, 'size'> {
  let [count, offset, stored] = [0, 0, 0];
  for (;;) {
    count++;
    const length = Math.min(count <= 1000 ? volumeSize : late, size - offset);
    stored += 56 + length + 16 * Math.max(1, Math.ceil(length / 262_144));
    if (offset + length === size) {
      const last = { offset, length };
      const counted = { volume_count: count, last, stored_size: stored };
      return { volume_size: volumeSize, late_volume_size: late, ...counted };
    }
    offset += length;
  }
}
const early = 1000 * 8 * MIB;
const layouts: LayoutVector[] = [
  ...[0, 1, 8 * MIB, 8 * MIB + 1, 80_000 * MIB].map((size) => ({ size, ...cut(size, 8 * MIB) })),
  { size: 80_000 * MIB + 1, ...cut(80_000 * MIB + 1, 9 * MIB) },
  { size: 100_000 * MIB, ...cut(100_000 * MIB, 10 * MIB) },
  { size: 150, wish: 64, ...cut(150, 64) },
  { size: 700_000, wish: 64, ...cut(700_000, MIB) },
  { size: 600_000, wish: 262_143, ...cut(600_000, 262_143) },
  { size: 600_000, wish: 262_144, ...cut(600_000, 262_144) },
  { size: 600_000, wish: 262_145, ...cut(600_000, 524_288) },
  ...[0, 1, early, early + 1, early + 64 * MIB, early + 64 * MIB + 1, early + 9000 * 64 * MIB].map(
    (size) => ({
      size,
      stream: true,
      ...cut(size, 8 * MIB, 64 * MIB),
    }),
  ),
  { size: 5, wish: 64, stream: true, ...cut(5, 262_144, 64 * MIB) },
  { size: 5, wish: 100 * MIB, stream: true, ...cut(5, 100 * MIB) },
];

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
  ...{ requests: requestVectors, thumbnails },
})) {
  writeFileSync(new URL(`./${name}.json`, import.meta.url), textOf(vectors));
  counts.push(`${name} ${vectors.length}`);
}
console.log(counts.join(', '));
await native.close();
