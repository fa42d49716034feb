/**
 * Everything that ever leaves for the service is collected here, from uploads that are killed at any moment, go on with a journal that is
 * torn or older than they were, run twice at once, read a file that changes, and meet a service that refuses or breaks off. In all
 * of it no key and nonce may have been used for two plaintexts.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import {
  bytesSource,
  type Journal,
  NetworkError,
  nodeEngine,
  nodeTransport,
  type Source,
  Szafa,
  type Transport,
} from '@szafa/client/node';
import { pathOf } from '@szafa/protocol';
import { assertOneUse } from '../../client/test/one-use.ts';
import { freshName, useService, usually } from '../harness/index.ts';
import { loggedIn, PASSWORD } from './account.ts';
import { Recorder } from './recorder.ts';

const service = useService();
const oneIn = (count: number) => randomInt(count) === 0;

class DeathError extends Error {}

/** A process that ends at one of its steps: nothing that it does then, or later, has any effect. */
class Life {
  #left: number;
  constructor(steps: number) {
    this.#left = steps;
  }

  get isOver(): boolean {
    return this.#left <= 0;
  }

  step(): void {
    if (--this.#left <= 0) throw new DeathError();
  }
}

/** What is on the disk, and what was on it before. */
class Disk {
  entries = new Map<string, Buffer>();
  readonly #past: Map<string, Buffer>[] = [];

  journal(life: Life): Journal {
    const change = (key: string, entry: Buffer | undefined) => {
      this.#past.push(new Map(this.entries));
      if (entry) this.entries.set(key, entry);
      else this.entries.delete(key);
    };
    return {
      load: async (key) => this.entries.get(key),
      store: async (key, entry) => {
        life.step();
        change(key, Buffer.from(entry));
        life.step();
      },
      append: async (key, record) => {
        if (life.isOver) throw new DeathError();
        const known = this.entries.get(key);
        if (!known) return;
        try {
          life.step();
        } catch (error) {
          // In the middle of the write.
          change(key, Buffer.concat([known, record.subarray(0, randomInt(record.length))]));
          throw error;
        }
        change(key, Buffer.concat([known, record]));
        life.step();
      },
      remove: async (key) => {
        life.step();
        change(key, undefined);
      },
    };
  }

  /** A restored home folder, or what a power cut has left. */
  setBack(): void {
    if (oneIn(2) && this.#past.length > 0) this.entries = new Map(this.#past[randomInt(this.#past.length)]);
    for (const [key, entry] of oneIn(2) ? this.entries : []) {
      this.entries.set(key, entry.subarray(0, randomInt(entry.length)));
    }
  }
}

suite('szafa: no key and nonce for two plaintexts', () => {
  const SIZE = 1000;
  const engine = nodeEngine();
  const transport = nodeTransport();
  const sent: { method: string; path: string; sent: Uint8Array }[] = [];
  let account: Szafa;
  before(async () => {
    account = await Szafa.register(
      { server: service.url, engine, transport },
      { username: freshName(), password: PASSWORD },
    );
  });
  after(async () => {
    transport.close();
    await engine.close();
  });

  /** A line that notes everything, and on which anything may happen. */
  const line =
    (life: Life, hostile: boolean): Transport =>
    async (request) => {
      life.step();
      const { method, url, body } = request;
      if (body instanceof Uint8Array)
        sent.push({ method, path: new URL(url).pathname, sent: Buffer.from(body) });
      const isPut = method === 'PUT';
      if (hostile && isPut && oneIn(12)) throw new NetworkError('cut on the way');
      const refused = hostile && isPut && oneIn(12) ? [409, 503][randomInt(2)] : undefined;
      if (refused) return { status: refused, header: () => undefined, body: Buffer.from('{"error":"no"}') };
      const response = await transport(request);
      life.step();
      if (hostile && oneIn(12)) throw new NetworkError('cut on the way back');
      return response;
    };

  async function upload(source: Source, disk: Disk, steps: number, hostile: boolean): Promise<string> {
    const life = new Life(steps);
    const options = {
      server: service.url,
      engine,
      transport: line(life, hostile),
      retry: { forMs: 200, baseMs: 1, capMs: 10 },
    };
    const kek = account.keys.kek.slice();
    const szafa = await Szafa.open(options, { username: account.username, token: account.token!, kek });
    const { fileId } = await szafa.upload(source, {
      path: 'one',
      volumeSize: SIZE,
      journal: disk.journal(life),
      parallel: 1 + randomInt(3),
    });
    return fileId;
  }

  test('in the SDK, at every step, with a file whose identity does not tell that it has changed', async () => {
    let deaths = 0;
    for (let round = 0; round < usually(6, 60); round++) {
      const disk = new Disk();
      const bytes = randomBytes(SIZE * (2 + randomInt(5)) - randomInt(2));
      let changed = false;
      const change = () => {
        changed = true;
        bytes[randomInt(bytes.length)]! ^= 1;
      };
      const source = (changing: boolean): Source => ({
        ...bytesSource(bytes),
        identity: 'the same',
        place: 'one',
        async read(offset, length) {
          if (changing && oneIn(8)) change();
          return bytes.slice(offset, offset + length);
        },
      });
      for (let life = 0; life < 1 + randomInt(4); life++) {
        const attempts = Array.from({ length: oneIn(4) ? 2 : 1 }, () =>
          // The first dies for certain, before its first volume.
          upload(source(oneIn(3)), disk, round + life === 0 ? 3 : 1 + randomInt(40), oneIn(2)),
        );
        for (const result of await Promise.allSettled(attempts)) {
          if (result.status === 'rejected' && result.reason instanceof DeathError) deaths++;
        }
        if (oneIn(2)) change();
        if (oneIn(2)) disk.setBack();
      }
      const fileId = await upload(source(false), disk, Number.POSITIVE_INFINITY, false);
      const stored = await Array.fromAsync((await account.openFile(fileId)).stream());
      // Otherwise the volumes that the service had were taken for unchanged, as the identity said.
      if (!changed)
        assert.ok(Buffer.concat(stored).equals(bytes), `round ${round}: what is stored is what was there`);
      assert.equal(disk.entries.size, 0, 'and nothing is remembered any more');
    }
    assert.ok(deaths > 0, 'nothing was killed');
    assert.ok(assertOneUse(sent) > 10);
  });

  test('by the command, with kill -9', async () => {
    await using stack = new AsyncDisposableStack();
    const recorder = stack.use(await Recorder.start(service.url));
    const device = await loggedIn(recorder);
    stack.defer(() => device.remove());
    const VOLUME = 256 * 1024;
    const path = device.path('film');
    const journal = join(device.env['SZ_CONFIG']!, 'journal');
    const entries = async () => (await readdir(journal)).filter((name) => name.endsWith('.journal'));
    const args = ['put', 'film', '--volume-size', '256K', '--retry', '2s', '--json'];
    let kills = 0;
    let times = 0;
    for (let round = 0; round < usually(2, 8); round++) {
      await writeFile(path, randomBytes(VOLUME * 6 - randomInt(2)));
      // The first file of a round is a new one; what the last one left is no part of it.
      await device.run(['rm', '--yes', 'film']);
      const copy = device.path('journal-copy');
      await rm(copy, { recursive: true, force: true });
      for (let attempt = 0; attempt < 1 + randomInt(3); attempt++) {
        recorder.hostile = oneIn(3);
        const running = Array.from({ length: oneIn(4) ? 2 : 1 }, () => device.start(args));
        const kill = () => {
          for (const { child } of running) child.kill('SIGKILL');
        };
        // The first is killed for certain, before its last volume.
        if (round + attempt === 0) recorder.killAt(4, kill);
        else recorder.killAt(randomInt(16), () => setTimeout(kill, randomInt(3) * randomInt(15)));
        if (oneIn(4)) recorder.killAt(randomInt(16), () => void truncate(path, VOLUME * 5));
        const outcomes = await Promise.all(running.map(({ ended }) => ended));
        recorder.forget();
        kills += outcomes.filter(({ signal }) => signal === 'SIGKILL').length;
        if (oneIn(3) && (await readdir(device.home)).includes('journal-copy')) {
          // A restored home folder.
          await cp(copy, journal, { recursive: true, force: true });
        } else if (oneIn(2)) {
          await cp(journal, copy, { recursive: true, filter: (name) => !/\.(alive|db.*)$/.test(name) });
        }
        if (oneIn(3)) {
          // A power cut, before all of it was on the disk.
          for (const name of await entries()) {
            const { length } = await readFile(join(journal, name));
            await truncate(join(journal, name), randomInt(length + 1));
          }
        }
        if (oneIn(4)) {
          await writeFile(path, randomBytes(VOLUME * 6));
          // Another time each: a file of the same size and time would count as the one that is there.
          await utimes(path, 1e9, 1e9 + ++times);
        }
      }
      recorder.hostile = false;
      await device.ok(args);
      const { bytes } = await device.ok(['get', 'film', '--output', '-']);
      assert.ok(bytes.equals(await readFile(path)), `round ${round}: what is stored is what is there`);
      assert.ok((await entries()).length <= 1, 'no journals are left behind');
    }
    assert.ok(kills > 0, 'nothing was killed');
    assert.ok(assertOneUse(recorder.requests) >= 6 * usually(2, 8));
  });

  test('small files that travel together, with kill -9', async () => {
    await using stack = new AsyncDisposableStack();
    const recorder = stack.use(await Recorder.start(service.url));
    const device = await loggedIn(recorder);
    stack.defer(() => device.remove());
    const FILES = 40;
    const ROUNDS = usually(2, 10);
    for (const name of ['many', 'back']) await mkdir(device.path(name));
    let kills = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (let at = 0; at < FILES; at++) {
        await writeFile(device.path(`many/${at}`), randomBytes(1000 + randomInt(20_000)));
        // Another time each round, since a file of the same size may follow.
        await utimes(device.path(`many/${at}`), 1e9, 1e9 + round);
      }
      recorder.hostile = true;
      const { child, ended } = device.start(['put', 'many', '--retry', '2s', '--json']);
      recorder.killAt(2 + randomInt(4), () => child.kill('SIGKILL'));
      if ((await ended).signal === 'SIGKILL') kills++;
      recorder.forget();
      recorder.hostile = false;
      await device.ok(['put', 'many', '--json']);
      await device.ok(['get', 'many', '--yes'], { cwd: device.path('back') });
      for (let at = 0; at < FILES; at++) {
        const [here, there] = await Promise.all(
          ['many', 'back/many'].map((folder) => readFile(device.path(`${folder}/${at}`))),
        );
        assert.ok(here!.equals(there!), `round ${round}, file ${at}: what is stored is what is there`);
      }
    }
    assert.ok(kills > 0, 'nothing was killed');
    assert.ok(recorder.requests.some(({ path }) => path === pathOf('writeFiles')));
    assert.ok(assertOneUse(recorder.requests) >= FILES * ROUNDS);
  });
});
