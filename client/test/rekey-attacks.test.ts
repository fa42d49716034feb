/** What somebody tried against a new master key: nothing goes back to an earlier one, and no key is used for two plaintexts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRecoveryKey, parseHeader } from '@szafa/format';
import { bytesSource, type Engine, type Szafa } from '../src/index.ts';
import { readVolumeHeaders } from '../src/transfers/calls.ts';
import { proxy, service } from './hostile.ts';
import { changes, hostile, json, newUser, next, sameUser, withFile } from './hostile-account.ts';
import { memoryJournal } from './memory-journal.ts';
import type { Hostility } from './proxy.ts';
import {
  content,
  quick as engine,
  newUser as makeUser,
  password,
  sameUser as sameAccount,
} from './service.ts';

const NAMES = '/api/files/names';
const epochOf = async (user: Szafa, fileId: string) =>
  parseHeader((await readVolumeHeaders(user.api, fileId, 1)).encParams).epoch;

test('rekey: a list that tells another number of volumes makes no name that fits no file', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const device = await sameUser(user);
  await device.replaceMaster({ password }, undefined);
  for (const change of [{ chunk_count: 2 }, { size: 78 }, { sha256: 'ab'.repeat(32) }]) {
    const lying: Hostility = ({ path, body }) => {
      if (!path.startsWith('/api/files?')) return undefined;
      const list = JSON.parse(body.toString());
      return json({ ...list, files: list.files.map((file: object) => ({ ...file, ...change })) });
    };
    const { failed } = await hostile(lying, () => device.reseal());
    assert.deepEqual(
      failed.map(({ about, error }) => [about, error.code]),
      [[fileId, 'tampered']],
    );
    assert.deepEqual(changes(), []);
  }
  assert.equal((await device.reseal()).files, 1);
  const [entry] = await device.list();
  assert.equal((await device.openFile(fileId, { record: entry!.record })).metadata.name, 'kept');
});

test('rekey twice at once on one machine: nothing goes back to an earlier key', async () => {
  const user = await newUser();
  const fileId = await withFile(user);
  const dirId = await user.makeDir('papers');
  // Two processes, one session.
  const [one, two] = [await sameUser(user), await sameUser(user)];
  await one.replaceMaster({ password }, undefined);
  await one.keys.masters();
  await two.replaceMaster({ password }, undefined);
  await two.reseal();
  assert.equal(await epochOf(user, fileId), 3);
  const { failed } = await one.reseal();
  assert.deepEqual(failed, []);
  assert.equal(await epochOf(user, fileId), 3, 'it was taken back');
  assert.deepEqual(
    (await two.dirs()).map((dir) => [dir.dirId, dir.name, dir.verified]),
    [[dirId, 'papers', true]],
  );
  assert.equal((await two.list())[0]!.verified, true);
});

test('an upload that was begun before a rekey goes on after it', async () => {
  const user = await newUser();
  const device = await sameUser(user);
  const journal = memoryJournal();
  const source = () => ({ ...bytesSource(content(4000)), identity: 'the same', place: '/here' });
  const options = { path: 'long', volumeSize: 1000, parallel: 1, journal };
  proxy.before = (_method, path) => (path.endsWith('/chunk/3') ? 'cut' : undefined);
  const hurried = await sameUser(user, { retry: { forMs: 100, baseMs: 20, capMs: 20 } });
  await assert.rejects(hurried.upload(source(), options), { code: 'network' });
  proxy.before = undefined;
  await device.replaceMaster({ password }, undefined);
  await device.reseal();
  proxy.requests.length = 0;
  const { fileId, resumed } = await device.upload(source(), options);
  assert.ok(resumed > 0, 'it began anew');
  assert.equal(journal.entries.size, 0);
  assert.equal(await epochOf(device, fileId), 2);
  const sent = proxy.requests.filter(({ method }) => method === 'PUT').length;
  assert.ok(sent > 0 && sent <= 2, `${sent} of 4 volumes`);
});

/** Every use of a key by this engine: no key and nonce may ever meet two plaintexts, and no key of CTR two inputs with one counter. */
function watching(): { engine: Engine; uses: Map<string, string>; seals: () => number } {
  const uses = new Map<string, string>();
  let seals = 0;
  const note = (kind: string, key: Uint8Array, nonce: Uint8Array, data: Uint8Array) => {
    seals++;
    const use = `${kind} ${key.toHex()} ${nonce.toHex()}`;
    const plain = data.toHex();
    assert.equal(uses.get(use) ?? plain, plain, 'one key and nonce for two plaintexts');
    if (kind === 'gcm') assert.ok(!uses.has(use), 'a key of a seal is used once');
    uses.set(use, plain);
  };
  const watched: Engine = {
    ...engine,
    gcmSeal(key, aad, data, nonce) {
      note('gcm', key, nonce ?? new Uint8Array(12), data);
      return engine.gcmSeal(key, aad, data, nonce);
    },
    async nameCipher(mac, key) {
      const cipher = await engine.nameCipher(mac, key);
      const keyText = key.toHex();
      return {
        mac: (data) => cipher.mac(data),
        async ctr(counter, data) {
          const result = await cipher.ctr(counter, data);
          // Opening shows the same pair as sealing did: the plaintext is the one whose MAC is the counter; note the smaller of the two.
          const [a, b] = [data.toHex(), result.toHex()].sort();
          const use = `ctr ${keyText} ${counter.toHex()}`;
          assert.equal(uses.get(use) ?? `${a}${b}`, `${a}${b}`, 'one counter for two names');
          uses.set(use, `${a}${b}`);
          seals++;
          return result;
        },
      };
    },
  };
  return { engine: watched, uses, seals: () => seals };
}

test('no key and nonce for two plaintexts: passwords, recovery keys, rekeys, cut off and done again', async () => {
  const { engine: watched, seals } = watching();
  const user = await makeUser(service.url, { engine: watched });
  for (const name of ['a', 'b', 'c']) await user.upload(bytesSource(content(5)), { path: name });
  const [first] = await user.list();
  await user.copyTo(first!, 'a copy');
  await user.makeDir('papers');
  const retry = { forMs: 100, baseMs: 20, capMs: 20 };
  const device = await sameAccount(user, proxy.url, { engine: watched, retry });
  let current = password;
  for (let round = 0; round < 3; round++) {
    const other = `${next} ${round}`;
    await device.changePassword({ password: current }, other);
    await device.setRecoveryKey({ password: other }, newRecoveryKey(watched));
    await device.replaceMaster({ password: other }, newRecoveryKey(watched));
    proxy.before = (_method, path) => (path === NAMES ? 'cut' : undefined);
    await device.reseal().catch(() => {});
    proxy.before = undefined;
    let lost = 0;
    const losing: Hostility = ({ path }) => (path === NAMES && lost++ === 0 ? 'cut' : undefined);
    assert.deepEqual((await hostile(losing, () => device.reseal())).failed, []);
    assert.equal((await device.list()).length, 4);
    current = other;
  }
  assert.ok(seals() > 100, `${seals()} seals`);
});
