/** One file: every rule of one request, in one place as in the specification. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InitBody, limits, pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  ENC_PARAMS,
  inPieces,
  listFiles,
  makeDir,
  makeFile,
  RawConnection,
  readVolume,
  received,
  register,
  sha256,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const MAX_VOLUME = 5_000_000;
const service = useService({ env: { SZ_MAX_VOLUME: String(MAX_VOLUME), SZ_WORKERS: '1' } });
const init = (user: User, json: unknown): Promise<Answer> => user.post(pathOf('init'), json);
const initText = (user: User, body: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<Answer> =>
  user.call('POST', pathOf('init'), { body, headers: { 'content-type': 'application/json' } });

const digest = sha256(Buffer.from('x'));
const good = makeFile([10, 20, 30]).init;
const [c1, c2, c3] = good.chunks as [InitBody['chunks'][0], InitBody['chunks'][0], InitBody['chunks'][0]];

test('init answers a transfer_id of at least 128 bits, and nothing received', async () => {
  const user = await sharedUser(service);
  const answer = await init(user, good);
  const transferId = String(answer.json['transfer_id']);
  assertOk(answer, { transfer_id: transferId });
  assert.match(transferId, /^[\w-]{22,}$/);
  assert.notEqual((await init(user, good)).json['transfer_id'], transferId);
  assert.deepEqual(await received(user, transferId), []);
});

for (const key of [
  'file_name',
  'file_size',
  'total_sha256',
  'chunk_count',
  'chunks',
  'enc_params',
] as const) {
  test(`init without ${key} is 400, and so is null there`, async () => {
    const user = await sharedUser(service);
    const { [key]: _, ...rest } = good;
    assertError(await init(user, rest), 400);
    assertError(await init(user, { ...good, [key]: null }), 400);
  });
}

const bad: Record<string, Record<string, unknown>> = {
  file_name: {
    number: 5,
    boolean: true,
    array: ['a'],
    object: {},
    empty: '',
    blanks: '  ',
    separators: '/\\/',
    controls: '\u0000\u0007',
  },
  file_size: {
    text: '60',
    negative: -1,
    fraction: 1.5,
    unsafe: 2 ** 53,
    boolean: true,
    array: [1],
    object: {},
  },
  total_sha256: {
    number: 5,
    short: digest.slice(1),
    long: `${digest}0`,
    'not hex': `g${digest.slice(1)}`,
    empty: '',
    newline: `${digest}\n`,
    array: [digest],
  },
  chunk_count: {
    text: '3',
    zero: 0,
    negative: -3,
    fraction: 2.5,
    fewer: 2,
    more: 4,
    boolean: true,
    huge: 2 ** 53,
  },
  chunks: {
    text: 'abc',
    object: { 0: c1, 1: c2, 2: c3 },
    empty: [],
    'too few': [c1, c2],
    'too many': [c1, c2, c3, c3],
    'null entry': [c1, null, c3],
    'text entry': [c1, 'c2', c3],
    'array entry': [c1, [20, digest], c3],
    'entry without size': [c1, { sha256: digest }, c3],
    'entry without sha256': [c1, { size: 1 }, c3],
    'text as size': [c1, { size: '1', sha256: digest }, c3],
    'negative size': [c1, { size: -1, sha256: digest }, c3],
    'fractional size': [c1, { size: 0.5, sha256: digest }, c3],
    'unsafe size': [c1, { size: 2 ** 53, sha256: digest }, c3],
    'null as size': [c1, { size: null, sha256: digest }, c3],
    'bad digest': [c1, { size: 1, sha256: 'abc' }, c3],
    'number as digest': [c1, { size: 1, sha256: 1 }, c3],
    'a volume over the limit': [c1, { size: MAX_VOLUME + 1, sha256: digest }, c3],
    'idx twice': [
      { ...c1, idx: 1 },
      { ...c2, idx: 1 },
      { ...c3, idx: 3 },
    ],
    'idx 0': [
      { ...c1, idx: 0 },
      { ...c2, idx: 1 },
      { ...c3, idx: 2 },
    ],
    'idx past the end': [
      { ...c1, idx: 1 },
      { ...c2, idx: 2 },
      { ...c3, idx: 4 },
    ],
    'negative idx': [
      { ...c1, idx: -1 },
      { ...c2, idx: 2 },
      { ...c3, idx: 3 },
    ],
    'fractional idx': [
      { ...c1, idx: 1 },
      { ...c2, idx: 1.5 },
      { ...c3, idx: 3 },
    ],
    'text as idx': [
      { ...c1, idx: '1' },
      { ...c2, idx: 2 },
      { ...c3, idx: 3 },
    ],
    'null as idx': [
      { ...c1, idx: null },
      { ...c2, idx: 2 },
      { ...c3, idx: 3 },
    ],
  },
  enc_params: { text: 'abc', number: 5, array: [], boolean: true },
  dir_id: {
    text: '1',
    'text zero': '0',
    empty: '',
    fraction: 1.5,
    boolean: false,
    array: [],
    object: {},
  },
};
for (const [key, values] of Object.entries(bad)) {
  test(`init refuses every bad ${key} with 400`, async (t) => {
    const user = await sharedUser(service);
    for (const [what, value] of Object.entries(values)) {
      await t.test(what, async () => assertError(await init(user, { ...good, [key]: value }), 400));
    }
  });
}

for (const [what, text] of [
  ['malformed JSON', JSON.stringify(good).slice(0, -1)],
  ['nothing', ''],
  ['null', 'null'],
  ['an array', JSON.stringify([good])],
  ['a text', JSON.stringify(JSON.stringify(good))],
  ['NaN', JSON.stringify(good).replace('"file_size":60', '"file_size":NaN')],
  ['an infinite number', JSON.stringify(good).replace('"file_size":60', '"file_size":1e400')],
  ['two bodies', `${JSON.stringify(good)}${JSON.stringify(good)}`],
] as const) {
  test(`init with ${what} as its body is 400`, async () => {
    assertError(await initText(await sharedUser(service), text), 400);
  });
}

test('a volume of exactly SZ_MAX_VOLUME is taken', async () => {
  const chunks = [c1, { size: MAX_VOLUME, sha256: digest }, c3];
  assertOk(await init(await sharedUser(service), { ...good, chunks }));
});

const entries = (count: number, numbered = false): InitBody['chunks'] =>
  Array.from({ length: count }, (_, at) => ({
    ...(numbered ? { idx: at + 1 } : {}),
    size: 1,
    sha256: digest,
  }));

test('10000 volumes fit the body, with and without numbers; 10001 are 400', async () => {
  const user = await sharedUser(service);
  const many = { ...good, chunk_count: 10_000 };
  assertOk(await init(user, { ...many, chunks: entries(10_000) }));
  assertOk(await init(user, { ...many, chunks: entries(10_000, true) }));
  assertError(await init(user, { ...good, chunk_count: 10_001, chunks: entries(10_001) }), 400);
  assertError(await init(user, { ...many, chunks: entries(10_001) }), 400);
  assertError(await init(user, { ...good, chunk_count: 10_001, chunks: entries(10_000) }), 400);
});

test('numbered entries may stand in any order, also beside unnumbered ones', async () => {
  const user = await sharedUser(service);
  const file = makeFile([10, 20, 30]);
  const [v1, v2, v3] = file.init.chunks as typeof good.chunks & [typeof c1, typeof c1, typeof c1];
  const orders = [
    [
      { ...v3, idx: 3 },
      { ...v1, idx: 1 },
      { ...v2, idx: 2 },
    ],
    [{ ...v2, idx: 2 }, { ...v1, idx: 1 }, v3],
  ];
  for (const chunks of orders) {
    const { fileId } = await upload(user, { volumes: file.volumes, init: { ...file.init, chunks } });
    const answer = await readVolume(user, fileId, 3);
    assert.ok(answer.body.equals(file.volumes[2] as Buffer));
  }
});

test('a body of exactly 1048576 bytes is taken, one more byte is 413', async () => {
  const user = await sharedUser(service);
  const padded = (bytes: number) => {
    const empty = JSON.stringify({ ...good, pad: '' });
    return JSON.stringify({ ...good, pad: 'x'.repeat(bytes - empty.length) });
  };
  assertOk(await initText(user, padded(limits.jsonBodyBytes)));
  assertError(await initText(user, padded(limits.jsonBodyBytes + 1)), 413);
});

test('a chunked body is held to the same limit', async () => {
  const user = await sharedUser(service);
  assertOk(await initText(user, inPieces(Buffer.from(JSON.stringify(good)), 7)));
  const large = Buffer.from(JSON.stringify({ ...good, pad: 'x'.repeat(limits.jsonBodyBytes) }));
  assertError(await initText(user, inPieces(large, 65_536)), 413);
});

test('413 comes by Content-Length alone, before a byte of the body', async () => {
  const user = await sharedUser(service);
  const connection = await RawConnection.open(service.url);
  try {
    connection.write(
      `POST ${pathOf('init')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${limits.jsonBodyBytes + 1}\r\n\r\n`,
    );
    const answer = await connection.until((now) => now.statuses.length > 0, 3000);
    assert.deepEqual(answer.statuses, [413]);
  } finally {
    connection.destroy();
  }
});

test('unknown keys are ignored', async () => {
  const user = await sharedUser(service);
  const chunks = good.chunks.map((chunk) => ({ ...chunk, note: 'x' }));
  assertOk(await init(user, { ...good, chunks, status: 'done', user_id: 'admin', file_id: 'mine' }));
});

test('digests are taken in either case and kept in lower case', async () => {
  const user = await sharedUser(service);
  const file = makeFile([10]);
  const upper = (text: string) => text.toUpperCase();
  const { fileId } = await upload(user, {
    volumes: file.volumes,
    init: {
      ...file.init,
      total_sha256: upper(file.init.total_sha256),
      chunks: file.init.chunks.map((chunk) => ({ ...chunk, sha256: upper(chunk.sha256) })),
    },
  });
  assert.equal((await listFiles(user))[0]?.sha256, file.init.total_sha256);
  assert.ok((await readVolume(user, fileId, 1)).body.equals(file.volumes[0] as Buffer));
});

test('file_size is kept as declared, whatever the volumes add up to', async () => {
  const user = await register(service);
  await upload(user, makeFile([10], { file_size: 0 }));
  await upload(user, makeFile([0], { file_size: 12_345_678_901 }));
  assert.deepEqual(
    (await listFiles(user)).map((file) => file.size),
    [12_345_678_901, 0],
  );
});

for (const [what, sent, kept] of [
  ['separators go', '../a\\b/c.txt', '..abc.txt'],
  ['control characters go', 'a\u0000b\u001fc\u007fd\u0085e\r\nf', 'abcdef'],
  ['surrounding blanks go', ' \t a b \n', 'a b'],
  ['blanks around what separators leave go', '/ a /', 'a'],
  ['255 characters stay', 'n'.repeat(255), 'n'.repeat(255)],
  ['256 characters are cut', 'n'.repeat(256), 'n'.repeat(255)],
  ['characters are code points', '🗄'.repeat(300), '🗄'.repeat(255)],
  ['separators do not count', `${'/'.repeat(300)}x`, 'x'],
  ['other letters stay', 'żółw.txt', 'żółw.txt'],
  ['dots stay', '..', '..'],
] as const) {
  test(`file_name: ${what}`, async () => {
    const user = await sharedUser(service);
    await upload(user, makeFile([1], { file_name: sent }));
    assert.equal((await listFiles(user))[0]?.file_name, kept);
  });
}

test('enc_params may take 12 KiB of base64, and come back whole; one byte more is 400', async () => {
  const user = await sharedUser(service);
  const bytes = (limits.encParamsBase64Bytes / 4) * 3;
  const params = (text: string) => ({ enc_params: { p: text } });
  const room = bytes - JSON.stringify({ p: '' }).length;
  const { fileId } = await upload(user, makeFile([1], params('x'.repeat(room))));
  const header = String((await readVolume(user, fileId, 1)).headers['x-enc-params']);
  assert.equal(header.length, limits.encParamsBase64Bytes);
  assertError(await init(user, makeFile([1], params('x'.repeat(room + 1))).init), 400);
  // Counted in bytes, not in characters.
  assertError(await init(user, makeFile([1], params('ż'.repeat(room / 2 + 1))).init), 400);
});

test('any JSON object is taken as enc_params', async () => {
  const user = await sharedUser(service);
  const texts = [
    '{}',
    '{"":{"":[]}}',
    '{"b":1,"a":[null,true,1.5,"ż\\u0000"]}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"__proto__":{"x":1}}',
  ];
  for (const text of texts) {
    const body = makeFile([0]).init;
    const sent = JSON.stringify(body).replace(ENC_PARAMS, text);
    const answer = await initText(user, sent);
    assertOk(answer);
    const transferId = String(answer.json['transfer_id']);
    await user.call('PUT', pathOf('writeVolume', { transfer_id: transferId, idx: 1 }), { body: '' });
    const done = await user.call('POST', pathOf('complete', { transfer_id: transferId }));
    const header = (await readVolume(user, String(done.json['file_id']), 1)).headers['x-enc-params'];
    assert.equal(Buffer.from(String(header), 'base64').toString(), text);
  }
});

test('dir_id null, absent or 0 is the root', async () => {
  const user = await sharedUser(service);
  const { dir_id: _, ...absent } = good;
  for (const body of [{ ...good, dir_id: null }, { ...good, dir_id: 0 }, absent]) {
    assertOk(await init(user, body));
  }
  await upload(user, makeFile([1], { dir_id: 0 }));
  assert.equal((await listFiles(user))[0]?.dir_id, null);
});

test("dir_id of one's own directory is kept; unknown and foreign are 403 {error}", async () => {
  const [user, other] = [await register(service), await register(service)];
  const [mine, foreign] = [await makeDir(user, 'mine'), await makeDir(other)];
  await upload(user, makeFile([1], { dir_id: mine }));
  const file = (await listFiles(user))[0];
  assert.deepEqual([file?.dir_id, file?.dir_name], [mine, 'mine']);
  assertError(await init(user, { ...good, dir_id: foreign }), 403);
  assertError(await init(user, { ...good, dir_id: 999_999_999 }), 403);
});
