import assert from 'node:assert/strict';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  assertError,
  assertOk,
  assertReadable,
  begin,
  complete,
  filesBelow,
  listFiles,
  makeFile,
  putAll,
  putVolume,
  received,
  register,
  storedOfSize,
  testInFolder,
  useService,
} from '../harness/index.ts';

const service = useService();

/** Where the only file of this size lies. */
async function placeOf(size: number): Promise<string> {
  const found = [...(await filesBelow(service.data))].find(([, bytes]) => bytes === size);
  assert.ok(found);
  return join(service.data, found[0]);
}

testInFolder(
  'an OS failure makes a transfer failed; volumes are taken then, and another caller may complete it',
  async () => {
    const [creator, other] = [await register(service), await register(service)];
    const sizes = [313_131, 20];
    const file = makeFile(sizes);
    const transferId = await begin(creator, file);
    await putAll(creator, transferId, file);
    // A folder stands where the manifest is to be.
    const obstacle = join(dirname(await placeOf(sizes[0]!)), 'manifest.json');
    await mkdir(obstacle);
    for (const caller of [creator, other]) {
      const answer = await complete(caller, transferId);
      assert.equal(answer.status, 409, answer.text);
      assert.deepEqual(answer.json, { status: 'failed', error: answer.json['error'] });
    }
    for (const user of [creator, other]) assert.deepEqual(await listFiles(user), []);

    // PUT is taken as in `uploading`: what is right again and again, what is wrong not.
    assertOk(await putVolume(creator, transferId, 1, file.volumes[0]!), { ok: true });
    assertOk(await putVolume(other, transferId, 2, file.volumes[1]!), { ok: true });
    assertError(await putVolume(creator, transferId, 2, Buffer.alloc(20)), 409);
    assertError(await putVolume(creator, transferId, 3, Buffer.alloc(20)), 409);
    assert.deepEqual(await received(creator, transferId), [1, 2]);

    await rmdir(obstacle);
    const done = await complete(other, transferId);
    assertOk(done);
    const fileId = String(done.json['file_id']);
    assert.deepEqual(
      (await listFiles(other)).map(({ file_id, user_id }) => [file_id, user_id]),
      [[fileId, other.username]],
    );
    assert.deepEqual(await listFiles(creator), []);
    await assertReadable(other, fileId, file);
    assertOk(await complete(creator, transferId), { status: 'done', file_id: fileId });
    assertError(await putVolume(creator, transferId, 1, file.volumes[0]!), 409);
  },
);

testInFolder('complete merges nothing: every volume lies by itself, before and after', async () => {
  const user = await register(service);
  const sizes = [131_311, 131_312, 131_313];
  const file = makeFile(sizes);
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const before = await Promise.all(sizes.map(placeOf));
  const done = await complete(user, transferId);
  assertOk(done);
  assert.deepEqual(await Promise.all(sizes.map(placeOf)), before, 'not even moved');
  for (const size of sizes) assert.equal(await storedOfSize(service, size), 1);
  const largest = Math.max(...sizes);
  const sums = [sizes[0]! + sizes[1]!, sizes[1]! + sizes[2]!, sizes.reduce((sum, size) => sum + size, 0)];
  for (const sum of sums) assert.equal(await storedOfSize(service, sum), 0, `${sum} > ${largest}`);
  await assertReadable(user, String(done.json['file_id']), file);
});
