/** What every volume store promises. One file, so that a store is held against all of it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { GroupGone, VolumeRejected } from '../src/platform/errors.ts';
import { streamBody } from '../src/platform/volumes/body.ts';
import type { AccountDocument, Manifest, OpenVolume, VolumeStore } from '../src/platform/volumes/store.ts';
import {
  bodyOf,
  Collector,
  KIB,
  MIB,
  newId,
  readAll,
  type VolumeEngine,
  volumeOf,
} from './volumes.fixture.ts';

/** Around the sizes at which the receiver and the sender change their ways: pages, small volumes, segments. */
const SIZES = [
  0,
  1,
  4095,
  4096,
  4097,
  64 * KIB,
  64 * KIB + 1,
  128 * KIB,
  128 * KIB + 1,
  MIB - 1,
  MIB,
  MIB + 1,
  2 * MIB,
  3 * MIB + 5,
];

const noneInUse = async () => new Set<string>();

const SAME = 'has other bytes than were put';

/** What every volume store must do, whatever keeps the bytes. One long list: every test works on the two stores made at its top. */
export function volumesContract(name: string, create: () => Promise<VolumeEngine>): void {
  describe(`volume store in ${name}`, () => {
    let engine: VolumeEngine;
    let store: VolumeStore;
    let other: VolumeStore;

    before(async () => {
      engine = await create();
      store = await engine.open('one');
      other = await engine.open('two');
    });
    after(() => engine.destroy());

    const group = async (): Promise<string> => {
      const id = newId();
      await store.create(id);
      return id;
    };

    test('volumes of every size come back byte for byte, from any process', async () => {
      const bytes = SIZES.map((size) => randomBytes(size));
      const volumes = bytes.map((one, at) => volumeOf(one, at + 1));
      const id = await group();
      for (const [at, volume] of volumes.entries()) await store.put(id, volume, bodyOf(bytes[at]!));
      assert.deepEqual(
        await other.received(id),
        volumes.map(({ idx }) => idx),
      );
      for (const [at, { idx }] of volumes.entries()) {
        assert.ok((await readAll(other, id, idx))?.equals(bytes[at]!), `${SIZES[at]} ${SAME}`);
      }
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('the pieces in which a body arrives do not matter', async () => {
      const bytes = randomBytes(2 * MIB + 77);
      const volume = volumeOf(bytes);
      for (const piece of [997, 4096, 65_536, MIB + 3, bytes.length]) {
        const id = await group();
        await store.put(id, volume, bodyOf(bytes, piece));
        assert.ok((await readAll(store, id))?.equals(bytes), `in pieces of ${piece}: ${SAME}`);
      }
    });

    test('a body that is short, long or other is rejected and leaves nothing', async () => {
      for (const size of [0, 1, 4096, 128 * KIB, 128 * KIB + 1, MIB, 3 * MIB + 5]) {
        const bytes = randomBytes(size);
        const volume = volumeOf(bytes);
        const id = await group();
        const long = Buffer.concat([bytes, Buffer.from('x')]);
        await assert.rejects(store.put(id, volume, bodyOf(long)), VolumeRejected, `${size}: one byte more`);
        await assert.rejects(store.put(id, volume, bodyOf(Buffer.concat([bytes, randomBytes(2 * MIB)]))));
        if (size > 0) {
          await assert.rejects(store.put(id, volume, bodyOf(bytes.subarray(1))), VolumeRejected);
          await assert.rejects(store.put(id, volume, bodyOf(Buffer.alloc(0))), VolumeRejected);
          const flipped = Buffer.from(bytes);
          flipped[size - 1]! ^= 1;
          await assert.rejects(store.put(id, volume, bodyOf(flipped)), VolumeRejected, `${size}: one bit`);
        }
        assert.deepEqual(await store.received(id), []);
        assert.equal(await store.open(id, volume), undefined);
        await store.put(id, volume, bodyOf(bytes));
        assert.ok((await readAll(store, id))?.equals(bytes));
      }
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('a rejected body never harms the volume that is there; a good one may come again', async () => {
      const bytes = randomBytes(MIB + 9);
      const volume = volumeOf(bytes);
      const id = await group();
      await store.put(id, volume, bodyOf(bytes));
      await assert.rejects(store.put(id, volume, bodyOf(randomBytes(bytes.length))), VolumeRejected);
      await assert.rejects(other.put(id, volume, bodyOf(bytes.subarray(9))), VolumeRejected);
      assert.ok((await readAll(store, id))?.equals(bytes), SAME);
      await Promise.all(
        Array.from({ length: 6 }, (_, at) => (at % 2 ? store : other).put(id, volume, bodyOf(bytes))),
      );
      assert.ok((await readAll(store, id))?.equals(bytes), SAME);
      assert.deepEqual(await store.received(id), [1]);
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('a body that breaks off leaves nothing, and its error reaches the caller', async () => {
      for (const size of [1000, 200 * KIB, 3 * MIB]) {
        const bytes = randomBytes(size);
        const volume = volumeOf(bytes);
        const id = await group();
        const gone = new Error('the client is gone');
        const body = Readable.from(
          (function* () {
            yield bytes.subarray(0, Math.floor(size * 0.7));
            throw gone;
          })(),
          { objectMode: false },
        );
        await assert.rejects(store.put(id, volume, streamBody(body)), gone);
        assert.deepEqual(await store.received(id), []);
      }
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('many slow bodies at once are all taken, with or without a share of the fast buffers', async () => {
      const bytes = randomBytes(300 * KIB);
      const volumes = Array.from({ length: 48 }, (_, at) => volumeOf(bytes, at + 1));
      const id = await group();
      let waiting = volumes.length;
      const allBegun = Promise.withResolvers<void>();
      const puts = volumes.map((volume) =>
        store.put(
          id,
          volume,
          streamBody(
            Readable.from(
              (async function* () {
                yield bytes.subarray(0, 100_000);
                if (--waiting === 0) allBegun.resolve();
                await allBegun.promise;
                yield bytes.subarray(100_000);
              })(),
              { objectMode: false },
            ),
          ),
        ),
      );
      await Promise.all(puts);
      assert.equal((await store.received(id)).length, volumes.length);
      const read = await Promise.all(volumes.map(({ idx }) => readAll(store, id, idx)));
      for (const one of read) assert.ok(one?.equals(bytes), SAME);
    });

    test('any range can be sent', async () => {
      const bytes = randomBytes(3 * MIB + 5);
      const volume = volumeOf(bytes);
      const id = await group();
      await store.put(id, volume, bodyOf(bytes));
      const open = (await store.open(id, volume))!;
      assert.equal(open.size, bytes.length);
      const edges = [0, 1, 4096, 65_535, 65_536, MIB - 1, MIB, 2 * MIB + 1, bytes.length - 1, bytes.length];
      for (const start of edges) {
        for (const end of edges.filter((edge) => edge >= start)) {
          const sink = new Collector();
          await open.send(sink, start, end);
          assert.ok(sink.bytes.equals(bytes.subarray(start, end)), `${start}-${end}`);
        }
      }
      await open.close();
    });

    test('a sink that fails in the middle ends the sending', async () => {
      const bytes = randomBytes(4 * MIB);
      const volume = volumeOf(bytes);
      const id = await group();
      await store.put(id, volume, bodyOf(bytes));
      for (let round = 0; round < 40; round++) {
        const open = (await store.open(id, volume))!;
        let taken = 0;
        const broken = new Writable({
          write: (_chunk, _encoding, done) => done(++taken > 2 ? new Error('the peer is gone') : null),
        });
        broken.on('error', () => undefined);
        await assert.rejects(open.send(broken, 0, open.size), /the peer is gone|destroyed/);
        await open.close();
      }
      assert.ok((await readAll(store, id))?.equals(bytes), 'the buffers came back unharmed');
    });

    test('two bodies of one number lie side by side, and each is found by its digest', async () => {
      const bytes = [randomBytes(300 * KIB), randomBytes(300 * KIB)];
      const volumes = bytes.map((one) => volumeOf(one, 7));
      const id = await group();
      await Promise.all(volumes.map((volume, at) => store.put(id, volume, bodyOf(bytes[at]!))));
      assert.deepEqual(await other.received(id), [7]);
      const byDigest = (a: { sha256: string }, b: { sha256: string }) => (a.sha256 < b.sha256 ? -1 : 1);
      assert.deepEqual(
        (await other.list(id)).sort(byDigest),
        volumes.map(({ idx, sha256 }) => ({ idx, sha256 })).sort(byDigest),
      );
      assert.equal(await other.withdraw(id, volumes[0]!, async () => false), true);
      assert.equal(await store.open(id, volumes[0]!), undefined);
      assert.ok((await readAll(store, id, 7))?.equals(bytes[1]!), SAME);
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('what is not there is not opened; an unknown group has received nothing', async () => {
      const volume = volumeOf(randomBytes(5), 2);
      const id = await group();
      for (const idx of [0, 1, 3, -1, 1.5, Number.NaN, 10_001]) {
        assert.equal(await store.open(id, { ...volume, idx }), undefined, `volume ${idx}`);
      }
      for (const sha256 of ['', '../x', volume.sha256.toUpperCase(), 'ab'.repeat(32)]) {
        assert.equal(await store.open(id, { ...volume, sha256 }), undefined, sha256);
      }
      assert.equal(await store.open(newId(), volume), undefined);
      assert.deepEqual(await store.received(newId()), []);
      for (const bad of ['', '..', '../../x', id.toUpperCase().replace(/[0-9]/g, 'A'), `${id}/1`]) {
        await assert.rejects(async () => store.open(bad, volume), TypeError, JSON.stringify(bad));
      }
    });

    test('a group that goes away while a body comes in is an unknown transfer', async () => {
      const bytes = randomBytes(300 * KIB);
      const volume = volumeOf(bytes);
      const id = await group();
      const body = streamBody(
        Readable.from(
          (async function* () {
            yield bytes.subarray(0, 1000);
            await other.remove(id);
            yield bytes.subarray(1000);
          })(),
          { objectMode: false },
        ),
      );
      await assert.rejects(store.put(id, volume, body), (error) => error instanceof GroupGone);
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('a volume that is not right is withdrawn and may come again; one that is right stays, and one that came in meanwhile', async () => {
      const bytes = [randomBytes(300 * KIB), randomBytes(5)];
      const volumes = bytes.map((one, at) => volumeOf(one, at + 1));
      const id = await group();
      for (const [at, volume] of volumes.entries()) await store.put(id, volume, bodyOf(bytes[at]!));
      const seen = new Collector();
      const wrong = async (volume: OpenVolume) => {
        await volume.send(seen, 0, volume.size);
        return false;
      };
      assert.equal(await other.withdraw(id, volumes[0]!, wrong), true);
      assert.ok(seen.bytes.equals(bytes[0]!), 'it is shown what is there');
      assert.deepEqual(await store.received(id), [2]);
      assert.equal(await other.withdraw(id, volumes[0]!, wrong), true, 'it is not here');
      await store.put(id, volumes[0]!, bodyOf(bytes[0]!));

      assert.equal(await other.withdraw(id, volumes[0]!, async () => true), false);
      const late = async () => {
        await store.put(id, volumes[0]!, bodyOf(bytes[0]!));
        return false;
      };
      await other.withdraw(id, volumes[0]!, late);
      await assert.rejects(
        other.withdraw(id, volumes[0]!, () => Promise.reject(new Error('unreadable'))),
        /unreadable/,
      );
      assert.deepEqual(await store.received(id), [1, 2]);
      for (const at of [0, 1]) assert.ok((await readAll(store, id, at + 1))?.equals(bytes[at]!), SAME);
      assert.equal(await other.withdraw(newId(), volumes[0]!, wrong), true);
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('the record lies beside the volumes, with all of them, and may be written again', async () => {
      const bytes = randomBytes(3);
      const few = [volumeOf(bytes), volumeOf(randomBytes(4), 2)];
      const id = await group();
      await store.put(id, few[0]!, bodyOf(bytes));
      const manifest: Manifest = {
        file_id: id,
        file_name: 'ż',
        size: 7,
        sha256: 'ab'.repeat(32),
        account_id: 'cd'.repeat(16),
        owner: 'ann',
        dir_id: 0,
        chunk_count: 2,
        created_at: '2026-01-01T00:00:00.000Z',
        enc_params: '{"k": [1.0, null]}',
        rev: 3,
        volumes: few,
      };
      await Promise.all([store.writeManifest(manifest), other.writeManifest(manifest)]);
      assert.deepEqual(await other.manifest(id), manifest);
      await store.writeManifest({ ...manifest, dir_id: 9 });
      assert.deepEqual(await other.manifest(id), { ...manifest, dir_id: 9 });
      assert.deepEqual(await store.received(id), [1], 'documents are no volumes');
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('a manifest is taken away alone, also where there is none', async () => {
      const bytes = randomBytes(3);
      const id = newId();
      const manifest = { file_id: id, chunk_count: 1, volumes: [volumeOf(bytes)] } as Manifest;
      await store.putFile(manifest, volumeOf(bytes), bodyOf(bytes));
      await Promise.all([store.removeManifest(id), other.removeManifest(id), store.removeManifest(newId())]);
      await store.removeManifest(id);
      assert.equal(await other.manifest(id), undefined);
      assert.ok((await readAll(other, id))?.equals(bytes), SAME);
      await store.writeManifest(manifest);
      assert.deepEqual(await other.manifest(id), manifest);
      // A group that was removed does not come back by this.
      await store.remove(id);
      await store.removeManifest(id);
      assert.equal(await other.manifest(id), undefined);
    });

    test('documents of accounts are kept, replaced and listed; they are no groups', async () => {
      const groups = (await Array.fromAsync(store.groups())).length;
      const account = (over: Partial<AccountDocument> = {}): AccountDocument => ({
        account_id: newId(),
        username: 'ann',
        password_hash: '$argon2id$…',
        created_at: '2026-01-01T00:00:00.000Z',
        dirs: [{ dir_id: 7, name: 'Müll/ \n"', created_at: '2026-01-02T00:00:00.000Z' }],
        rev: 1,
        ...over,
      });
      const [first, second] = [account(), account({ account_id: 'admin', password_hash: null })];
      await Promise.all([store.writeAccount(first), other.writeAccount(second)]);
      await other.writeAccount({ ...first, dirs: [], rev: 2 });
      assert.deepEqual(await store.account(first.account_id), { ...first, dirs: [], rev: 2 });
      assert.deepEqual(await store.account('admin'), second);
      assert.equal(await store.account(newId()), undefined);
      assert.deepEqual((await Array.fromAsync(store.accounts())).sort(), [first.account_id, 'admin'].sort());
      assert.equal((await Array.fromAsync(store.groups())).length, groups);
      for (const id of ['', '../x', 'a/b', 'A', 'x'.repeat(33)]) {
        await assert.rejects(store.account(id), TypeError);
        await assert.rejects(store.writeAccount(account({ account_id: id })), TypeError);
        await assert.rejects(store.removeAccount(id), TypeError);
      }
      for (let times = 0; times < 2; times++) await other.removeAccount(first.account_id);
      assert.equal(await store.account(first.account_id), undefined);
      assert.deepEqual(await Array.fromAsync(store.accounts()), ['admin']);
      assert.deepEqual(await engine.leftovers(), []);
    });

    test('a copy has bytes of its own, of the volumes that were named; the source may go', async () => {
      const bytes = [1, 4096, MIB + 1, 0, 77, 5, 6, 7, 8, 9].map((size) => randomBytes(size));
      const volumes = bytes.map((one, at) => volumeOf(one, at + 1));
      const from = await group();
      for (const [at, volume] of volumes.entries()) await store.put(from, volume, bodyOf(bytes[at]!));
      const to = newId();
      const stray = randomBytes(3);
      await store.put(from, volumeOf(stray), bodyOf(stray));
      await store.copy(from, to, volumes);
      await store.remove(from);
      await store.reclaim(noneInUse);
      assert.equal((await other.list(to)).length, volumes.length);
      for (const [at, { idx }] of volumes.entries()) {
        assert.ok((await readAll(other, to, idx))?.equals(bytes[at]!), SAME);
      }
      await assert.rejects(store.copy(from, newId(), volumes), 'the source is no more');
      const taken = await group();
      await store.put(taken, volumes[0]!, bodyOf(bytes[0]!));
      await assert.rejects(store.copy(to, taken, volumes), 'the target exists');
    });

    test('a removed group is gone at once, for everyone; removing may be repeated, also at once', async () => {
      const volume = volumeOf(randomBytes(MIB));
      const id = await group();
      await Promise.all([store.remove(id), other.remove(id), store.remove(id)]);
      await store.remove(id);
      await store.remove(newId());
      assert.equal(await other.open(id, volume), undefined);
      assert.deepEqual(await other.received(id), []);
      await Promise.all([store.reclaim(noneInUse), other.reclaim(noneInUse)]);
      await store.reclaim(noneInUse);
    });

    test('a volume that is being sent survives the removal of its group', async () => {
      const bytes = randomBytes(3 * MIB);
      const volume = volumeOf(bytes);
      const id = await group();
      await store.put(id, volume, bodyOf(bytes));
      const open = (await store.open(id, volume))!;
      await other.remove(id);
      await other.reclaim(noneInUse);
      const sink = new Collector();
      await open.send(sink, 0, open.size);
      await open.close();
      assert.ok(sink.bytes.equals(bytes), SAME);
    });

    test('groups lists every group once, with the time of its last change', async () => {
      const since = Date.now() - 5000;
      const bytes = randomBytes(1);
      const made = await Promise.all([1, 2, 3].map(() => group()));
      for (const id of made) await store.put(id, volumeOf(bytes), bodyOf(bytes));
      await store.remove(made[2]!);
      const found = await Array.fromAsync(store.groups());
      const seen = new Set(found.map(({ id }) => id));
      assert.equal(seen.size, found.length);
      const ids = [...seen];
      assert.deepEqual(ids, ids.toSorted(), 'in order');
      for (const after of [ids[0]!, ids.at(-2)!, ids.at(-1)!]) {
        const rest = await Array.fromAsync(store.groups(after), ({ id }) => id);
        assert.deepEqual(rest, ids.slice(ids.indexOf(after) + 1));
      }
      assert.deepEqual(
        made.map((id) => seen.has(id)),
        [true, true, false],
      );
      for (const { id, changedAt } of found) {
        if (made.includes(id)) assert.ok(changedAt >= since && changedAt <= Date.now() + 5000);
      }
    });

    test('notes are kept, replaced, and no groups', async () => {
      const before = (await Array.fromAsync(store.groups())).length;
      assert.equal(await store.readNote('store-mark'), undefined);
      for (const text of ['one', 'two']) {
        await store.writeNote('store-mark', text);
        assert.equal(await other.readNote('store-mark'), text);
      }
      assert.equal(await other.readNote('store-id'), undefined);
      assert.equal((await Array.fromAsync(store.groups())).length, before);
    });

    test('a group is filed once it has a manifest', async () => {
      const bytes = randomBytes(1);
      const id = await group();
      await store.put(id, volumeOf(bytes), bodyOf(bytes));
      assert.equal(await store.hasManifest(id), false);
      await store.writeManifest({ file_id: id, chunk_count: 1, volumes: [volumeOf(bytes)] } as Manifest);
      assert.equal(await other.hasManifest(id), true);
      assert.equal(await other.hasManifest(newId()), false);
    });

    test('it answers a ping', () => store.ping());
  });
}
