import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { bytesSource, downloadToFile, nodeEngine, nodeTransport, Szafa } from '@szafa/client/node';
import { SqliteStore } from '../../server/src/platform/sql/sqlite.ts';
import { streamBody } from '../../server/src/platform/volumes/body.ts';
import { FolderStore } from '../../server/src/platform/volumes/folder.ts';
import { newName } from '../../server/src/platform/volumes/names.ts';
import type { AccountDocument, Manifest } from '../../server/src/platform/volumes/store.ts';
import { eventually, register, Service } from '../harness/index.ts';
import { workersOf } from './processes.ts';

/** What processes ask of the system while `work` runs, a line for each call, with the paths behind descriptors. */
async function traced(
  pids: number[],
  calls: string,
  folder: string,
  work: (soFar: () => Promise<string[]>) => Promise<void>,
): Promise<string[]> {
  const out = join(folder, 'trace');
  const args = ['-f', '-y', '-o', out, '-e', `trace=${calls}`, '-e', 'signal=none'];
  const attach = pids.flatMap((pid) => ['-p', String(pid)]);
  const strace = spawn('setpriv', ['--pdeathsig', 'KILL', 'strace', ...args, ...attach], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    strace.once('error', reject);
    strace.once('close', () => reject(new Error(`strace could not attach: ${said}`)));
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (pids.every((pid) => said.includes(`Process ${pid} attached`))) resolve();
    });
  });
  const lines = async () => (await readFile(out, 'utf8')).split('\n');
  try {
    await work(lines);
  } finally {
    const closed = once(strace, 'close');
    strace.kill('SIGINT');
    await closed;
  }
  return lines();
}

/** Whether each of these happened, one after the other. */
function assertInOrder(lines: string[], steps: { [what: string]: RegExp }): void {
  let at = -1;
  for (const [what, pattern] of Object.entries(steps)) {
    const found = lines.findIndex((line, index) => index > at && pattern.test(line));
    assert.ok(found > at, `missing, or too early: ${what}\n${lines.join('\n')}`);
    at = found;
  }
}

const synced = (path: string) => new RegExp(`\\bf(data)?sync\\(\\d+<${path}>`);
const removed = (path: string) => new RegExp(`\\bunlink\\w*\\(.*"${path}"`);
const renamed = (to: string) => new RegExp(`\\b(rename|link)\\w*\\(.*"${to}"`);

/** What was renamed to this place was on disk before: by its descriptor, or because it was opened so. */
function assertDurableBefore(lines: string[], place: string): void {
  const at = lines.findIndex((line) => renamed(place).test(line));
  const from = /"([^"]+)", (?:AT_FDCWD(?:<[^>]*>)?, )?"[^"]+"/.exec(lines[at] ?? '')?.[1];
  assert.ok(from, `nothing is renamed to ${place}:\n${lines.join('\n')}`);
  const before = lines.slice(0, at);
  const isDurable = before.some(
    (line) => synced(from).test(line) || (line.includes(`"${from}"`) && line.includes('O_DSYNC')),
  );
  assert.ok(isDurable, `${place} is renamed before its bytes are on disk:\n${lines.join('\n')}`);
}

const volumeOf = (bytes: Buffer) => ({
  idx: 1,
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const bodyOf = (bytes: Buffer) => streamBody(Readable.from([bytes]));

test('bytes, then fsync, then the name, then the folders: for every way into the store', {
  timeout: 180_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-syncs-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, 'data');
  await FolderStore.prepare(root);
  const store = new FolderStore(root, '0123456789ab');
  // Each in a folder of its own, so that its lines can be told from the others'.
  const [small, large, whole, clone] = ['1', '2', '3', '4'].map((digit) => digit.repeat(32)) as [
    string,
    string,
    string,
    string,
  ];
  const group = (id: string) => join(root, 'volumes', id.slice(0, 2), id);
  const bytes: Record<string, Buffer> = {
    [small]: randomBytes(100),
    [large]: randomBytes(300_000),
    [whole]: randomBytes(100),
  };
  const specOf = (id: string) => volumeOf(bytes[id]!);
  const manifest = (id: string) => ({ file_id: id, volumes: [specOf(id)] }) as Manifest;
  const account = '5'.repeat(32);
  await store.writeAccount({ account_id: account } as AccountDocument);
  const calls = '?open,openat,?rename,renameat,?renameat2,?unlink,unlinkat,fsync,fdatasync';
  const lines = await traced([process.pid], calls, folder, async () => {
    for (const id of [small, large]) await store.put(id, specOf(id), bodyOf(bytes[id]!));
    await store.putFile(manifest(whole), specOf(whole), bodyOf(bytes[whole]!));
    await store.writeManifest(manifest(small));
    await store.copy(whole, clone, [specOf(whole)]);
    await store.removeManifest(small);
    await store.removeAccount(account);
  });
  for (const id of [small, large, whole]) {
    const place = join(group(id), newName(specOf(id)));
    assertDurableBefore(lines, place);
    for (const path of [group(id), dirname(group(id))]) {
      assertInOrder(lines, { 'the name of a volume': renamed(place), [`the sync of ${path}`]: synced(path) });
    }
  }
  const filed = join(group(small), 'manifest.json');
  assertDurableBefore(lines, filed);
  assertInOrder(lines, { 'the name of a manifest': renamed(filed), 'its sync': synced(group(small)) });
  const inOne = lines.find((line) => line.includes(`"${join(group(whole), 'manifest.json')}"`));
  assert.match(inOne ?? '', /O_DSYNC/);
  assertInOrder(lines, {
    'the manifest of a file in one request': new RegExp(`"${join(group(whole), 'manifest.json')}"`),
    'the sync of its folder': synced(group(whole)),
  });
  const accounts = join(root, 'accounts');
  for (const path of [filed, join(accounts, `${account}.json`)]) {
    assertInOrder(lines, { [`the removal of ${path}`]: removed(path), 'its sync': synced(dirname(path)) });
  }
  assertInOrder(lines, {
    'the bytes of a copy': synced(join(group(clone), newName(specOf(whole)))),
    'their name': synced(group(clone)),
    'the name of the group': synced(dirname(group(clone))),
  });
});

test('a download: bytes, then fsync, then the name, then the folder', { timeout: 180_000 }, async (t) => {
  const service = await new Service({ env: { SZ_WORKERS: '1' } }).start();
  t.after(() => service.stop());
  const engine = nodeEngine();
  t.after(() => engine.close());
  const account = { username: 'syncs', password: 'correct horse battery staple' };
  const szafa = await Szafa.register({ server: service.url, engine, transport: nodeTransport() }, account);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'szafa-syncs-')));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // A small file is written and synced in one call, a large one by fsync.
  for (const size of [100, 5_000_000]) {
    const { fileId } = await szafa.upload(bytesSource(randomBytes(size)), { path: `of-${size}` });
    for (const overwrite of [false, true]) {
      const target = join(folder, `${size}-${overwrite}`, 'file');
      await mkdir(dirname(target));
      if (overwrite) await writeFile(target, 'before');
      const remote = await szafa.openFile(fileId);
      const calls = '?open,openat,?rename,renameat,?renameat2,?link,linkat,fsync,fdatasync';
      const lines = await traced([process.pid], calls, folder, async () => {
        await downloadToFile(remote, target, { overwrite });
      });
      assertDurableBefore(lines, target);
      assertInOrder(lines, {
        'the name': renamed(target),
        'the sync of its folder': synced(dirname(target)),
      });
    }
  }
});

test('a transaction that wrote nothing waits for what it found, once', { timeout: 180_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-syncs-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'szafa.db');
  const store = new SqliteStore(path);
  const other = new DatabaseSync(path);
  other.exec('PRAGMA synchronous = NORMAL; CREATE TABLE found (x)');
  const count = async () => {
    const [row] = await store.transaction((sql) =>
      sql.query<{ n: number }>('SELECT COUNT(*) AS n FROM found'),
    );
    return row!.n;
  };
  const syncs: number[] = [];
  await traced([process.pid], 'fdatasync', folder, async (soFar) => {
    const during = async (work: () => Promise<unknown>) => {
      const before = (await soFar()).length;
      await work();
      syncs.push((await soFar()).length - before);
    };
    await during(count);
    await during(count);
    other.exec('INSERT INTO found VALUES (1)');
    await during(async () => assert.equal(await count(), 1));
    await during(count);
    await during(() => store.execute('INSERT INTO found VALUES (2)'));
    await during(() => store.execute('CREATE TABLE more (x)'));
    await during(() => store.execute('DELETE FROM found WHERE x = 3'));
    await during(() => store.execute('DELETE FROM found WHERE x = 3'));
  });
  other.close();
  await store.close();
  // What it wrote itself it has synced; that nothing came since is known from the next look on.
  assert.deepEqual(syncs, [1, 0, 1, 0, 1, 1, 0, 0]);
});

test('a server with nothing to do lets the disk sleep', { timeout: 120_000 }, async (t) => {
  const service = await new Service({ env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' } }).start();
  t.after(() => service.stop());
  await register(service);
  const pids = [service.pid, ...workersOf(service)];
  const round = new RegExp(`open(at)?\\(.*"${service.data}/volumes/store-mark"`);
  const touched = new RegExp(`\\b(p?write(64)?|ftruncate|f(data)?sync)\\(\\d+<${service.data}/`);
  await traced(pids, '?open,openat,write,pwrite64,ftruncate,fsync,fdatasync', service.home, async (soFar) => {
    // The first rounds have something to do.
    await eventually(async () => {
      const lines = await soFar();
      const rounds = lines.flatMap((line, at) => (round.test(line) ? [at] : []));
      assert.ok(rounds.length > 3, 'fewer than three rounds');
      assert.deepEqual(
        lines.slice(rounds.at(-4)).filter((line) => touched.test(line)),
        [],
      );
    }, 30_000);
  });
});
