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
  code?: 'tampered' | 'unsupported' | 'wrong-password';
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

/** A master key that no reader has. */
const OTHER = new Uint8Array(32).fill(0x6f);

const params: Case[] = [
  {
    name: 'params-foreign',
    about: 'enc_params of another client',
    faults: { params: () => ({ iv: 'AAAA' }) },
    stage: 'params',
    code: 'unsupported',
  },
  ...[2, 0, '1', null, 1.5, true].map(
    (value): Case => ({
      name: `version-${JSON.stringify(value)}`,
      about: `szafa is ${JSON.stringify(value)}`,
      faults: { params: withKey('szafa', value) },
      stage: 'version',
      code: 'unsupported',
    }),
  ),
  {
    name: 'params-header-missing',
    about: 'no header',
    faults: { params: without('header') },
    stage: 'params',
  },
  {
    name: 'params-header-number',
    about: 'header is a number',
    faults: { params: withKey('header', 7) },
    stage: 'params',
  },
  {
    name: 'params-header-padded',
    about: 'header with padding',
    faults: { params: (p) => ({ ...p, header: `${p['header']}=` }) },
    stage: 'params',
  },
  {
    name: 'params-header-blank',
    about: 'a blank in the header',
    faults: { params: (p) => ({ ...p, header: ` ${p['header']}` }) },
    stage: 'params',
  },
  {
    name: 'params-header-plus',
    about: 'the other alphabet',
    faults: { params: (p) => ({ ...p, header: `+${String(p['header']).slice(1)}` }) },
    stage: 'params',
  },
  { name: 'params-mac-missing', about: 'no MAC', faults: { params: without('mac') }, stage: 'params' },
  { name: 'params-mac-short', about: 'a MAC of 31 bytes', faults: { mac: short }, stage: 'params' },
  {
    name: 'params-mac-long',
    about: 'a MAC of 33 bytes',
    faults: { mac: (mac) => new Uint8Array([...mac, 0]) },
    stage: 'params',
  },
  {
    name: 'params-mac-empty',
    about: 'an empty MAC',
    faults: { params: withKey('mac', '') },
    stage: 'params',
  },
  {
    name: 'params-mac-stray',
    about: 'a stray bit at the end of the base64url of the MAC',
    faults: { params: (p) => ({ ...p, mac: stray(String(p['mac'])) }) },
    stage: 'params',
  },
  {
    name: 'mac-first-bit',
    about: 'the first byte of the MAC',
    faults: { mac: (mac) => flip(mac, 0) },
    stage: 'mac',
  },
  {
    name: 'mac-last-bit',
    about: 'the last byte of the MAC',
    faults: { mac: (mac) => flip(mac, -1) },
    stage: 'mac',
  },
  { name: 'mac-zero', about: 'a MAC of zeros', faults: { mac: () => new Uint8Array(32) }, stage: 'mac' },
];

const header: Case[] = [
  {
    name: 'header-not-utf8',
    about: 'a byte that is not UTF-8',
    faults: { headerText: (text) => new Uint8Array([...text.slice(0, 5), 0xff, ...text.slice(5)]) },
    stage: 'header',
  },
  {
    name: 'header-bom',
    about: 'a byte order mark before the JSON',
    faults: { headerText: (text) => new Uint8Array([0xef, 0xbb, 0xbf, ...text]) },
    stage: 'header',
  },
  {
    name: 'header-not-json',
    about: 'not JSON',
    faults: { headerText: () => utf8('{"file_id":') },
    stage: 'header',
  },
  {
    name: 'header-empty',
    about: 'no text at all',
    faults: { headerText: () => new Uint8Array(0) },
    stage: 'header',
  },
  { name: 'header-array', about: 'a JSON array', faults: { headerText: () => utf8('[]') }, stage: 'header' },
  { name: 'header-null', about: 'JSON null', faults: { headerText: () => utf8('null') }, stage: 'header' },
  ...['file_id', 'epoch', 'volume_size', 'volume_count', 'total_sha256', 'file_key', 'metadata'].map(
    (key): Case => ({
      name: `header-without-${key}`,
      about: `no ${key}`,
      faults: { header: without(key) },
      stage: 'header',
    }),
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
  ).map(
    ([key, value, about], i): Case => ({
      name: `header-${key}-${i}`,
      about: `${key}: ${about}`,
      faults: { header: withKey(key, value) },
      stage: 'header',
    }),
  ),
  ...(
    [
      ['volume_size', /"volume_size":64/, '"volume_size":63'],
      ['volume_count', /"volume_count":3/, '"volume_count":4'],
      ['total_sha256', /"total_sha256":"./, '"total_sha256":"f'],
      ['blank', /^\{/, '{ '],
      ['unknown-key', /\}$/, ',"more":1}'],
    ] as const
  ).map(
    ([key, from, to]): Case => ({
      name: `mac-${key}`,
      about: `the header was changed after the MAC: ${key}`,
      faults: { headerAfterMac: (text) => replaced(text, from, to) },
      stage: 'mac',
    }),
  ),
];

const sealedThings: Case[] = [
  ...Object.entries(PARTS).flatMap(([part, at]): Case[] => [
    {
      name: `file-key-${part}`,
      about: `a bit of the ${part} of the sealed file key`,
      faults: { fileKey: (key) => flip(key, at) },
      stage: 'file-key',
    },
    {
      name: `metadata-${part}`,
      about: `a bit of the ${part} of the sealed metadata`,
      faults: { sealedMetadata: (sealed) => flip(sealed, at) },
      stage: 'metadata',
    },
  ]),
  {
    name: 'file-key-short',
    about: 'the sealed file key lacks a byte',
    faults: { fileKey: short },
    stage: 'file-key',
  },
  {
    name: 'file-key-empty',
    about: 'no sealed file key',
    faults: { fileKey: () => new Uint8Array(0) },
    stage: 'file-key',
  },
  {
    name: 'file-key-label',
    about: 'sealed for another purpose',
    faults: { sealedUnder: { label: 'szafa/v1/metadata' } },
    stage: 'file-key',
  },
  {
    name: 'file-key-31',
    about: 'a file key of 31 bytes',
    faults: { sealedUnder: { key: new Uint8Array(31).fill(3) } },
    stage: 'file-key',
  },
  {
    name: 'file-key-master',
    about: 'sealed under the master key itself',
    faults: { sealedUnder: { by: 'master' } },
    stage: 'file-key',
  },
  {
    name: 'metadata-file-key',
    about: 'the metadata is sealed under the file key, which is given away with a share',
    faults: { metadataUnder: 'file key' },
    stage: 'metadata',
  },
  {
    name: 'mac-file-key',
    about: 'a MAC from the file key',
    faults: { macUnder: 'file key' },
    stage: 'mac',
  },
  {
    name: 'mac-other-master',
    about: 'a header by somebody who does not have the master key',
    faults: { master: OTHER },
    stage: 'mac',
  },
  {
    name: 'epoch-later',
    about: 'a later epoch than the reader has a master key for',
    faults: { header: withKey('epoch', 8) },
    stage: 'epoch',
  },
  {
    name: 'epoch-missing',
    about: 'an epoch between two that the reader has master keys for',
    faults: { header: withKey('epoch', 3) },
    stage: 'epoch',
  },
  {
    name: 'epoch-earlier',
    about: 'the epoch of another master key than that of the MAC',
    faults: { header: withKey('epoch', 4) },
    stage: 'mac',
  },
  {
    name: 'metadata-label',
    about: 'sealed for another purpose',
    faults: { metadataLabel: 'szafa/v1/file-key' },
    stage: 'metadata',
  },
  {
    name: 'metadata-short',
    about: 'the sealed metadata lacks a byte',
    faults: { sealedMetadata: short },
    stage: 'metadata',
  },
  {
    name: 'metadata-not-json',
    about: 'not JSON',
    faults: { metadataText: () => utf8('name') },
    stage: 'metadata',
  },
  {
    name: 'metadata-null',
    about: 'JSON null',
    faults: { metadataText: () => utf8('null') },
    stage: 'metadata',
  },
  {
    name: 'metadata-not-utf8',
    about: 'not UTF-8',
    faults: { metadataText: (text) => new Uint8Array([...text.slice(0, 10), 0xc0, ...text.slice(10)]) },
    stage: 'metadata',
  },
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
  ).map(
    ([key, value]): Case => ({
      name: `metadata-${key}-${value === undefined ? 'missing' : String(value).replace('\0', 'nul')}`,
      about: `${key} is ${value === undefined ? 'missing' : JSON.stringify(value)}`,
      faults: { metadata: withKey(key, value) },
      stage: 'metadata',
    }),
  ),
];

const record: Case[] = [
  ...['2', '4', '', 'three', '3.5'].map(
    (chunkCount): Case => ({
      name: `record-header-${chunkCount || 'empty'}`,
      about: `X-Chunk-Count is "${chunkCount}"`,
      faults: { chunkCount },
      stage: 'record',
    }),
  ),
  {
    name: 'record-sha256',
    about: 'the record has another digest',
    faults: { record: withKey('sha256', '0'.repeat(64)) },
    stage: 'record',
  },
  {
    name: 'record-size',
    about: 'the record has another size',
    faults: { record: withKey('size', 199) },
    stage: 'record',
  },
  {
    name: 'record-count',
    about: 'the record has another number of volumes',
    faults: { record: withKey('chunk_count', 2) },
    stage: 'record',
  },
];

const otherNames: Case[] = [
  {
    name: 'name-plain',
    about: 'the list has a plain name that is not the one in the metadata',
    faults: { record: withKey('file_name', 'invoice.txt') },
    stage: 'name',
  },
  {
    name: 'name-resealed',
    about: 'the list has another name, sealed by the owner for this very record',
    faults: { listed: { name: 'invoice.txt' } },
    stage: 'name',
  },
  {
    name: 'name-rev',
    about: 'the list has the same name, of an earlier rev',
    faults: { listed: { rev: 2 } },
    stage: 'name',
  },
  {
    name: 'name-gen',
    about: 'the list makes an older version of the same name the newest',
    faults: { listed: { gen: 3 } },
    stage: 'name',
  },
  {
    name: 'name-added',
    about: 'the list has another time of the upload',
    faults: { listed: { added: 1_767_225_600_002 } },
    stage: 'name',
  },
  {
    name: 'name-foreign',
    about: 'the list has the same name, sealed for another record',
    faults: { nameBinding: { totalSha256: '0'.repeat(64) } },
    stage: 'name',
  },
  {
    name: 'name-empty',
    about: 'the list has an empty name',
    faults: { record: withKey('file_name', '') },
    stage: 'name',
  },
  {
    name: 'name-case',
    about: 'the list has the plain name in other letters',
    faults: { record: withKey('file_name', 'Raport.txt') },
    stage: 'name',
  },
];

/** Two faults in one file: the stage that comes first is the one that is told. */
const two: Case[] = [
  {
    name: 'two-version-header',
    about: 'another version, and no header',
    faults: { params: (p) => without('header')(withKey('szafa', 2)(p)) },
    stage: 'version',
    code: 'unsupported',
  },
  {
    name: 'two-header-epoch',
    about: 'an epoch that the reader has no master key for, and a file_key that is not base64url',
    faults: { header: (json) => ({ ...json, epoch: 8, file_key: '*' }) },
    stage: 'header',
  },
  {
    name: 'two-epoch-mac',
    about: 'an epoch that the reader has no master key for, and another MAC',
    faults: { header: withKey('epoch', 8), mac: (mac) => flip(mac, 0) },
    stage: 'epoch',
  },
  {
    name: 'two-mac-file-key',
    about: 'the MAC is another, and the file key does not open',
    faults: { fileKey: (key) => flip(key, PARTS.tag), mac: (mac) => flip(mac, 0) },
    stage: 'mac',
  },
  {
    name: 'two-file-key-metadata',
    about: 'neither the file key nor the metadata opens',
    faults: {
      fileKey: (key) => flip(key, PARTS.tag),
      sealedMetadata: (sealed) => flip(sealed, PARTS.tag),
    },
    stage: 'file-key',
  },
  {
    name: 'two-mac-metadata',
    about: 'the MAC is another, and the metadata does not open',
    faults: { sealedMetadata: (sealed) => flip(sealed, PARTS.tag), mac: (mac) => flip(mac, 0) },
    stage: 'mac',
  },
  {
    name: 'two-metadata-record',
    about: 'the metadata has no name, and the record another size',
    faults: { metadata: without('name'), record: withKey('size', 199) },
    stage: 'metadata',
  },
  {
    name: 'two-record-name',
    about: 'the record has another digest and another name',
    faults: { record: (json) => ({ ...json, sha256: '0'.repeat(64), file_name: 'invoice.txt' }) },
    stage: 'record',
  },
  {
    name: 'two-name-volume',
    about: 'the record has another name, and volume 1 was changed',
    faults: {
      record: withKey('file_name', 'invoice.txt'),
      volumes: (volumes) => volumes.map((v) => flip(v, 0)),
    },
    stage: 'name',
  },
  {
    name: 'two-volume-digest',
    about: 'volume 3 was changed, and total_sha256 is not that of the volumes',
    faults: {
      total: () => 'a'.repeat(64),
      volumes: (volumes) => volumes.map((v, i) => (i === 2 ? flip(v, 0) : v)),
    },
    stage: 'digests',
  },
];

const swap = (i: number, j: number) => (volumes: Bytes[]) =>
  volumes.map((v, k) => volumes[k === i ? j : k === j ? i : k] ?? v);
const change = (i: number, to: (bytes: Bytes) => Bytes) => (volumes: Bytes[]) =>
  volumes.map((v, k) => (k === i ? to(v) : v));

const volume: Case[] = [
  ...[0, 1, 2].flatMap((i): Case[] => [
    {
      name: `volume-${i + 1}-first-byte`,
      about: `the first byte of volume ${i + 1}`,
      faults: { volumes: change(i, (v) => flip(v, 0)) },
      stage: 'volume',
    },
    {
      name: `volume-${i + 1}-tag`,
      about: `the tag of volume ${i + 1}`,
      faults: { volumes: change(i, (v) => flip(v, -1)) },
      stage: 'volume',
    },
    {
      name: `volume-${i + 1}-short`,
      about: `volume ${i + 1} lacks its last byte`,
      faults: { volumes: change(i, short) },
      stage: 'volume',
    },
    {
      name: `volume-${i + 1}-long`,
      about: `volume ${i + 1} has a byte more`,
      faults: { volumes: change(i, (v) => new Uint8Array([...v, 0])) },
      stage: 'volume',
    },
    {
      name: `volume-${i + 1}-empty`,
      about: `volume ${i + 1} is empty`,
      faults: { volumes: change(i, () => new Uint8Array(0)) },
      stage: 'volume',
    },
    {
      name: `volume-${i + 1}-zero`,
      about: `volume ${i + 1} is all zeros`,
      faults: { volumes: change(i, (v) => new Uint8Array(v.length)) },
      stage: 'volume',
    },
  ]),
  {
    name: 'volumes-swapped',
    about: 'volumes 1 and 2 change places',
    faults: { volumes: swap(0, 1) },
    stage: 'volume',
  },
  {
    name: 'volume-repeated',
    about: 'volume 1 again as volume 2',
    faults: { volumes: (v) => [v[0]!, v[0]!, v[2]!] },
    stage: 'volume',
  },
  {
    name: 'volume-plaintext',
    about: 'plaintext of the right length instead of ciphertext',
    faults: { volumes: change(0, (v) => v.map(() => 97)) },
    stage: 'volume',
  },
  {
    name: 'volume-goes-on',
    about: 'the last volume was sealed as one that others follow',
    faults: { endsWith: 4 },
    stage: 'volume',
  },
  {
    name: 'volume-ends-early',
    about: 'volume 2 was sealed as the last',
    faults: { endsWith: 2 },
    stage: 'volume',
  },
  {
    name: 'volume-head-swapped',
    about: 'salt and commitment of volumes 1 and 2 change places',
    faults: {
      volumes: ([one, two, ...rest]) => [
        new Uint8Array([...two!.slice(0, 56), ...one!.slice(56)]),
        new Uint8Array([...one!.slice(0, 56), ...two!.slice(56)]),
        ...rest,
      ],
    },
    stage: 'volume',
  },
  {
    name: 'volume-commitment',
    about: 'a bit of the commitment of volume 1',
    faults: { volumes: change(0, (v) => flip(v, 24)) },
    stage: 'volume',
  },
  {
    name: 'volume-ciphertext',
    about: 'the first byte of the first segment of volume 1',
    faults: { volumes: change(0, (v) => flip(v, 56)) },
    stage: 'volume',
  },
  {
    name: 'volume-version',
    about: 'volumes sealed under another version',
    faults: { version: 2 },
    stage: 'volume',
  },
  {
    name: 'digest-total',
    about: 'total_sha256, under the MAC and in the record, is not that of the volumes',
    faults: { total: () => 'a'.repeat(64) },
    stage: 'digests',
  },
];

/** Of a file of three volumes: somebody who was given the file key, and the server, put others in their place. */
export const forgeries: Case[] = [
  ...[false, 1, 'true', null].map(
    (value): Case => ({
      name: `metadata-shared-${JSON.stringify(value)}`,
      about: `shared in the metadata is ${JSON.stringify(value)}`,
      faults: { metadata: withKey('shared', value) },
      stage: 'metadata',
    }),
  ),
  {
    name: 'digests-short',
    about: 'the list of digests lacks the last one',
    faults: { digests: (honest) => honest.slice(0, -1) },
    stage: 'digests',
  },
  {
    name: 'digests-long',
    about: 'the list of digests has one more',
    faults: { digests: (honest) => [...honest, honest[0]!] },
    stage: 'digests',
  },
  {
    name: 'digests-empty',
    about: 'the list of digests is empty',
    faults: { digests: () => [] },
    stage: 'digests',
  },
  {
    name: 'digests-swapped',
    about: 'the first two digests change places in the list',
    faults: { digests: ([one, two, ...rest]) => [two!, one!, ...rest] },
    stage: 'digests',
  },
  ...[1, 2, 3].flatMap((forged): Case[] => [
    {
      name: `digest-forged-${forged}`,
      about: `volume ${forged} was sealed again with the file key, of other bytes`,
      faults: { forged },
      stage: 'digest',
    },
    {
      name: `digests-forged-${forged}`,
      about: `the same with volume ${forged}, and the list has the digest of that volume`,
      faults: { forged, digests: (_, others) => others },
      stage: 'digests',
    },
  ]),
  {
    name: 'two-digests-volume',
    about: 'the list of digests lacks one, and volume 1 was changed',
    faults: {
      digests: (honest) => honest.slice(1),
      volumes: (volumes) => volumes.map((v, i) => (i === 0 ? flip(v, 0) : v)),
    },
    stage: 'digests',
  },
  {
    name: 'two-volume-forged',
    about: 'volume 2 was sealed again with the file key, and its last byte was changed',
    faults: { forged: 2, volumes: (volumes) => volumes.map((v, i) => (i === 1 ? flip(v, -1) : v)) },
    stage: 'volume',
  },
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
