/** Links, made from docs/format.md with Node's own primitives and nothing of the client. */
import { argon2Sync } from 'node:crypto';
import type { LinkFileJson, LinkJson, LinkVector } from './share-vectors.ts';
import { b64, EMPTY, fixedFor, hex, hkdf, seal, sha256 } from './writer-cases.ts';

const drawn = fixedFor('links');
const secret = drawn('secret', 32);
const r = drawn('r', 24);
const salt = drawn('salt', 16);
const NONE = Buffer.alloc(16);

/** As docs/format.md has them, which is how our writer puts them. */
const ORDER: (keyof LinkFileJson)[] = [
  ...([
    'file_id',
    'file_key',
    'name',
    'size',
    'padded',
    'volume_size',
    'late_volume_size',
    'volume_count',
  ] as const),
  ...(['total_sha256', 'mtime', 'type', 'thumbnail', 'link'] as const),
];
const ordered = (file: LinkFileJson) =>
  Object.fromEntries(
    ORDER.filter((key) => key in file).map((key) => [key, file[key]]),
  ) as unknown as LinkFileJson;

const file = (name: string, more: Partial<LinkFileJson> = {}): LinkFileJson =>
  ordered({
    file_id: b64(drawn(`id of ${name}`, 16)),
    file_key: b64(drawn(`key of ${name}`, 32)),
    name,
    size: 150,
    volume_size: 64,
    volume_count: 3,
    total_sha256: hex(drawn(`total of ${name}`, 32)),
    ...more,
  });

const plain: LinkJson = { files: [file('raport.txt', { mtime: 1_767_225_600_000, type: 'text/plain' })] };
const many: LinkJson = {
  files: [
    file('zdjęcia/a.jpg', { thumbnail: hex(drawn('thumbnail', 32)), mtime: -1 }),
    file('zdjęcia/b.jpg', { size: 0, volume_count: 1, volume_size: 8_388_608 }),
    file('puste/', { size: 0, volume_count: 1, type: 'inode/directory' }),
    file('long', {
      size: 9_000_000_000,
      volume_size: 8_388_608,
      late_volume_size: 67_108_864,
      volume_count: 1010,
    }),
    file('padded', { size: 100, padded: 150 }),
  ],
  note: 'Dla Ciebie 🐢',
};

interface Parts {
  content?: unknown;
  /** Instead of the JSON of the content. */
  text?: Uint8Array;
  passphrase?: string;
  suite?: number;
  profile?: number;
  salt?: Uint8Array;
}

/** Suite, profile, salt, and the sealed text with blanks behind it. */
function headerOf(parts: Parts): Buffer {
  const { content = plain, passphrase, suite = 1 } = parts;
  const { profile = passphrase === undefined ? 0 : 1 } = parts;
  const used = parts.salt ?? (passphrase === undefined ? NONE : salt);
  const stretched =
    passphrase === undefined
      ? EMPTY
      : argon2Sync('argon2id', {
          ...{ message: passphrase.normalize('NFC'), nonce: used },
          ...{ parallelism: 1, tagLength: 32, memory: 65_536, passes: 3 },
        });
  const key = hkdf(Buffer.concat([secret, stretched]), used, 'szafa/v1/link', 32);
  const text = parts.text ?? Buffer.from(JSON.stringify(content));
  const padded = Buffer.concat([text, Buffer.alloc((256 - (text.length % 256)) % 256, ' ')]);
  return Buffer.concat([Uint8Array.of(suite, profile), used, seal(key, 'szafa/v1/link', padded, r)]);
}

const fragmentOf = (header: Uint8Array, from: Uint8Array = secret) =>
  b64(Buffer.concat([from, sha256(header).subarray(0, 16)]));

const access = b64(hkdf(secret, EMPTY, 'szafa/v1/link-access', 32));

function good(name: string, about: string, content: LinkJson, passphrase?: string): LinkVector {
  const header = headerOf({ content, ...(passphrase !== undefined && { passphrase }) });
  const random = [secret, ...(passphrase === undefined ? [] : [salt]), r].map(hex);
  return {
    ...{ name, about, fragment: fragmentOf(header) },
    ...(passphrase !== undefined && { passphrase }),
    ...{ header: b64(header), random, expect: { access, content } },
  };
}

type Fault = { code: string; stage?: string };
const tampered = (stage: string): Fault => ({ code: 'tampered', stage });

/** The link is whole: whoever made it made it so. */
function bad(
  name: string,
  about: string,
  parts: Parts | Buffer,
  expect: Fault,
  passphrase?: string,
): LinkVector {
  const header = Buffer.isBuffer(parts) ? parts : headerOf(parts);
  return {
    ...{ name, about, fragment: fragmentOf(header) },
    ...(passphrase !== undefined && { passphrase }),
    ...{ header: b64(header), expect },
  };
}

const changed = (more: Record<string, unknown>, gone?: keyof LinkFileJson) => {
  const one: Record<string, unknown> = { ...plain.files[0], ...more };
  if (gone) delete one[gone];
  return { content: { files: [one] } };
};
const inFile = (name: string, more: Record<string, unknown>): LinkVector =>
  bad(`file-${name}`, `a file whose ${name} is malformed`, changed(more), tampered('share'));

const whole = good('good', 'one file, no passphrase', plain);
const locked = good('good-passphrase', 'with a passphrase', plain, 'gęś jaźń');
const { passphrase: _passphrase, random: _random, ...unspoken } = locked;
const headerBytes = headerOf({});
const flipped = (at: number) => {
  const bytes = Buffer.from(headerBytes);
  bytes[at]! ^= 1;
  return bytes;
};
/** The link's own header changed by the server: the fragment stays. */
const swapped = (name: string, about: string, header: Uint8Array): LinkVector => ({
  ...{ name, about, fragment: whole.fragment, header: b64(header), expect: tampered('link') },
});

/** Once is enough here: what the text has so often is one file. */
function repeated(times: number, expect: LinkVector['expect']): LinkVector {
  const [file] = plain.files as [LinkFileJson];
  const header = headerOf({ content: { files: Array<LinkFileJson>(times).fill(file) } });
  return {
    ...{ name: `${times}-files`, about: `${times} files`, fragment: fragmentOf(header) },
    ...{ many: { file, times }, random: [secret, r].map(hex), expect },
  };
}

const target: LinkJson = { files: [file('a/link', { size: 0, volume_count: 1, link: '../b' })] };
/** A text with a lone surrogate, which stands for U+FFFD. */
const surrogates = (half: string): LinkJson => ({
  files: [file('x', { name: `a${half}`, type: `t/${half}`, size: 0, volume_count: 1, link: half })],
  note: `${half}!`,
});

export const links: LinkVector[] = [
  whole,
  good('good-link', 'a symbolic link', target),
  {
    ...bad('good-surrogate', 'lone surrogates in texts', { content: surrogates('\ud800') }, { code: '' }),
    expect: { access, content: surrogates('\ufffd') },
  },
  repeated(10_000, { access, content: plain }),
  repeated(10_001, tampered('share')),
  good('good-many', 'every field that there is', many),
  locked,
  {
    ...unspoken,
    name: 'good-passphrase-composed',
    about: 'a passphrase that was typed decomposed',
    passphrase: 'gęś jaźń'.normalize('NFD'),
  },
  {
    ...bad(
      'good-unknown-keys',
      'keys that this version does not know',
      { content: { ...plain, later: 1 } },
      { code: '' },
    ),
    expect: { access, content: plain },
  },
  { ...unspoken, name: 'passphrase-missing', about: 'none is given', expect: { code: 'passphrase-needed' } },
  {
    ...unspoken,
    name: 'passphrase-wrong',
    about: 'another one',
    passphrase: 'kaczka',
    expect: { code: 'wrong-passphrase' },
  },
  ...[0, 1, 2, 18, 42, 74, headerBytes.length - 1].map((at) =>
    swapped(`swapped-${at}`, `byte ${at} of the header was changed`, flipped(at)),
  ),
  swapped('swapped-other', 'the header of another link', headerOf({ content: many })),
  swapped('swapped-cut', 'the header without its end', headerBytes.subarray(0, -1)),
  swapped('swapped-empty', 'no header', EMPTY),
  bad('suite', 'another suite', { suite: 2 }, { code: 'unsupported', stage: 'suite' }),
  bad('cut', 'a header that is too short to be one', headerBytes.subarray(0, 89), tampered('link')),
  bad(
    'profile',
    'a profile that nobody knows',
    { profile: 9 },
    { code: 'unsupported', stage: 'profile' },
    'x',
  ),
  bad('salt', 'a salt where there is no passphrase', { salt }, tampered('link')),
  bad('tag', 'a changed tag under the right digest', flipped(headerBytes.length - 1), tampered('link-key')),
  bad('commitment', 'another key under the right digest', flipped(50), tampered('link-key')),
  {
    ...whole,
    name: 'secret',
    about: 'another secret with the right digest',
    fragment: fragmentOf(headerBytes, drawn('other secret', 32)),
    expect: tampered('link-key'),
  },
  ...[
    '',
    whole.fragment.slice(0, -1),
    `${whole.fragment}A`,
    `${whole.fragment}=`,
    `${whole.fragment.slice(0, -1)}!`,
  ].map(
    (fragment, at): LinkVector => ({
      ...whole,
      name: `fragment-${at}`,
      about: 'what stands behind the # is no key of a link',
      fragment,
      expect: { code: 'fragment' },
    }),
  ),
  bad('text', 'not JSON', { text: Buffer.from('files') }, tampered('share')),
  bad(
    'text-bom',
    'a byte order mark',
    { text: Buffer.from(`\ufeff${JSON.stringify(plain)}`) },
    tampered('share'),
  ),
  bad('text-array', 'an array', { content: [plain] }, tampered('share')),
  bad('files-none', 'no files', { content: {} }, tampered('share')),
  bad('files-empty', 'an empty list', { content: { files: [] } }, tampered('share')),
  bad(
    'files-object',
    'files that are no list',
    { content: { files: { 0: plain.files[0] } } },
    tampered('share'),
  ),
  bad('files-null', 'a file that is null', { content: { files: [null] } }, tampered('share')),
  bad('note', 'a note that is a number', { content: { ...plain, note: 7 } }, tampered('share')),
  inFile('file_id', { file_id: b64(drawn('short', 15)) }),
  inFile('file_key', { file_key: b64(drawn('short', 31)) }),
  inFile('file_key of zeros', { file_key: b64(new Uint8Array(32)) }),
  inFile('name', { name: '' }),
  inFile('name of more than 8,192 bytes', { name: `${'ż'.repeat(4096)}x` }),
  inFile('name with U+0000', { name: 'a\0b' }),
  inFile('size', { size: -1 }),
  inFile('padded', { padded: 149 }),
  inFile('volume_size', { volume_size: 300_000 }),
  inFile('late_volume_size', { late_volume_size: 65 }),
  inFile('volume_count', { volume_count: 2 }),
  inFile('number of volumes', { volume_count: 10_001 }),
  inFile('total_sha256', { total_sha256: 'AB'.repeat(32) }),
  inFile('mtime', { mtime: 1.5 }),
  inFile('type', { type: null }),
  inFile('thumbnail', { thumbnail: 'ab' }),
  inFile('link', { size: 0, volume_count: 1, link: null }),
  inFile('link, of a file that has bytes,', { link: 'b' }),
  ...(['file_id', 'file_key', 'name', 'size', 'volume_size', 'volume_count', 'total_sha256'] as const).map(
    (gone) => bad(`file-without-${gone}`, `a file without ${gone}`, changed({}, gone), tampered('share')),
  ),
];
