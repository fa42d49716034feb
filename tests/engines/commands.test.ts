import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { SqliteStore } from '../../server/src/metadata/sqlite.ts';
import {
  assertReadable,
  begin,
  checkInvariants,
  complete,
  listFiles,
  makeDir,
  makeFile,
  putVolume,
  received,
  register,
  Service,
  type Uploaded,
  User,
  upload,
} from '../harness/index.ts';
import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

const MAIN = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

let postgres: Postgres;
let ceph: Ceph;
let home = '';
before(async () => {
  [postgres, ceph] = await Promise.all([Postgres.start(), Ceph.start()]);
  home = await mkdtemp(join(tmpdir(), 'szafa-commands-'));
});
after(async () => {
  await Promise.all([postgres?.stop(), ceph?.stop()]);
  await rm(home, { recursive: true, force: true });
});

interface Result {
  code: number;
  lines: Record<string, unknown>[];
  errors: string;
}

/** Runs a command of the service to its end. */
async function run(args: string[], env: Record<string, string> = {}): Promise<Result> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', ...ceph.environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const [out, errors] = [child.stdout, child.stderr].map(async (stream) => {
    let text = '';
    for await (const part of stream.setEncoding('utf8')) text += part;
    return text;
  });
  const [code] = (await once(child, 'exit')) as [number];
  const text = await out!;
  const lines = args.includes('--json') ? text.trim().split('\n').filter(Boolean) : [];
  return { code, lines: lines.map((line) => JSON.parse(line)), errors: (await errors!) + text };
}

/** The stores of a service that has its own part of the engines. */
const large = (id: string) => ({ SZ_DATABASE: `${postgres.url}?schema=${id}`, SZ_VOLUMES: ceph.url(id) });

interface Content {
  user: User;
  files: Uploaded[];
  transferId: string;
  pending: ReturnType<typeof makeFile>;
  dirId: number;
}

async function fill(service: Service): Promise<Content> {
  const user = await register(service);
  const dirId = await makeDir(user, 'papers');
  const files = [
    await upload(user, makeFile([1_200_000, 5])),
    await upload(user, makeFile([0, 70_000], { dir_id: dirId })),
  ];
  const pending = makeFile([100, 200]);
  const transferId = await begin(user, pending);
  await putVolume(user, transferId, 2, pending.volumes[1]!);
  return { user, files, transferId, pending, dirId };
}

/** All that was there is there, and life goes on: an upload is finished, a directory and a file get new numbers. */
async function assertSame(service: Service, content: Content): Promise<void> {
  const user = new User(service, content.user.username, content.user.password, content.user.token);
  for (const { fileId, file } of content.files) await assertReadable(user, fileId, file);
  assert.deepEqual(await received(user, content.transferId), [2]);
  assert.equal((await putVolume(user, content.transferId, 1, content.pending.volumes[0]!)).status, 200);
  assert.equal((await complete(user, content.transferId)).status, 200);
  assert.equal((await listFiles(user)).length, content.files.length + 1);
  assert.ok((await makeDir(user, 'new')) > content.dirId);
  await checkInvariants(service, user.token);
}

test('migrate moves from the folder to PostgreSQL and S3, goes on where it was broken off, and back', async () => {
  const small = new Service({ env: { SZ_WORKERS: '1' } });
  await small.start();
  const content = await fill(small);
  const id = small.id;
  const running = await run([
    'migrate',
    '--from',
    small.data,
    '--to',
    `${large(id).SZ_DATABASE},${large(id).SZ_VOLUMES}`,
  ]);
  assert.equal(running.code, 1, 'the service runs');
  await small.terminate();

  // A store with one broken volume is not migrated, and what did go over is not sent again.
  const { fileId } = content.files[0]!;
  const damaged = join(small.data, 'volumes', fileId.slice(0, 2), fileId, '1');
  const bytes = await readFile(damaged);
  await writeFile(damaged, Buffer.concat([bytes.subarray(1), Buffer.from('x')]));
  const up = [
    'migrate',
    '--json',
    '--from',
    small.data,
    '--to',
    `${large(id).SZ_DATABASE},${large(id).SZ_VOLUMES}`,
  ];
  const first = await run(up);
  assert.equal(first.code, 1, first.errors);
  assert.ok(
    first.lines.some((line) => line['problem'] === 'volumes with other bytes' && line['file'] === fileId),
  );
  await writeFile(damaged, bytes);
  const second = await run(up);
  assert.equal(second.code, 0, second.errors);
  assert.equal(second.lines.at(-1)!['volumes'], 1, 'only the one that was missing');
  assert.equal((await run(up)).code, 2, 'a database that is not empty is no target');

  const node = new Service({ env: { SZ_WORKERS: '1', ...large(id), ...ceph.environment } });
  await node.start();
  await assertSame(node, content);
  await node.terminate();

  const back = join(home, 'back');
  const down = await run([
    'migrate',
    '--json',
    '--from',
    `${large(id).SZ_DATABASE},${large(id).SZ_VOLUMES}`,
    '--to',
    back,
  ]);
  assert.equal(down.code, 0, down.errors);
  const again = new Service({ env: { SZ_WORKERS: '1', SZ_DATA: back } });
  await again.start();
  const user = new User(again, content.user.username, content.user.password, content.user.token);
  for (const { fileId: one, file } of content.files) await assertReadable(user, one, file);
  await checkInvariants(again, user.token);
  await Promise.all([small.discard(), node.discard(), again.discard()]);
});

for (const kind of ['folder', 'S3'] as const) {
  test(`fsck finds and repairs what can be repaired, beside the running service: ${kind}`, async () => {
    const service = new Service({
      env: { SZ_WORKERS: '1', ...(kind === 'S3' ? { ...large('fsck'), ...ceph.environment } : {}) },
    });
    await service.start();
    const { user, files } = await fill(service);
    const env = kind === 'S3' ? large('fsck') : { SZ_DATA: service.data };
    const clean = await run(['fsck', '--json'], env);
    assert.equal(clean.code, 0, clean.errors);
    assert.equal(clean.lines.at(-1)!['volumes'], 4);

    const [first, second] = files;
    const place = (fileId: string, idx: number) =>
      join(service.data, 'volumes', fileId.slice(0, 2), fileId, String(idx));
    const sums = 'UPDATE usage SET bytes_low = bytes_low + 7';
    if (kind === 'S3') {
      const s3 = ceph.client('fsck');
      await s3.write(`volumes/${first!.fileId}/1`, randomBytes(1_200_000));
      await s3.delete([`volumes/${second!.fileId}/2`]);
      s3.close();
      const client = new pg.Client({ connectionString: postgres.url, options: '-c search_path=fsck' });
      await client.connect();
      await client.query(sums);
      await client.end();
    } else {
      await writeFile(place(first!.fileId, 1), randomBytes(1_200_000));
      await rm(place(second!.fileId, 2));
      await rm(place(second!.fileId, 0).replace(/0$/, 'manifest.json'));
      const orphan = join(service.data, 'volumes', 'ab', 'ab'.repeat(16));
      await mkdir(orphan);
      await writeFile(join(orphan, '1'), 'x');
      await utimes(orphan, 0, 0);
      const database = new SqliteStore(join(service.data, 'szafa.db'));
      await database.execute(sums);
      await database.close();
    }
    const found = await run(['fsck', '--json', '--repair', '--rate', '500'], env);
    assert.equal(found.code, 1, found.errors);
    const told = (what: string) => found.lines.filter((line) => line['problem'] === what);
    assert.deepEqual(
      told('volumes with other bytes').map((line) => [line['file'], line['volume']]),
      [[first!.fileId, 1]],
    );
    assert.deepEqual(
      told('missing volumes').map((line) => [line['file'], line['volume']]),
      [[second!.fileId, 2]],
    );
    assert.deepEqual(
      told('accounts with wrong sums').map((line) => [line['owner'], line['mended']]),
      [[user.username, true]],
    );
    assert.equal(told('files without their documents').length, kind === 'folder' ? 1 : 0);
    assert.equal(told('groups without a record').length, kind === 'folder' ? 1 : 0);
    const quota = await user.get(pathOf('quota'));
    assert.equal(
      quota.json['used_bytes'],
      files.reduce((sum, { file }) => sum + file.init.file_size, 0),
    );
    const rest = await run(['fsck', '--json'], env);
    assert.deepEqual(rest.lines.filter((line) => 'problem' in line).length, 2, 'what is lost stays told');
    await service.discard();
  });

  test(`rescue rebuilds the metadata from what lies beside the volumes: ${kind}`, async () => {
    const stores: Record<string, string> = kind === 'S3' ? { ...large('rescue'), ...ceph.environment } : {};
    const service = new Service({ env: { SZ_WORKERS: '1', ...stores } });
    await service.start();
    const { user, files, dirId } = await fill(service);
    await service.terminate();
    const passwords = join(home, `passwords-${kind}`);
    const env = { SZ_DATA: service.data, ...stores };
    const full = await run(['rescue', '--passwords', passwords], env);
    assert.equal(full.code, 2, 'a database that is not empty is left alone');

    if (kind === 'S3') stores['SZ_DATABASE'] = `${postgres.url}?schema=rescued`;
    else
      for (const ending of ['', '-wal', '-shm'])
        await rm(join(service.data, `szafa.db${ending}`), { force: true });
    const result = await run(['rescue', '--json', '--passwords', passwords], {
      SZ_DATA: service.data,
      ...stores,
    });
    assert.equal(result.code, 0, result.errors);
    assert.equal(result.lines.at(-1)!['files'], 2);
    assert.equal((await stat(passwords)).mode & 0o777, 0o600);
    const [username, password] = (await readFile(passwords, 'utf8')).trim().split(' ');
    assert.equal(username, user.username);

    await service.restart({ env: { SZ_WORKERS: '1', ...stores } });
    const login = await service.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
    assert.equal(login.status, 200, login.text);
    const same = new User(service, user.username, '', String(login.json['token']));
    for (const { fileId, file } of files) await assertReadable(same, fileId, file);
    const listed = await listFiles(same);
    assert.deepEqual(
      listed.map((file) => file.dir_id),
      [dirId, null],
    );
    assert.ok((await makeDir(same, 'new')) > dirId);
    await checkInvariants(service, same.token);
    await service.discard();
  });

  test(`check-store tells that this store can be relied on: ${kind}`, async () => {
    const env = kind === 'S3' ? large('check') : { SZ_DATA: join(home, 'check') };
    const result = await run(['check-store', '--json'], env);
    assert.equal(result.code, 0, result.errors);
    assert.equal(result.lines.filter((line) => 'kept' in line).length, kind === 'S3' ? 8 : 4);
  });
}

test('check-store names the promises that a store does not keep', async () => {
  const { createServer } = await import('node:http');
  // A store that takes everything and gives nothing back.
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(request.method === 'HEAD' ? 404 : 200).end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const result = await run(['check-store', '--json'], {
    SZ_VOLUMES: `s3://bucket/x?endpoint=http://127.0.0.1:${port}`,
  });
  server.close();
  assert.equal(result.code, 1);
  assert.ok(
    result.lines.some(
      (line) => line['problem'] === 'promises broken' && /payload hash/.test(String(line['promise'])),
    ),
  );
});

test('a command that cannot be run says why and what there is', async () => {
  assert.match((await run(['--help'])).errors, /check-store/);
  for (const args of [
    ['nonsense'],
    ['migrate', '--to', 'x'],
    ['fsck', '--rate', 'fast'],
    ['rescue'],
    ['fsck', '--what'],
  ]) {
    const { code, errors } = await run(args, { SZ_DATA: join(home, 'none') });
    assert.equal(code, 2, args.join(' '));
    assert.match(errors, /^szafa: /);
  }
});
