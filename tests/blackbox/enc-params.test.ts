import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headers as headerNames, limits, pathOf, toBase64 } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  complete,
  ENC_PARAMS,
  inPieces,
  makeFile,
  newTransferId,
  putVolume,
  readVolume,
  sharedUser,
  type User,
  useService,
} from '../harness/index.ts';

const service = useService();
const file = makeFile([500]);
const asJson = { 'content-type': 'application/json' };

/** The JSON of init with enc_params in exactly these words. */
const initText = (params: string) => JSON.stringify(file.init).replace(ENC_PARAMS, () => params);

/** Every way in which what init takes can come. */
const ways: Record<string, (user: User, text: string) => Promise<Answer>> = {
  init: async (user, text) => {
    const begun = await user.call('POST', pathOf('init'), { body: text, headers: asJson });
    if (begun.status !== 200) return begun;
    const transferId = String(begun.json['transfer_id']);
    assertOk(await putVolume(user, transferId, 1, file.volumes[0]!));
    return complete(user, transferId);
  },
  'a file in one request': (user, text) => oneRequest(user, text, file.volumes[0]!),
  'a file in one request, in pieces': (user, text) => oneRequest(user, text, inPieces(file.volumes[0]!)),
};

function oneRequest(user: User, text: string, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Answer> {
  const headers = { [headerNames.init]: toBase64(text) };
  return user.call('PUT', pathOf('writeFile', { transfer_id: newTransferId() }), { body, headers });
}

async function paramsOf(user: User, fileId: string): Promise<string> {
  const answer = await readVolume(user, fileId, 1);
  assert.equal(answer.status, 200, answer.excerpt);
  return Buffer.from(String(answer.headers['x-enc-params']), 'base64').toString();
}

for (const [way, send] of Object.entries(ways)) {
  test(`enc_params come back in the words in which they were sent: ${way}`, async () => {
    const user = await sharedUser(service);
    for (const params of [
      '{"n":9007199254740993,"m":-9007199254740993}',
      '{"n": 123456789012345678901234567890.123456789012345678901234567890}',
      '{"n":1e400,"m":-1E+400,"zero":-0.0,"small":1e-400,"e":1.50E+2}',
      '{"twice":1,"twice":9007199254740993}',
      '{"10":1,"2":2,"b":3,"a":4}',
      '{"\\u0061\\/":"\\u00e9\\ud83d\\uDD11\\u0000\\ud800","é":"🔑"}',
      '{\n\t"spaced" : [ 1 ,\r\n {} ]\n}',
      '{"brackets":"}]\\"{[","\\\\":"\\\\"}',
      '{"__proto__":{"x":9007199254740993}}',
    ]) {
      const done = await send(user, initText(params));
      assertOk(done);
      assert.equal(await paramsOf(user, String(done.json['file_id'])), params);
    }
  });
}

test('of enc_params that stand twice the last ones count, as for any reader of JSON', async () => {
  const user = await sharedUser(service);
  const text = initText('{"first":1}').replace(/\}$/, ', "enc\\u005fparams" : {"last": 1e400} }');
  assert.deepEqual(Object.keys((JSON.parse(text) as { enc_params: object }).enc_params), ['last']);
  const done = await ways['init']!(user, text);
  assertOk(done);
  assert.equal(await paramsOf(user, String(done.json['file_id'])), '{"last": 1e400}');
  const spoilt = initText('{"first":1}').replace(/\}$/, ', "enc_params": 5}');
  assertError(await ways['init']!(user, spoilt), 400);
});

test('a clone has the very same enc_params', async () => {
  const user = await sharedUser(service);
  const params = '{"n": 9007199254740993}';
  const done = await ways['init']!(user, initText(params));
  const copy = await user.post(pathOf('cloneFile', { file_id: String(done.json['file_id']) }), {});
  assertOk(copy);
  assert.equal(await paramsOf(user, String(copy.json['file_id'])), params);
});

test('12 KiB of base64 count for the text that was sent, blanks and all', async () => {
  const user = await sharedUser(service);
  const most = (limits.encParamsBase64Bytes / 4) * 3;
  const padded = (bytes: number) => `{"n":${' '.repeat(bytes - 7)}1}`;
  const done = await ways['init']!(user, initText(padded(most)));
  assertOk(done);
  assert.equal(await paramsOf(user, String(done.json['file_id'])), padded(most));
  assertError(await ways['init']!(user, initText(padded(most + 1))), 400);
});
