import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  freshName,
  makeDir,
  makeFile,
  putVolume,
  readVolume,
  received,
  register,
  Service,
  sha256,
  sharedUser,
  storedOfSize,
  testInFolder,
  upload,
  useService,
  volumesInFolder,
  withService,
} from '../harness/index.ts';

const byDefault = useService();
// Longer than a busy machine lets a test wait between two of its requests.
const clocks = useService({
  env: {
    SZ_SESSION_TTL: '5',
    SZ_LOGIN_ATTEMPTS: '2',
    SZ_LOGIN_WAIT: '2',
    SZ_TRANSFER_TTL: '5',
    SZ_SWEEP_INTERVAL: '1',
    SZ_WORKERS: '1',
  },
});

const filesOf = async ({ data }: Service) =>
  (await readdir(data, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());

// Most have a service of their own, or wait for a clock.
describe('settings', { concurrency: 3 }, () => {
  test('everything acknowledged is there after a restart and a kill; tokens and passwords only as hashes', async () => {
    await withService({}, async (service) => {
      const user = await register(service);
      const dirId = await makeDir(user);
      const done = await upload(user, makeFile([500, 600], { dir_id: dirId }));
      const pending = makeFile([10, 20]);
      const transferId = await begin(user, pending);
      await putVolume(user, transferId, 2, pending.volumes[1] as Buffer);
      for (const end of ['gracefully', 'by kill']) {
        if (end === 'by kill') await service.kill9();
        await service.restart();
        assertOk(await user.get(pathOf('me')), { username: user.username });
        await assertReadable(user, done.fileId, done.file);
        assert.deepEqual(await received(user, transferId), [2]);
        assertOk(await complete(user, done.transferId), { status: 'done', file_id: done.fileId });
      }
      await putVolume(user, transferId, 1, pending.volumes[0] as Buffer);
      assertOk(await complete(user, transferId));

      await service.terminate();
      for (const { name, parentPath } of await filesOf(service)) {
        const text = await readFile(join(parentPath, name), 'latin1');
        assert.ok(!text.includes(user.token), `the token stands in ${name}`);
        assert.ok(!text.includes(user.password), `the password stands in ${name}`);
        assert.ok(!text.includes(sha256(Buffer.from(user.password))), `a plain digest stands in ${name}`);
      }
    });
  });

  test('SZ_SESSION_TTL: a token lives on while it is used, and ends when it is not', async () => {
    const user = await register(clocks);
    for (let i = 0; i < 7; i++) {
      await sleep(1000);
      assertOk(await user.get(pathOf('me')));
    }
    await sleep(6500);
    assertDetail(await user.get(pathOf('me')), 401);
    const { username, password } = user;
    const again = await clocks.call({
      method: 'POST',
      path: pathOf('login'),
      json: { username, password },
    });
    assertOk(again);
    // The system token has no lifetime.
    assertOk(await clocks.call({ path: pathOf('me'), token: clocks.systemToken }));
  });

  test('SZ_LOGIN_ATTEMPTS and SZ_LOGIN_WAIT: the limit ends by itself', async () => {
    const { username, password } = await register(clocks);
    const login = (word: string) =>
      clocks.call({ method: 'POST', path: pathOf('login'), json: { username, password: word } });
    assertError(await login('wrong-word'), 401);
    assertError(await login('wrong-word'), 401);
    const limited = await login(password);
    assertError(limited, 429);
    assert.ok(Number(limited.headers['retry-after']) <= 2, 'Retry-After tells the truth');
    await sleep(2500);
    assertOk(await login(password));
  });

  test('SZ_TRANSFER_TTL: an abandoned transfer goes with its volumes, one in use stays', async () => {
    const user = await register(clocks);
    const size = 765_432;
    const file = makeFile([size, 1]);
    const [left, used] = [await begin(user, file), await begin(user, makeFile([10]))];
    const done = await upload(user, makeFile([20]));
    await putVolume(user, left, 1, file.volumes[0] as Buffer);
    for (let i = 0; i < 10; i++) {
      await sleep(1000);
      assert.deepEqual(await received(user, used), []);
    }
    assertError(await user.get(pathOf('received', { transfer_id: left })), 404);
    if (volumesInFolder()) assert.equal(await storedOfSize(clocks, size), 0);
    await assertReadable(user, done.fileId, done.file);
    // A done transfer lives as long as its file, whether anybody asks for it or not.
    assertOk(await complete(user, done.transferId), { status: 'done', file_id: done.fileId });
    assert.deepEqual(await received(user, done.transferId), [1]);
    assertOk(await user.delete(pathOf('deleteFile', { file_id: done.fileId })));
    assertError(await complete(user, done.transferId), 404);
  });

  test('SZ_REGISTRATION=closed; SZ_MIN_FREE: a nearly full disk refuses whatever writes, and still reads', async () => {
    await withService({}, async (service) => {
      const user = await register(service);
      const { username, password } = user;
      const { fileId, file } = await upload(user, makeFile([100]));
      const pending = makeFile([10, 20]);
      const transferId = await begin(user, pending);
      await putVolume(user, transferId, 1, pending.volumes[0] as Buffer);
      const SZ_MIN_FREE = String(Number.MAX_SAFE_INTEGER);
      await service.restart({ env: { SZ_REGISTRATION: 'closed', SZ_MIN_FREE } });
      const post = (path: string, json: unknown) => service.call({ method: 'POST', path, json });
      assertError(await post(pathOf('register'), { username: freshName(), password }), 403);
      assertOk(await post(pathOf('login'), { username, password }));

      // A bucket has no end that could be near.
      if (volumesInFolder()) {
        assertError(await user.post(pathOf('init'), makeFile([1]).init), 507);
        assertError(await putVolume(user, transferId, 2, pending.volumes[1] as Buffer), 507);
        assertError(await user.post(pathOf('cloneFile', { file_id: fileId }), {}), 507);
      }
      assert.deepEqual(await received(user, transferId), [1]);
      await assertReadable(user, fileId, file);
      assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    });
  });

  test('without SZ_SYSTEM_TOKEN one is made, for its owner only, and its place is logged; SZ_SYSTEM_TOKEN_FILE', async () => {
    await withService({ unset: ['SZ_SYSTEM_TOKEN'] }, async (service) => {
      const place = (await readdir(service.data)).find((name) => name.includes('token'));
      assert.ok(place, 'a file in the data folder');
      const path = join(service.data, place);
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      const token = (await readFile(path, 'utf8')).trim();
      assert.ok(token.length >= 22);
      service.witness.keepSecret(token);
      await eventually(async () => assert.ok(service.log.includes(place), 'the place stands in the log'));
      assertOk(await service.call({ path: pathOf('me'), token }), { username: 'admin' });
      await service.restart();
      assert.equal((await readFile(path, 'utf8')).trim(), token, 'the next start keeps it');
      assertOk(await service.call({ path: pathOf('me'), token }), { username: 'admin' });

      const other = 'a-token-from-a-file-0123456789';
      const file = join(service.home, 'secret');
      await writeFile(file, `${other}\n`);
      await service.restart({ env: { SZ_SYSTEM_TOKEN_FILE: file }, unset: ['SZ_SYSTEM_TOKEN'] });
      assertOk(await service.call({ path: pathOf('me'), token: other }), { username: 'admin' });
      assertDetail(await service.call({ path: pathOf('me'), token }), 401);
    });
  });

  test('SZ_TRUST_PROXY: only then an X-Forwarded-For is another address', async () => {
    const env = { SZ_TRUST_PROXY: '127.0.0.0/8', SZ_LOGIN_ATTEMPTS: '1' };
    await withService({ env }, async (service) => {
      const { username } = await register(service);
      const login = (from: string) =>
        service.call({
          method: 'POST',
          path: pathOf('login'),
          json: { username, password: 'wrong-word' },
          headers: { 'x-forwarded-for': from },
        });
      assertError(await login('192.0.2.1'), 401);
      assertError(await login('192.0.2.1'), 429);
      assertError(await login('192.0.2.2'), 401);
      // What stands left of the proxy's own entry was written by the client.
      assertError(await login('198.51.100.9, 192.0.2.1'), 429);
    });
  });

  testInFolder('a deleted volume of a file is 404, its neighbours are read', async () => {
    const user = await sharedUser(byDefault);
    const { fileId } = await upload(user, makeFile([543_210, 10]));
    for (const { name, parentPath } of await filesOf(byDefault)) {
      const path = join(parentPath, name);
      if ((await stat(path)).size === 543_210) await rm(path);
    }
    assertError(await readVolume(user, fileId, 1), 404);
    assert.equal((await readVolume(user, fileId, 2)).status, 200);
    assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  });

  for (const [name, value] of [
    ['SZ_PORT', 'abc'],
    ['SZ_QUOTA', '10GB'],
    ['SZ_REGISTRATION', 'ajar'],
    ['SZ_PULL_ALLOW', '10.0.0.0/99'],
    ['SZ_DATABASE', 'mysql://x'],
    ['SZ_VOLUMES', 'ftp://x'],
    ['SZ_SYSTEM_TOKEN_FILE', '/no/such/file'],
  ] as const) {
    test(`${name}=${value} is refused at the start, by name`, async () => {
      const service = new Service({ env: { [name]: value } });
      try {
        assert.equal(await service.startAndFail(), 2);
        assert.match(service.log, new RegExp(`${name}\\b`));
        assert.ok(!service.log.includes('listens on'), service.log);
      } finally {
        await service.stop();
      }
    });
  }
});
