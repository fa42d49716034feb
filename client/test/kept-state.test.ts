/** What a client finds again: fields that it does not know, records of other processes, versions that are gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  labelBytes,
  labels,
  layoutOf,
  parseHeader,
  resealHeader,
  SALT_BYTES,
  sealHeader,
  unseal,
} from '@szafa/format';
import { bytesSource, type Metadata } from '../src/index.ts';
import { uploadLog } from '../src/transfers/upload/journal.ts';
import { proxy } from './hostile.ts';
import { newUser, sameUser } from './hostile-account.ts';
import { memoryJournal } from './memory-journal.ts';
import { content, quick as engine, readAll } from './service.ts';

test('a header that is sealed again keeps the fields of the metadata that this client does not know', async () => {
  const secrets = { fileId: engine.random(16), fileKey: engine.random(32) };
  const [before, next] = [1, 2].map((epoch) => ({ epoch, key: engine.random(32) })) as [
    { epoch: number; key: Uint8Array<ArrayBuffer> },
    { epoch: number; key: Uint8Array<ArrayBuffer> },
  ];
  const later = { later: { any: ['value'] } };
  const metadata = { name: 'a', size: 5, rev: 1, gen: 1, added: 2, ...later } as Metadata;
  const layout = layoutOf(5);
  const made = await sealHeader(engine, {
    ...secrets,
    layout,
    totalSha256: 'ab'.repeat(32),
    master: before,
    metadata,
  });
  const resealed = await resealHeader(engine, parseHeader({ ...made }), before.key, next, () => ({
    name: 'b',
  }));
  const parsed = parseHeader({ ...resealed.encParams });
  const keys = await engine.hkdf(next.key, parsed.fileId, labelBytes(labels.header), 64);
  const opened = await unseal(engine, keys.subarray(32), labels.metadata, parsed.sealedMetadata);
  assert.ok('plain' in opened);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(opened.plain)), { ...metadata, name: 'b', rev: 2 });
});

test('an upload of which two processes sealed the same volume goes on with the one that the service has', async () => {
  const user = await newUser();
  const journal = memoryJournal();
  const source = () => ({ ...bytesSource(content(4000)), identity: 'the same', place: '/here' });
  const options = { path: 'long', volumeSize: 1000, parallel: 1, journal };
  const hurried = await sameUser(user, { retry: { forMs: 100, baseMs: 20, capMs: 20 } });
  proxy.before = (_method, path) => (path.endsWith('/chunk/3') ? 'cut' : undefined);
  await assert.rejects(hurried.upload(source(), options), { code: 'network' });
  proxy.before = undefined;
  const [key] = [...journal.entries.keys()];
  const masters = (await user.keys.allMasters()).map((master) => master.key);
  const log = uploadLog(journal, key!, engine, masters);
  assert.equal((await log.load())!.volumes.get(1)!.length, 1);
  // Sealed by the other one, and not sent.
  await log.volume(1, { salt: engine.random(SALT_BYTES), digest: engine.random(32) });
  // A record of yet another upload, which was begun in this place before, is none of this one.
  const stranger = memoryJournal();
  const others = uploadLog(stranger, key!, engine, masters);
  const state = {
    transferId: 'x',
    path: 'long',
    place: '/here',
    identity: 'y',
    layout: layoutOf(4000, 1000),
  };
  await others.begin({ ...state, fileId: engine.random(16), fileKey: engine.random(32) });
  const head = stranger.entries.get(key!)!.length;
  await others.volume(2, { salt: engine.random(SALT_BYTES), digest: engine.random(32) });
  await journal.append(key!, stranger.entries.get(key!)!.slice(head));
  const remembered = (await uploadLog(journal, key!, engine, masters).load())!;
  assert.deepEqual(
    [1, 2].map((idx) => remembered.volumes.get(idx)!.length),
    [2, 1],
  );
  const device = await sameUser(user);
  const { fileId, resumed } = await device.upload(source(), options);
  assert.ok(resumed > 0, 'it began anew');
  assert.deepEqual(await readAll((await device.openFile(fileId)).stream()), content(4000));
});

test('a version that was deleted since it was listed is left out, and the others are there', async () => {
  const user = await newUser();
  for (const after of [0, 1, 2]) await user.upload(bytesSource(content(5)), { path: 'v', after });
  const device = await sameUser(user);
  const entries = await device.list();
  await user.remove(entries[1]!.fileId);
  const left = (await device.versions(entries)).map(({ entry, problem }) => [entry.fileId, problem]);
  assert.deepEqual(
    left,
    [entries[0]!, entries[2]!].map(({ fileId }) => [fileId, undefined]),
  );
  assert.deepEqual(await device.versions([entries[1]!]), []);
});
