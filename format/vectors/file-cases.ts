/** The cases of the file vectors. One list, so that what is missing in it can be seen. */
import type { Bytes } from '../../client/src/index.ts';
import { utf8 } from '../src/bytes.ts';
import { type Faults, type Json, withKey } from './builder.ts';

/** One fault and the stage at which every implementation must stop. */
export interface Case {
  name: string;
  about: string;
  faults: Faults;
  stage: string;
  code: 'tampered' | 'unsupported' | 'wrong-password';
}

/** The place of each part of a sealed thing: r, commitment, ciphertext, tag (from the end). */
export const PARTS = { random: 0, commitment: 24, ciphertext: 56, tag: -1 } as const;

export function flip(bytes: Bytes, at: number): Bytes {
  const copy = bytes.slice();
  const place = at < 0 ? copy.length + at : at;
  copy[place] = copy[place]! ^ 1;
  return copy;
}

export const without = (key: string) => (json: Json) =>
  Object.fromEntries(Object.entries(json).filter(([name]) => name !== key));
export const short = (bytes: Bytes) => bytes.slice(0, -1);

export function replaced(text: Bytes, from: RegExp, to: string): Bytes {
  return utf8(new TextDecoder().decode(text).replace(from, to));
}

/** The last letter with a stray bit that decoders often ignore. */
function stray(text: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + letters[letters.indexOf(text.at(-1)!) ^ 1];
}

const fault = (
  stage: string,
  name: string,
  about: string,
  faults: Faults,
  code: Case['code'] = 'tampered',
): Case => ({ name, about, faults, stage, code });

/** A master key that no reader has. */
const OTHER = new Uint8Array(32).fill(0x6f);

const params: Case[] = [
  fault(
    'params',
    'params-foreign',
    'enc_params of another client',
    { params: () => ({ iv: 'AAAA' }) },
    'unsupported',
  ),
  ...[2, 0, '1', null, 1.5, true].map((value) =>
    fault(
      'version',
      `version-${JSON.stringify(value)}`,
      `szafa is ${JSON.stringify(value)}`,
      { params: withKey('szafa', value) },
      'unsupported',
    ),
  ),
  fault('params', 'params-header-missing', 'no header', { params: without('header') }),
  fault('params', 'params-header-number', 'header is a number', { params: withKey('header', 7) }),
  fault('params', 'params-header-padded', 'header with padding', {
    params: (p) => ({ ...p, header: `${p['header']}=` }),
  }),
  fault('params', 'params-header-blank', 'a blank in the header', {
    params: (p) => ({ ...p, header: ` ${p['header']}` }),
  }),
  fault('params', 'params-header-plus', 'the other alphabet', {
    params: (p) => ({ ...p, header: `+${String(p['header']).slice(1)}` }),
  }),
  fault('params', 'params-mac-missing', 'no MAC', { params: without('mac') }),
  fault('params', 'params-mac-short', 'a MAC of 31 bytes', { mac: short }),
  fault('params', 'params-mac-long', 'a MAC of 33 bytes', { mac: (mac) => new Uint8Array([...mac, 0]) }),
  fault('params', 'params-mac-empty', 'an empty MAC', { params: withKey('mac', '') }),
  fault('params', 'params-mac-stray', 'a stray bit at the end of the base64url of the MAC', {
    params: (p) => ({ ...p, mac: stray(String(p['mac'])) }),
  }),
  fault('mac', 'mac-first-bit', 'the first byte of the MAC', { mac: (mac) => flip(mac, 0) }),
  fault('mac', 'mac-last-bit', 'the last byte of the MAC', { mac: (mac) => flip(mac, -1) }),
  fault('mac', 'mac-zero', 'a MAC of zeros', { mac: () => new Uint8Array(32) }),
];

const header: Case[] = [
  fault('header', 'header-not-utf8', 'a byte that is not UTF-8', {
    headerText: (text) => new Uint8Array([...text.slice(0, 5), 0xff, ...text.slice(5)]),
  }),
  fault('header', 'header-bom', 'a byte order mark before the JSON', {
    headerText: (text) => new Uint8Array([0xef, 0xbb, 0xbf, ...text]),
  }),
  fault('header', 'header-not-json', 'not JSON', { headerText: () => utf8('{"file_id":') }),
  fault('header', 'header-empty', 'no text at all', { headerText: () => new Uint8Array(0) }),
  fault('header', 'header-array', 'a JSON array', { headerText: () => utf8('[]') }),
  fault('header', 'header-null', 'JSON null', { headerText: () => utf8('null') }),
  ...['file_id', 'epoch', 'volume_size', 'volume_count', 'total_sha256', 'file_key', 'metadata'].map((key) =>
    fault('header', `header-without-${key}`, `no ${key}`, { header: without(key) }),
  ),
  ...(
    [
      ['file_id', 'AAAAAAAAAAAAAAAAAAAA', '15 bytes'],
      ['file_id', 'AAAAAAAAAAAAAAAAAAAAAAA', '17 bytes'],
      ['file_id', 'AAAAAAAAAAAAAAAAAAAAA!', 'not base64url'],
      ['volume_size', 0, 'zero'],
      ['volume_size', -64, 'negative'],
      ['volume_size', 64.5, 'a fraction'],
      ['volume_size', '64', 'text'],
      ['volume_size', 1073741825, 'over 1 GiB'],
      ['volume_size', 262145, 'more than a segment, and not whole ones'],
      ['late_volume_size', 0, 'zero'],
      ['late_volume_size', null, 'null'],
      ['late_volume_size', '64', 'text'],
      ['late_volume_size', 128, 'another one, and not whole segments'],
      ['late_volume_size', 262144, 'another one, beside a volume_size that is not whole segments'],
      ['late_volume_size', 1073741825, 'over 1 GiB'],
      ['volume_count', 0, 'zero'],
      ['volume_count', 10001, 'over 10000'],
      ['volume_count', 2.5, 'a fraction'],
      ['volume_count', '3', 'text'],
      ['total_sha256', 'ab', 'too short'],
      ['total_sha256', 'A'.repeat(64), 'upper case'],
      ['total_sha256', 'g'.repeat(64), 'not hex'],
      ['epoch', 0, 'zero'],
      ['epoch', 1.5, 'a fraction'],
      ['epoch', '1', 'text'],
      ['epoch', 2 ** 32, '2^32'],
      ['file_key', '*', 'not base64url'],
      ['metadata', 5, 'a number'],
    ] as const
  ).map(([key, value, about], i) =>
    fault('header', `header-${key}-${i}`, `${key}: ${about}`, { header: withKey(key, value) }),
  ),
  ...(
    [
      ['volume_size', /"volume_size":64/, '"volume_size":63'],
      ['volume_count', /"volume_count":3/, '"volume_count":4'],
      ['total_sha256', /"total_sha256":"./, '"total_sha256":"f'],
      ['blank', /^\{/, '{ '],
      ['unknown-key', /\}$/, ',"more":1}'],
    ] as const
  ).map(([key, from, to]) =>
    fault('mac', `mac-${key}`, `the header was changed after the MAC: ${key}`, {
      headerAfterMac: (text) => replaced(text, from, to),
    }),
  ),
];

const sealedThings: Case[] = [
  ...Object.entries(PARTS).flatMap(([part, at]): Case[] => [
    fault('file-key', `file-key-${part}`, `a bit of the ${part} of the sealed file key`, {
      fileKey: (key) => flip(key, at),
    }),
    fault('metadata', `metadata-${part}`, `a bit of the ${part} of the sealed metadata`, {
      sealedMetadata: (sealed) => flip(sealed, at),
    }),
  ]),
  fault('file-key', 'file-key-short', 'the sealed file key lacks a byte', { fileKey: short }),
  fault('file-key', 'file-key-empty', 'no sealed file key', { fileKey: () => new Uint8Array(0) }),
  fault('file-key', 'file-key-label', 'sealed for another purpose', {
    sealedUnder: { label: 'szafa/v1/metadata' },
  }),
  fault('file-key', 'file-key-31', 'a file key of 31 bytes', {
    sealedUnder: { key: new Uint8Array(31).fill(3) },
  }),
  fault('file-key', 'file-key-master', 'sealed under the master key itself', {
    sealedUnder: { by: 'master' },
  }),
  fault(
    'metadata',
    'metadata-file-key',
    'the metadata is sealed under the file key, which is given away with a share',
    { metadataUnder: 'file key' },
  ),
  fault('mac', 'mac-file-key', 'a MAC from the file key', { macUnder: 'file key' }),
  fault('mac', 'mac-other-master', 'a header by somebody who does not have the master key', {
    master: OTHER,
  }),
  fault('epoch', 'epoch-later', 'a later epoch than the reader has a master key for', {
    header: withKey('epoch', 8),
  }),
  fault('epoch', 'epoch-missing', 'an epoch between two that the reader has master keys for', {
    header: withKey('epoch', 3),
  }),
  fault('mac', 'epoch-earlier', 'the epoch of another master key than that of the MAC', {
    header: withKey('epoch', 4),
  }),
  fault('metadata', 'metadata-label', 'sealed for another purpose', { metadataLabel: 'szafa/v1/file-key' }),
  fault('metadata', 'metadata-short', 'the sealed metadata lacks a byte', { sealedMetadata: short }),
  fault('metadata', 'metadata-not-json', 'not JSON', { metadataText: () => utf8('name') }),
  fault('metadata', 'metadata-null', 'JSON null', { metadataText: () => utf8('null') }),
  fault('metadata', 'metadata-not-utf8', 'not UTF-8', {
    metadataText: (text) => new Uint8Array([...text.slice(0, 10), 0xc0, ...text.slice(10)]),
  }),
  ...(
    [
      ['name', undefined],
      ['name', 5],
      ['name', 'a\0b'],
      ['rev', undefined],
      ['rev', 0],
      ['rev', 2 ** 32],
      ['gen', undefined],
      ['gen', 0],
      ['gen', 1.5],
      ['gen', 2 ** 32],
      ['added', undefined],
      ['link', 5],
      ['link', null],
      ['thumbnail', 'AB'],
      ['size', undefined],
      ['size', -1],
      ['size', 1.5],
      ['size', '150'],
      ['padded', 149],
      ['padded', 193],
      ['padded', 160.5],
      ['padded', '150'],
      ['padded', null],
      ['mtime', 'yesterday'],
      ['mtime', 1.5],
      ['type', 5],
      ['added', -1],
      ['added', 1.5],
      ['added', 2 ** 48],
      ['added', 'today'],
      ['mode', -1],
      ['mode', 512],
      ['mode', '644'],
      ['nanos', -1_000_000],
      ['nanos', 1.5],
      ['special', 8],
      ['special', true],
      ['sparse', false],
      ['sparse', 1],
      ['hardlink', ''],
      ['hardlink', 'two words'],
      ['source', 5],
      ['source', null],
      ['size', 2 ** 53],
      ['size', 128],
      ['size', 193],
    ] as const
  ).map(([key, value]) =>
    fault(
      'metadata',
      `metadata-${key}-${value === undefined ? 'missing' : String(value).replace('\0', 'nul')}`,
      `${key} is ${value === undefined ? 'missing' : JSON.stringify(value)}`,
      { metadata: withKey(key, value) },
    ),
  ),
];

const record: Case[] = [
  ...['2', '4', '', 'three', '3.5'].map((chunkCount) =>
    fault('record', `record-header-${chunkCount || 'empty'}`, `X-Chunk-Count is "${chunkCount}"`, {
      chunkCount,
    }),
  ),
  fault('record', 'record-sha256', 'the record has another digest', {
    record: withKey('sha256', '0'.repeat(64)),
  }),
  fault('record', 'record-size', 'the record has another size', { record: withKey('size', 199) }),
  fault('record', 'record-count', 'the record has another number of volumes', {
    record: withKey('chunk_count', 2),
  }),
];

const otherNames: Case[] = [
  fault('name', 'name-plain', 'the list has a plain name that is not the one in the metadata', {
    record: withKey('file_name', 'invoice.txt'),
  }),
  fault('name', 'name-resealed', 'the list has another name, sealed by the owner for this very record', {
    listed: { name: 'invoice.txt' },
  }),
  fault('name', 'name-rev', 'the list has the same name, of an earlier rev', { listed: { rev: 2 } }),
  fault('name', 'name-gen', 'the list makes an older version of the same name the newest', {
    listed: { gen: 3 },
  }),
  fault('name', 'name-added', 'the list has another time of the upload', {
    listed: { added: 1_767_225_600_002 },
  }),
  fault('name', 'name-foreign', 'the list has the same name, sealed for another record', {
    nameBinding: { totalSha256: '0'.repeat(64) },
  }),
  fault('name', 'name-empty', 'the list has an empty name', { record: withKey('file_name', '') }),
  fault('name', 'name-case', 'the list has the plain name in other letters', {
    record: withKey('file_name', 'Raport.txt'),
  }),
];

/** Two faults in one file: the stage that comes first is the one that is told. */
const two: Case[] = [
  fault(
    'version',
    'two-version-header',
    'another version, and no header',
    { params: (p) => without('header')(withKey('szafa', 2)(p)) },
    'unsupported',
  ),
  fault(
    'header',
    'two-header-epoch',
    'an epoch that the reader has no master key for, and a file_key that is not base64url',
    { header: (json) => ({ ...json, epoch: 8, file_key: '*' }) },
  ),
  fault('epoch', 'two-epoch-mac', 'an epoch that the reader has no master key for, and another MAC', {
    header: withKey('epoch', 8),
    mac: (mac) => flip(mac, 0),
  }),
  fault('mac', 'two-mac-file-key', 'the MAC is another, and the file key does not open', {
    fileKey: (key) => flip(key, PARTS.tag),
    mac: (mac) => flip(mac, 0),
  }),
  fault('file-key', 'two-file-key-metadata', 'neither the file key nor the metadata opens', {
    fileKey: (key) => flip(key, PARTS.tag),
    sealedMetadata: (sealed) => flip(sealed, PARTS.tag),
  }),
  fault('mac', 'two-mac-metadata', 'the MAC is another, and the metadata does not open', {
    sealedMetadata: (sealed) => flip(sealed, PARTS.tag),
    mac: (mac) => flip(mac, 0),
  }),
  fault('metadata', 'two-metadata-record', 'the metadata has no name, and the record another size', {
    metadata: without('name'),
    record: withKey('size', 199),
  }),
  fault('record', 'two-record-name', 'the record has another digest and another name', {
    record: (json) => ({ ...json, sha256: '0'.repeat(64), file_name: 'invoice.txt' }),
  }),
  fault('name', 'two-name-volume', 'the record has another name, and volume 1 was changed', {
    record: withKey('file_name', 'invoice.txt'),
    volumes: (volumes) => volumes.map((v) => flip(v, 0)),
  }),
  fault('digests', 'two-volume-digest', 'volume 3 was changed, and total_sha256 is not that of the volumes', {
    total: () => 'a'.repeat(64),
    volumes: (volumes) => volumes.map((v, i) => (i === 2 ? flip(v, 0) : v)),
  }),
];

const swap = (i: number, j: number) => (volumes: Bytes[]) =>
  volumes.map((v, k) => volumes[k === i ? j : k === j ? i : k] ?? v);
const change = (i: number, to: (bytes: Bytes) => Bytes) => (volumes: Bytes[]) =>
  volumes.map((v, k) => (k === i ? to(v) : v));

const volume: Case[] = [
  ...[0, 1, 2].flatMap((i): Case[] => [
    fault('volume', `volume-${i + 1}-first-byte`, `the first byte of volume ${i + 1}`, {
      volumes: change(i, (v) => flip(v, 0)),
    }),
    fault('volume', `volume-${i + 1}-tag`, `the tag of volume ${i + 1}`, {
      volumes: change(i, (v) => flip(v, -1)),
    }),
    fault('volume', `volume-${i + 1}-short`, `volume ${i + 1} lacks its last byte`, {
      volumes: change(i, short),
    }),
    fault('volume', `volume-${i + 1}-long`, `volume ${i + 1} has a byte more`, {
      volumes: change(i, (v) => new Uint8Array([...v, 0])),
    }),
    fault('volume', `volume-${i + 1}-empty`, `volume ${i + 1} is empty`, {
      volumes: change(i, () => new Uint8Array(0)),
    }),
    fault('volume', `volume-${i + 1}-zero`, `volume ${i + 1} is all zeros`, {
      volumes: change(i, (v) => new Uint8Array(v.length)),
    }),
  ]),
  fault('volume', 'volumes-swapped', 'volumes 1 and 2 change places', { volumes: swap(0, 1) }),
  fault('volume', 'volume-repeated', 'volume 1 again as volume 2', { volumes: (v) => [v[0]!, v[0]!, v[2]!] }),
  fault('volume', 'volume-plaintext', 'plaintext of the right length instead of ciphertext', {
    volumes: change(0, (v) => v.map(() => 97)),
  }),
  fault('volume', 'volume-goes-on', 'the last volume was sealed as one that others follow', { endsWith: 4 }),
  fault('volume', 'volume-ends-early', 'volume 2 was sealed as the last', { endsWith: 2 }),
  fault('volume', 'volume-head-swapped', 'salt and commitment of volumes 1 and 2 change places', {
    volumes: ([one, two, ...rest]) => [
      new Uint8Array([...two!.slice(0, 56), ...one!.slice(56)]),
      new Uint8Array([...one!.slice(0, 56), ...two!.slice(56)]),
      ...rest,
    ],
  }),
  fault('volume', 'volume-commitment', 'a bit of the commitment of volume 1', {
    volumes: change(0, (v) => flip(v, 24)),
  }),
  fault('volume', 'volume-ciphertext', 'the first byte of the first segment of volume 1', {
    volumes: change(0, (v) => flip(v, 56)),
  }),
  fault('volume', 'volume-version', 'volumes sealed under another version', { version: 2 }),
  fault(
    'digests',
    'digest-total',
    'total_sha256, under the MAC and in the record, is not that of the volumes',
    { total: () => 'a'.repeat(64) },
  ),
];

/** Of a file of three volumes: somebody who was given the file key, and the server, put others in their place. */
export const forgeries: Case[] = [
  ...[false, 1, 'true', null].map((value) =>
    fault(
      'metadata',
      `metadata-shared-${JSON.stringify(value)}`,
      `shared in the metadata is ${JSON.stringify(value)}`,
      { metadata: withKey('shared', value) },
    ),
  ),
  fault('digests', 'digests-short', 'the list of digests lacks the last one', {
    digests: (honest) => honest.slice(0, -1),
  }),
  fault('digests', 'digests-long', 'the list of digests has one more', {
    digests: (honest) => [...honest, honest[0]!],
  }),
  fault('digests', 'digests-empty', 'the list of digests is empty', { digests: () => [] }),
  fault('digests', 'digests-swapped', 'the first two digests change places in the list', {
    digests: ([one, two, ...rest]) => [two!, one!, ...rest],
  }),
  ...[1, 2, 3].flatMap((forged): Case[] => [
    fault(
      'digest',
      `digest-forged-${forged}`,
      `volume ${forged} was sealed again with the file key, of other bytes`,
      { forged },
    ),
    fault(
      'digests',
      `digests-forged-${forged}`,
      `the same with volume ${forged}, and the list has the digest of that volume`,
      { forged, digests: (_, others) => others },
    ),
  ]),
  fault('digests', 'two-digests-volume', 'the list of digests lacks one, and volume 1 was changed', {
    digests: (honest) => honest.slice(1),
    volumes: (volumes) => volumes.map((v, i) => (i === 0 ? flip(v, 0) : v)),
  }),
  fault(
    'volume',
    'two-volume-forged',
    'volume 2 was sealed again with the file key, and its last byte was changed',
    { forged: 2, volumes: (volumes) => volumes.map((v, i) => (i === 1 ? flip(v, -1) : v)) },
  ),
];

export const cases: Case[] = [
  ...params,
  ...header,
  ...sealedThings,
  ...record,
  ...otherNames,
  ...volume,
  ...two,
];
