/** What somebody tried with a master key that a rekey has retired, and what happens to a device of the owner that did not know of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBase64Url, newRecoveryKey, parseBag, parseHeader, sealBag, toBase64Url } from '@szafa/format';
import { readKeys } from '../src/accounts/calls.ts';
import { bytesSource, type Pins, RequestVisit, RetiredKeyError, Szafa } from '../src/index.ts';
import { readVolumeHeaders } from '../src/transfers/calls.ts';
import { proxy } from './hostile.ts';
import { hostile, json, newUser, next, optionsFor, sameUser, withFile } from './hostile-account.ts';
import { memoryJournal } from './memory-journal.ts';
import { visiting } from './resealing.ts';
import { content, quick as engine, password, readAll } from './service.ts';

const retired = { code: 'tampered', stage: 'epoch', name: 'RetiredKeyError' };
const bagOf = async (user: Szafa) => parseBag(fromBase64Url((await readKeys(user.api))!));
const epochOf = async (user: Szafa, fileId: string) =>
  parseHeader((await readVolumeHeaders(user.api, fileId, 1)).encParams).epoch;

/** A session, and a process of the same one that still has the master key of before the rekey: as good as a thief with the server's help. */
async function rekeyed(): Promise<{ owner: Szafa; old: Szafa; kept: string }> {
  const old = await newUser();
  const kept = await withFile(old);
  const owner = await sameUser(old);
  await owner.replaceMaster({ password }, undefined);
  const { failed, ...done } = await owner.finishRekey({ password });
  assert.deepEqual(failed, []);
  assert.deepEqual(done, { epoch: 2, files: 1, dirs: 0, shares: 0, requests: 0, retired: true });
  return { owner, old, kept };
}

test('floor: what is made with a retired master key is refused, named, and taken over only when its owner says so', async () => {
  const { owner, old, kept } = await rekeyed();
  const { fileId } = await old.upload(bytesSource(content(7)), { path: 'papers/forged' });
  const plain = await old.upload(bytesSource(content(8)), { path: 'shown', plainName: true });
  const forged = (await owner.list()).find((one) => one.fileId === fileId)!;
  // As the thief sees it.
  const { problem: _, ...entry } = forged;
  const link = await old.shareLink([{ entry, name: 'one' }], { title: 'forged' });
  for (const device of [owner, await sameUser(owner)]) {
    const listed = new Map((await device.list()).map((entry) => [entry.fileId, entry]));
    assert.equal(listed.get(kept)!.verified, true);
    assert.equal(listed.get(fileId)!.verified, false);
    assert.ok(listed.get(fileId)!.problem instanceof RetiredKeyError);
    for (const id of [fileId, plain.fileId]) {
      const { record } = listed.get(id)!;
      await assert.rejects(device.openFile(id, { record }), retired);
      await assert.rejects(device.openFile(id), retired);
    }
    assert.ok((await device.dirs()).every(({ name, verified }) => name !== 'papers' && !verified));
    assert.ok((await device.links())[0]!.problem instanceof RetiredKeyError);
  }
  // Looking for the rest of a rekey takes nothing of it over.
  const { failed, ...nothing } = await owner.finishRekey({ password });
  assert.deepEqual(nothing, { epoch: 2, files: 0, dirs: 0, shares: 0, requests: 0, retired: true });
  const named = new Map(failed.map(({ about, error }) => [about, error.message]));
  assert.deepEqual(new Set(named.keys()), new Set([fileId, plain.fileId, 'papers', link.id]));
  assert.match(named.get(fileId)!, /^"papers\/forged" is under master key 1, which a rekey has retired$/);
  // It was the owner's own process: one file stays refused, the rest is taken over.
  const accept = new Set([fileId, 'papers', link.id]);
  const taken = await owner.finishRekey({ password }, { accept });
  assert.deepEqual([taken.files, taken.dirs, taken.shares], [1, 1, 1]);
  assert.deepEqual(
    taken.failed.map(({ about }) => about),
    [plain.fileId],
  );
  const node = (await owner.tree()).file('papers/forged')!;
  const remote = await owner.openFile(fileId, { record: node.entry.record });
  assert.deepEqual(await readAll(remote.stream()), content(7));
  assert.equal((await owner.links())[0]!.problem, undefined);
});

test('floor: files in the trash under a retired key are reported there, and taken over there', async () => {
  const { owner, old } = await rekeyed();
  const { fileId } = await old.upload(bytesSource(content(7)), { path: 'thrown' });
  await old.trash((await old.list()).filter((entry) => entry.fileId === fileId));
  const { failed } = await owner.reseal();
  assert.deepEqual(
    failed.map(({ about, error }) => [about, error.name]),
    [[fileId, 'RetiredKeyError']],
  );
  assert.equal((await owner.reseal({ accept: new Set([fileId]) })).files, 1);
  assert.ok((await owner.listTrash()).some(({ path, verified }) => path === 'thrown' && verified));
});

test('floor: a process that has not looked at the keys for a while does so before it seals anything', async (t) => {
  const { owner, old } = await rekeyed();
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 31_000);
  const { fileId } = await old.upload(bytesSource(content(7)), { path: 'late' });
  assert.equal(await epochOf(owner, fileId), 2);
  assert.ok((await owner.tree()).file('late'));
});

test('floor: another password alone does not stop a session that has the master key', async (t) => {
  const old = await newUser();
  await old.keys.current();
  const owner = await sameUser(old);
  await owner.changePassword({ password }, next);
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 31_000);
  const { fileId } = await old.upload(bytesSource(content(7)), { path: 'late' });
  assert.equal(await epochOf(owner, fileId), 1);
  assert.equal((await owner.list())[0]!.verified, true);
});

test('floor: an older key bag in the middle of a session is refused, also without pins', async (t) => {
  const user = await newUser();
  const before = await readKeys(user.api);
  const owner = await sameUser(user);
  await owner.replaceMaster({ password }, undefined);
  await owner.finishRekey({ password });
  await owner.keys.current();
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 31_000);
  const rollBack = () => owner.upload(bytesSource(content(7)), { path: 'late' });
  await assert.rejects(
    hostile(
      ({ path, method }) =>
        method === 'GET' && path === '/api/account/keys' ? json({ keys: before! }) : undefined,
      rollBack,
    ),
    { code: 'tampered', stage: 'rollback' },
  );
  assert.deepEqual(await owner.list(), []);
});

test('floor: only raised when nothing is left, kept by every later bag, and not lost by a rekey that is cut off', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const owner = await sameUser(user);
  const floors = async () => {
    const { epoch, floor, json: text } = await bagOf(user);
    return [epoch, floor, text.floor];
  };
  assert.deepEqual(await floors(), [1, 1, undefined]);
  const recoveryKey = newRecoveryKey(engine);
  await owner.replaceMaster({ password }, recoveryKey);
  // Cut off before anything is sealed again, then between that and the floor.
  assert.deepEqual(await floors(), [2, 1, undefined]);
  await owner.reseal();
  assert.deepEqual(await floors(), [2, 1, undefined]);
  assert.equal((await owner.finishRekey({ password })).retired, true);
  assert.deepEqual(await floors(), [2, 2, 2]);
  const { rev } = await bagOf(user);
  await owner.finishRekey({ password });
  assert.equal((await bagOf(user)).rev, rev, 'a second time nothing is written');
  await owner.changePassword({ password }, next);
  await owner.setRecoveryKey({ password: next }, recoveryKey);
  assert.deepEqual(await floors(), [2, 2, 2]);
  const back = await Szafa.recover(optionsFor(proxy.url), {
    username: user.username,
    recoveryKey,
    renew: async () => ({ password, recoveryKey: newRecoveryKey(engine) }),
  });
  const floorNow = async () => (await bagOf(back)).floor;
  assert.equal(await floorNow(), 2);
  await back.replaceMaster({ password }, newRecoveryKey(engine));
  assert.deepEqual([(await bagOf(back)).epoch, await floorNow()], [3, 2]);
  // One thing that cannot be sealed again keeps the earlier key in force, until its owner says otherwise.
  const other = (body: Buffer) => {
    const list = JSON.parse(body.toString());
    return json({ ...list, files: list.files.map((one: object) => ({ ...one, chunk_count: 2 })) });
  };
  await hostile(
    ({ path, body }) => (path.startsWith('/api/files?') ? other(body) : undefined),
    async () => {
      const result = await back.finishRekey({ password });
      assert.deepEqual([result.retired, result.failed.map(({ about }) => about)], [false, [fileId]]);
      assert.equal(await floorNow(), 2);
      assert.equal((await back.finishRekey({ password }, { leaveRest: true })).retired, true);
      assert.equal(await floorNow(), 3);
    },
  );
  // What was left behind comes back when its owner says so.
  const [entry] = await back.list();
  assert.ok(entry!.problem instanceof RetiredKeyError);
  assert.equal((await back.finishRekey({ password }, { accept: new Set([fileId]) })).files, 1);
  assert.equal((await back.list())[0]!.path, 'kept');
});

test('floor: the answer is lost, somebody changes the password meanwhile, two rekeys at once', async () => {
  const user = await newUser();
  await withFile(user);
  const [one, two] = [await sameUser(user), await sameUser(user)];
  await one.replaceMaster({ password }, undefined);
  await one.reseal();
  let lost = 0;
  const losing = hostile(
    ({ path, method }) =>
      method === 'PUT' && path === '/api/account/keys' && lost++ === 0 ? 'cut' : undefined,
    () => one.finishRekey({ password }),
  );
  assert.equal((await losing).retired, true);
  assert.equal((await bagOf(user)).floor, 2);
  // The second process makes a third key while the first is about to retire the keys before its own.
  await one.replaceMaster({ password }, undefined);
  await one.reseal();
  await two.replaceMaster({ password }, undefined);
  await assert.rejects(one.finishRekey({ password }), { code: 'keys-changed' });
  assert.deepEqual([(await bagOf(user)).epoch, (await bagOf(user)).floor], [4, 2]);
  assert.equal((await two.finishRekey({ password })).retired, true);
  assert.equal((await bagOf(user)).floor, 4);
  assert.equal((await two.list())[0]!.verified, true);
  // Between the look at the bag and its replacement.
  await two.replaceMaster({ password }, undefined);
  const third = await sameUser(user);
  let changed = false;
  proxy.before = async (method, path) => {
    if (changed || method !== 'PUT' || path !== '/api/account/keys') return undefined;
    changed = true;
    await third.changePassword({ password }, next);
    return undefined;
  };
  const meanwhile = two.finishRekey({ password }).finally(() => {
    proxy.before = undefined;
  });
  await assert.rejects(meanwhile, (error: { code: string }) =>
    /^(keys-changed|wrong-password)$/.test(error.code),
  );
  assert.equal((await third.finishRekey({ password: next })).retired, true);
  assert.deepEqual([(await bagOf(third)).epoch, (await bagOf(third)).floor], [5, 5]);
});

test('floor: journals and deliveries of before the rekey still open, an upload that was about to complete is sealed again', async () => {
  const user = await newUser();
  const { link } = await user.requestLink({ folder: 'in', files: 2, size: 1000 });
  const visit = await RequestVisit.begin(link, visiting);
  await visit.upload(bytesSource(content(7)), { name: 'came' });
  const journal = memoryJournal();
  const source = () => ({ ...bytesSource(content(4000)), identity: 'the same', place: '/here' });
  const options = { path: 'long', volumeSize: 1000, parallel: 1, journal };
  const retry = { forMs: 100, baseMs: 20, capMs: 20 };
  const hurried = await sameUser(user, { retry });
  proxy.before = (_method, path) => (path.endsWith('/complete') ? 'cut' : undefined);
  await assert.rejects(hurried.upload(source(), options), { code: 'network' });
  proxy.before = undefined;
  const owner = await sameUser(user);
  await owner.replaceMaster({ password }, undefined);
  assert.equal((await owner.finishRekey({ password })).retired, true);
  const { fileId, resumed } = await owner.upload(source(), options);
  assert.equal(resumed, 4);
  assert.equal(await epochOf(owner, fileId), 2);
  assert.ok((await owner.tree()).file('long'));
  const [came] = await owner.deliveries();
  await owner.takeOver(came!, { folder: 'in' });
  assert.ok((await owner.tree()).file('in/came')!.verified);
  assert.ok((await owner.requests()).every(({ problem }) => problem === undefined));
});

function memoryPins(): Pins {
  const pins = new Map<string, string>();
  return {
    of: (username) => ({
      load: async () => (pins.has(username) ? JSON.parse(pins.get(username)!) : undefined),
      save: async (pin) => void pins.set(username, JSON.stringify(pin)),
      forget: async () => void pins.delete(username),
    }),
    services: async () => [],
  };
}

test('floor: the password entry of an old bag, in a newer bag made with the retired key, is refused', async (t) => {
  const old = await newUser();
  await withFile(old);
  const before = await bagOf(old);
  const stolen = (await old.keys.current()).key;
  const pins = memoryPins();
  const secrets = { username: old.username, password };
  const login = () => Szafa.login(optionsFor(proxy.url, { pins }), secrets);
  const owner = await login();
  await owner.replaceMaster({ password }, undefined);
  assert.equal((await owner.finishRekey({ password })).retired, true);
  const unpinned = await sameUser(owner);
  for (const device of [owner, unpinned]) await device.checkKeys();
  // The password is still the same: its entry in the old bag opens, and the old key makes the MAC.
  for (const epoch of [1, 2, 3]) {
    const forged = await sealBag(engine, stolen, { ...before.json, rev: 1000, epoch, floor: epoch });
    const showing = ({ path, method }: { path: string; method: string }) =>
      method === 'GET' && path === '/api/account/keys' ? json({ keys: toBase64Url(forged) }) : undefined;
    const refusal = { code: 'tampered', stage: 'masters' };
    await assert.rejects(
      hostile(showing, async () => (await login()).checkKeys()),
      refusal,
    );
    const now = performance.now.bind(performance);
    const clock = t.mock.method(performance, 'now', () => now() + 31_000 * epoch);
    for (const device of [owner, unpinned]) {
      await assert.rejects(
        hostile(showing, () => device.upload(bytesSource(content(7)), { path: 'secret' })),
        refusal,
      );
      await assert.rejects(
        hostile(showing, () => device.changePassword({ password }, next)),
        refusal,
      );
    }
    clock.mock.restore();
  }
  // The owner's own bags pass, the next master key included.
  await owner.replaceMaster({ password }, undefined);
  assert.equal((await owner.finishRekey({ password })).retired, true);
  await (await login()).checkKeys();
});

test('floor: a pin of the bag with the floor refuses the one before it, on every way in', async () => {
  const store = memoryPins();
  const user = await newUser();
  await user.replaceMaster({ password }, undefined);
  await user.reseal();
  const before = (await readKeys(user.api))!;
  const device = await Szafa.login(optionsFor(proxy.url, { pins: store }), {
    username: user.username,
    password,
  });
  assert.equal((await device.finishRekey({ password })).retired, true);
  const older = hostile(
    ({ path }) => (path === '/api/account/keys' ? json({ keys: before }) : undefined),
    async () => {
      const again = await Szafa.login(optionsFor(proxy.url, { pins: store }), {
        username: user.username,
        password,
      });
      await again.checkKeys();
    },
  );
  await assert.rejects(older, { code: 'tampered', stage: 'rollback' });
});
