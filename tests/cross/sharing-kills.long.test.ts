/** get of a link, put to the link of a request, and what is done to deliveries, killed at every step and at sampled moments. */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesSource, type Entry, Szafa, webEngine } from '@szafa/client';
import { freshName, useService } from '../harness/index.ts';
import { loggedIn, PASSWORD } from './account.ts';
import { Between } from './between.ts';
import { Device } from './device.ts';
import { everyStep, isDone, killedAt } from './kills.ts';

const MIB = 1024 * 1024;
const service = useService();

/** An account that is used from here: what it does costs no start of a command. */
function newOwner(): Promise<Szafa> {
  const argon2id = async (secret: Uint8Array, salt: Uint8Array) =>
    new Uint8Array(createHash('sha256').update(secret).update(salt).digest());
  const options = { server: service.url, engine: webEngine({ argon2id }) };
  return Szafa.register(options, { username: freshName(), password: PASSWORD });
}

async function onLine(stack: AsyncDisposableStack) {
  const between = stack.use(await Between.start(service.url));
  const visitor = await Device.make('');
  stack.defer(() => visitor.remove());
  const through = (link: string) => link.replace(service.url, between.url);
  return { between, visitor, through, owner: await newOwner() };
}

/** Nothing is remembered of what is done, and nothing half-finished lies beside it. */
async function assertClean(device: Device): Promise<void> {
  const journal = await readdir(join(device.env['SZ_CONFIG']!, 'journal'));
  const parts = await readdir(device.home, { recursive: true });
  const left = [...journal, ...parts].filter((name) => /\.(journal|part)$/.test(name));
  assert.deepEqual(left, []);
}

async function read(owner: Szafa, path: string): Promise<Buffer> {
  const { fileId, record } = (await owner.tree()).file(path)!.entry;
  const stream = (await owner.openFile(fileId, { record })).stream();
  return Buffer.concat(await Array.fromAsync(stream as unknown as AsyncIterable<Uint8Array>));
}

suite('szafa: what is shared, killed at every step', { concurrency: 2 }, () => {
  /** A link for one download of these files. */
  async function linkTo(owner: Szafa, entries: Entry[]) {
    const items = entries.map((entry) => ({ entry, name: entry.path }));
    const { link, id } = await owner.shareLink(items, { title: 'files', downloads: 1 });
    const downloaded = async () => (await owner.links()).find((one) => one.id === id)!.downloaded;
    return { link, downloaded };
  }

  test('get of a link, killed at any step: the same command again gets it all, and it is one download', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, visitor, through, owner } = await onLine(stack);
    const wanted = new Map([
      ['files/large', randomBytes(150_000)],
      ['files/small', randomBytes(10)],
    ]);
    for (const [path, bytes] of wanted)
      await owner.upload(bytesSource(bytes), { path, volumeSize: 64 * 1024, mtime: 1_700_000_000_000 });
    const entries = await owner.list();
    await everyStep(async (step) => {
      const { link, downloaded } = await linkTo(owner, entries);
      await mkdir(visitor.path(`got ${step}`));
      const get = ['get', through(link), '--output', `got ${step}`, '--json'];
      const over = await killedAt(between, step, get, visitor);
      isDone(over ?? (await visitor.run(get)));
      for (const [path, bytes] of wanted)
        assert.ok((await readFile(visitor.path(`got ${step}/${path}`))).equals(bytes), `step ${step}`);
      assert.equal(await downloaded(), 1, `step ${step}`);
      await assertClean(visitor);
      return over === undefined;
    });
  });

  test('get of a link, killed at any moment, again and again: it goes on, and is one download', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, visitor, through, owner } = await onLine(stack);
    const bytes = randomBytes(32 * MIB - 1);
    await owner.upload(bytesSource(bytes), { path: 'film', volumeSize: MIB / 4 });
    const { link, downloaded } = await linkTo(owner, await owner.list());
    const get = ['get', through(link), '--output', 'film', '--json'];
    const slow = [...get, '--bwlimit', '2M'];
    for (let kill = 0; kill < 5; kill++) {
      const asked = between.requests.length;
      const running = visitor.start(slow);
      // Not before it has reached the server: to start takes most of the time.
      await running.until('a request', () => between.requests.length > asked);
      await sleep(randomInt(1500));
      running.child.kill('SIGKILL');
      assert.equal((await running.ended).signal, 'SIGKILL', 'all of it takes sixteen seconds');
    }
    const last = visitor.start(slow);
    await last.moved(6 * MIB);
    last.child.kill('SIGKILL');
    await last.ended;
    const { resumed } = (await visitor.ok(get)).line('downloaded');
    assert.ok(Number(resumed) > 0, 'nothing was kept');
    assert.ok((await readFile(visitor.path('film'))).equals(bytes));
    assert.equal(await downloaded(), 1);
    await assertClean(visitor);
  });

  test('put by the link of a request, killed at any step: the same command again delivers it, once', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, visitor, through, owner } = await onLine(stack);
    const bytes = randomBytes(150_000);
    await writeFile(visitor.path('film'), bytes);
    await everyStep(async (step) => {
      const { link, id } = await owner.requestLink({ folder: `in ${step}`, files: 1, size: bytes.length });
      const put = ['put', 'film', '--to', through(link), '--volume-size', '64K', '--json'];
      const over = await killedAt(between, step, put, visitor);
      isDone(over ?? (await visitor.run(put)));
      const came = (await owner.deliveries()).filter(({ requestId }) => requestId === id);
      assert.equal(came.length, 1, `step ${step}`);
      assert.ok((await read(owner, await owner.takeOver(came[0]!))).equals(bytes), `step ${step}`);
      const { delivered, uploading } = (await owner.requests()).find((one) => one.id === id)!;
      assert.deepEqual([delivered, uploading], [1, 0], `step ${step}`);
      await assertClean(visitor);
      return over === undefined;
    });
  });

  test('a delivery that is dropped, killed at any step, is still there, in the trash or gone; from the trash it comes back', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    const { link } = (await device.ok(['request', 'in', '--files', '100', '--json'])).line('request');
    await writeFile(device.path('film'), 'delivered');
    const drop = ['deliveries', '--drop', '--all', '--yes', '--json'];
    const count = async (args: string[], type: string) =>
      (await device.ok([...args, '--json'])).lines.filter((line) => line.type === type).length;
    let fromTrash = 0;
    await everyStep(async (step) => {
      await device.ok(['put', 'film', '--to', String(link)]);
      const over = await killedAt(between, step, drop, device);
      const [there, inTrash] = [await count(['deliveries'], 'delivery'), await count(['trash'], 'trashed')];
      assert.ok(there + inTrash <= 1, `step ${step}: ${there} ${inTrash}`);
      if (inTrash > 0) {
        fromTrash++;
        await device.ok(['restore', '/']);
        await device.ok(['deliveries', '--take']);
        assert.equal((await device.ok(['cat', 'in/film'])).stdout, 'delivered');
        await device.ok(['rm', 'in/film']);
        await device.ok(['trash', 'empty', '--yes']);
      } else if (there > 0) isDone(await device.run(drop));
      assert.equal(await count(['deliveries'], 'delivery'), 0, `step ${step}`);
      return over === undefined;
    });
    assert.ok(fromTrash > 0, 'no step left it in the trash');
  });
});
