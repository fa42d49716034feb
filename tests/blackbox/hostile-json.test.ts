import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import {
  assertError,
  assertOk,
  assertUnharmed,
  ENC_PARAMS,
  inPieces,
  makeFile,
  putVolume,
  register,
  sharedUser,
  type User,
  useService,
} from '../harness/index.ts';

const service = useService();
const asJson = { 'content-type': 'application/json' };

describe('hostile JSON', () => {
  // Not after the tests of other files in the same process.
  afterEach(() => assertUnharmed(service));

  const jsonRoutes = (user: User): [string, string][] => [
    ['POST', pathOf('register')],
    ['POST', pathOf('login')],
    ['POST', pathOf('createDir')],
    ['POST', pathOf('init')],
    ['PUT', pathOf('moveFile', { file_id: user.username })],
    ['POST', pathOf('cloneFile', { file_id: user.username })],
    ['POST', pathOf('pull', { transfer_id: user.username })],
  ];

  for (const [what, body] of [
    ['a lone brace', '{'],
    ['a trailing comma', '{"a": 1,}'],
    ['single quotes', "{'a': 1}"],
    ['NaN', '{"dir_id": NaN}'],
    ['Infinity', '{"dir_id": -Infinity}'],
    ['a bare word', 'undefined'],
    ['a byte order mark and nothing', '\ufeff'],
    ['a NUL', '\u0000'],
    ['invalid UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0xff, 0x22])],
    ['an unended text', '{"username": "abc'],
    ['10000 brackets', '['.repeat(10_000)],
  ] as const) {
    test(`malformed JSON (${what}) is 4xx on every route that takes JSON`, async () => {
      const user = await sharedUser(service);
      for (const [method, path] of jsonRoutes(user)) {
        const answer = await user.call(method, path, { body, headers: asJson });
        // An unknown file or task may be found out before the body is looked at.
        assertError(answer, 400, ...(path.includes(user.username) ? [404] : []));
      }
    });
  }

  test('invalid UTF-8 inside a JSON text is 400, not a name with other letters', async () => {
    const user = await sharedUser(service);
    const body = Buffer.concat([
      Buffer.from('{"name": "a'),
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from('"}'),
    ]);
    const answer = await user.call('POST', pathOf('createDir'), { body, headers: asJson });
    assertError(answer, 400);
  });

  test('half a surrogate pair in a name never makes an answer that cannot be read', async () => {
    const user = await sharedUser(service);
    const text = JSON.stringify(makeFile([0]).init).replace(/"file_name":"[^"]*"/, '"file_name":"a\\ud800b"');
    const begun = await user.call('POST', pathOf('init'), { body: text, headers: asJson });
    assertOk(begun);
    const dir = await user.call('POST', pathOf('createDir'), { body: '{"name":"\\udfff"}', headers: asJson });
    assert.ok([200, 400].includes(dir.status), dir.text);
    assertOk(await user.get(pathOf('listDirs')));
  });

  test('deep nesting is 400 everywhere', async () => {
    const user = await sharedUser(service);
    for (const depth of [5000, 15_000, 100_000]) {
      const [open, close] = ['{"a":'.repeat(depth), '}'.repeat(depth)];
      const nested = `${open}1${close}`;
      const init = JSON.stringify(makeFile([1]).init).replace(ENC_PARAMS, nested);
      assert.ok(init.length < limits.jsonBodyBytes);
      assertError(await user.call('POST', pathOf('init'), { body: init, headers: asJson }), 400);
      const arrays = `{"name": ${'['.repeat(depth)}${']'.repeat(depth)}}`;
      assertError(await user.call('POST', pathOf('createDir'), { body: arrays, headers: asJson }), 400);
    }
  });

  test('enc_params as deep as the limit allows come back', async () => {
    const user = await sharedUser(service);
    const nested = `${'['.repeat(4000)}${']'.repeat(4000)}`;
    const init = JSON.stringify(makeFile([0]).init).replace(ENC_PARAMS, `{"a":${nested}}`);
    const answer = await user.call('POST', pathOf('init'), { body: init, headers: asJson });
    assertOk(answer);
    const transferId = String(answer.json['transfer_id']);
    assertOk(await putVolume(user, transferId, 1, new Uint8Array()));
    const done = await user.post(pathOf('complete', { transfer_id: transferId }));
    const read = await user.get(pathOf('readVolume', { file_id: String(done.json['file_id']), idx: 1 }));
    const text = Buffer.from(String(read.headers['x-enc-params']), 'base64').toString();
    assert.equal(text, `{"a":${nested}}`);
  });

  for (const value of [
    '1e400',
    '-1e400',
    '1e308',
    '9007199254740992',
    '-0.5',
    '0.1',
    '-1',
    '12345678901234567890123',
  ]) {
    test(`the number ${value} in init is 400`, async () => {
      const user = await sharedUser(service);
      const file = makeFile([1, 2]);
      const text = JSON.stringify(file.init);
      for (const key of ['file_size', 'chunk_count', 'size']) {
        const body = text.replace(new RegExp(`"${key}":\\d+`), `"${key}":${value}`);
        assert.notEqual(body, text);
        assertError(await user.call('POST', pathOf('init'), { body, headers: asJson }), 400);
      }
    });
  }

  test('a JSON body over 1 MiB is 413 on every route, announced or not; one of 1 MiB is read', async () => {
    const user = await sharedUser(service);
    const bodyOf = (bytes: number) => JSON.stringify({ pad: 'x'.repeat(bytes - '{"pad":""}'.length) });
    const [most, more] = [bodyOf(limits.jsonBodyBytes), bodyOf(limits.jsonBodyBytes + 1)];
    for (const [method, path] of jsonRoutes(user)) {
      const read = await user.call(method, path, { body: most, headers: asJson });
      // Without a token so long a body is not looked at: as a login it is one of nobody.
      const also = path.includes(user.username) ? [404] : path.startsWith('/api/auth/') ? [401] : [];
      assertError(read, 400, ...also);
      assertError(await user.call(method, path, { body: more, headers: asJson }), 413);
      const pieces = inPieces(Buffer.from(more), 100_000);
      assertError(await user.call(method, path, { body: pieces, headers: asJson }), 413);
    }
  });

  test('keys of the prototype in a body change nothing', async () => {
    const user = await register(service);
    const body = '{"__proto__": {"name": "x", "dir_id": 1}, "constructor": {"prototype": {"name": "y"}}}';
    assertError(await user.call('POST', pathOf('createDir'), { body, headers: asJson }), 400);
    assertOk(await user.get(pathOf('listDirs')), { dirs: [] });
  });
});
