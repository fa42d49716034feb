import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  admin,
  assertError,
  assertOk,
  begin,
  complete,
  makeFile,
  putAll,
  register,
  STRICT_QUOTA,
  type User,
  upload,
  useService,
  withService,
} from '../harness/index.ts';

const service = useService({ env: { SZ_QUOTA: '3000', SZ_WORKERS: '1' } });
const byDefault = useService();
const strict = useService(STRICT_QUOTA);
const quota = (user: User) => user.get(pathOf('quota'));
const tiny = (fileSize: number) => makeFile([1], { file_size: fileSize });

test('percent is rounded to one decimal, remain never falls below 0, nothing is refused', async () => {
  const user = await register(service);
  const rows = [
    [0, 0, 3000, 0],
    [1, 1, 2999, 0],
    [2, 3, 2997, 0.1],
    [997, 1000, 2000, 33.3],
    [1000, 2000, 1000, 66.7],
    [999, 2999, 1, 100],
    [1, 3000, 0, 100],
    [1000, 4000, 0, 133.3],
  ] as const;
  for (const [add, used, remain, percent] of rows) {
    if (add > 0) await upload(user, tiny(add));
    assertOk(await quota(user), {
      used_bytes: used,
      quota_bytes: 3000,
      remain_bytes: remain,
      percent,
    });
  }
});

test('used is the sum of the declared sizes of files; transfers do not count before complete', async () => {
  const user = await register(service);
  const file = makeFile([100], { file_size: 5 });
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  assert.equal((await quota(user)).json['used_bytes'], 0);
  assertOk(await complete(user, transferId));
  assert.equal((await quota(user)).json['used_bytes'], 5);
});

test('each account has its own quota, admin too', async () => {
  const [user, other] = [await register(service), await register(service)];
  await upload(user, tiny(100));
  assert.equal((await quota(other)).json['used_bytes'], 0);
  assert.equal((await quota(admin(service))).json['used_bytes'], 0);
});

test('declared sizes at the edge of safe integers do not break the quota or the lists', async () => {
  const user = await register(service);
  for (let i = 0; i < 3; i++) await upload(user, tiny(Number.MAX_SAFE_INTEGER));
  const answer = await quota(user);
  assertOk(answer);
  assert.ok(Number(answer.json['used_bytes']) >= Number.MAX_SAFE_INTEGER);
  assert.equal(answer.json['remain_bytes'], 0);
  assertOk(await user.get(pathOf('listFiles')));
  assertOk(await user.get(pathOf('listDirs')));
});

test('the default is 10 GiB', async () => {
  const user = await register(byDefault);
  await upload(user, tiny(1024 ** 3));
  assertOk(await quota(user), {
    used_bytes: 1024 ** 3,
    quota_bytes: 10 * 1024 ** 3,
    remain_bytes: 9 * 1024 ** 3,
    percent: 10,
  });
});

test('SZ_QUOTA=0 is 0 percent', async () => {
  await withService({ env: { SZ_QUOTA: '0' } }, async (own) => {
    const user = await register(own);
    await upload(user, tiny(1000));
    assertOk(await quota(user), { used_bytes: 1000, quota_bytes: 0, remain_bytes: 0, percent: 0 });
  });
});

test('SZ_QUOTA_ENFORCE=1 answers 507 at init when files, transfers and this one pass the quota', async () => {
  const [user, other] = [await register(strict), await register(strict)];
  const init = (file = makeFile()) => user.post(pathOf('init'), file.init);
  // Exactly full is not over; the larger of declared and stored bytes counts.
  assertError(await init(makeFile([1001], { file_size: 1 })), 507);
  assertError(await init(makeFile([1], { file_size: 1001 })), 507);
  const full = await begin(user, makeFile([400, 600], { file_size: 10 }));
  assertError(await init(tiny(1)), 507);
  assertOk(await user.delete(pathOf('cancel', { transfer_id: full })));
  const pending = makeFile([600]);
  const transferId = await begin(user, pending);
  assertError(await init(makeFile([401])), 507);
  assertOk(await other.post(pathOf('init'), makeFile([1000]).init));
  await putAll(user, transferId, pending);
  const done = await complete(user, transferId);
  assertOk(done);
  // A done transfer and its file count once.
  assertError(await init(makeFile([401])), 507);
  const second = await upload(user, makeFile([400]));
  assertError(await init(tiny(1)), 507);
  assertError(await user.post(pathOf('cloneFile', { file_id: second.fileId }), {}), 507);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: String(done.json['file_id']) })));
  assertOk(await init(makeFile([600])));
});
