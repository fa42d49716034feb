import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headers as headerNames, pathOf, toBase64 } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  register,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const asJson = { 'content-type': 'application/json' };
const body = JSON.stringify(makeFile([10]).init).replace(/\}$/, '');

/** Whatever takes a dir_id: init, a file in one request, move, clone. `text` is the value in JSON. */
const takers: Record<string, (user: User, fileId: string, text: string) => Promise<Answer>> = {
  init: (user, _, text) =>
    user.call('POST', pathOf('init'), { body: `${body},"dir_id":${text}}`, headers: asJson }),
  'a file in one request': (user, _, text) => {
    const file = makeFile([10]);
    const init = JSON.stringify(file.init).replace(/\}$/, `,"dir_id":${text}}`);
    const headers = { [headerNames.init]: toBase64(init) };
    const path = pathOf('writeFile', { transfer_id: newTransferId() });
    return user.call('PUT', path, { body: file.volumes[0]!, headers });
  },
  move: (user, fileId, text) =>
    user.call('PUT', pathOf('moveFile', { file_id: fileId }), {
      body: `{"dir_id":${text}}`,
      headers: asJson,
    }),
  clone: (user, fileId, text) =>
    user.call('POST', pathOf('cloneFile', { file_id: fileId }), {
      body: `{"dir_id":${text}}`,
      headers: asJson,
    }),
};

/** Integers all of them, whatever a double makes of them. */
const NOBODYS = [
  '-1',
  '-2',
  '999999999',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '-9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '1e300',
  '-1e300',
  '1e400',
  '9'.repeat(400),
];
const NO_INTEGERS = ['"1"', '""', '"null"', '1.5', '-0.5', 'true', 'false', '[]', '[1]', '{}'];

for (const [what, take] of Object.entries(takers)) {
  test(`${what}: any integer that is no directory of the caller's is 403 {error}`, async () => {
    const user = await sharedUser(service);
    const foreign = await makeDir(await register(service));
    const { fileId } = await upload(user, makeFile([1], { dir_id: await makeDir(user) }));
    const before = await listFiles(user);
    for (const text of [String(foreign), ...NOBODYS]) assertError(await take(user, fileId, text), 403);
    assert.deepEqual(await listFiles(user), before);
  });

  test(`${what}: what is no integer is 400`, async () => {
    const user = await sharedUser(service);
    const { fileId } = await upload(user);
    for (const text of NO_INTEGERS) assertError(await take(user, fileId, text), 400);
  });

  test(`${what}: null and 0 are the root, however 0 is written; a directory of one's own is taken`, async () => {
    for (const text of ['null', '0', '-0', '0.0']) {
      const user = await register(service);
      const { fileId } = await upload(user, makeFile([1], { dir_id: await makeDir(user) }));
      assertOk(await take(user, fileId, text));
      if (what !== 'init') assert.equal((await listFiles(user))[0]?.dir_id, null);
    }
    const user = await sharedUser(service);
    const { fileId } = await upload(user);
    const dirId = await makeDir(user);
    assertOk(await take(user, fileId, `${dirId}.0`));
    if (what !== 'init') assert.equal((await listFiles(user, `?dir_id=${dirId}`)).length, 1);
  });
}
