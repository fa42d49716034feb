import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { readConfig } from '../../server/src/config.ts';
import { Report } from '../../server/src/operator/commands/report.ts';
import { SqliteStore } from '../../server/src/platform/sql/sqlite.ts';
import { fsck } from '../../server/src/upkeep/commands/fsck.ts';
import { openPair } from '../../server/src/upkeep/commands/pair.ts';
import {
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  checkInvariants,
  complete,
  completeStreamed,
  eventually,
  makeFile,
  putAll,
  putStreamed,
  received,
  register,
  type Service,
  upload,
  volumeName,
} from '../harness/index.ts';
import { fill, type Result, useEngines } from './commands.ts';

const engines = useEngines();

/** Direct access to the stores of a service, to damage them. */
interface Behind {
  env: Record<string, string>;
  damage(group: string, name: string, bytes: Buffer): Promise<void>;
  lose(group: string, name: string): Promise<void>;
  /** Replaces a document that does not belong to a volume group. */
  replace(name: string, text: string): Promise<void>;
  query(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

async function behindS3(id: string): Promise<Behind> {
  const s3 = engines.ceph.client(id);
  const client = new pg.Client({
    connectionString: engines.postgres.url,
    options: `-c search_path=${id}`,
  });
  await client.connect();
  return {
    env: engines.large(id),
    damage: async (group, name, bytes) => void (await s3.write(`volumes/${group}/${name}`, bytes)),
    lose: (group, name) =>
      s3.delete([name === 'manifest.json' ? `files/${group}.json` : `volumes/${group}/${name}`]),
    replace: async (name, text) => void (await s3.write(name, Buffer.from(text))),
    query: async (text) => (await client.query(text)).rows,
    close: async () => {
      s3.close();
      await client.end();
    },
  };
}

function behindFolder(data: string): Behind {
  const database = new SqliteStore(join(data, 'szafa.db'));
  const place = (group: string, name: string) => join(data, 'volumes', group.slice(0, 2), group, name);
  return {
    env: { SZ_DATA: data },
    damage: async (group, name, bytes) => {
      await mkdir(place(group, ''), { recursive: true });
      await writeFile(place(group, name), bytes);
    },
    lose: (group, name) => rm(place(group, name)),
    replace: (name, text) =>
      writeFile(join(data, name.startsWith('accounts/') ? name : `volumes/${name}`), text),
    query: (text) => database.execute(text),
    close: () => database.close(),
  };
}

const told = ({ lines }: Pick<Result, 'lines'>, what: string, ...keys: string[]) =>
  lines.filter((line) => line['problem'] === what).map((line) => keys.map((key) => line[key]));

/** Asserts that fsck reports an unreadable volume and continues. */
async function assertUnreadable(folder: string, name: string, env: Record<string, string>): Promise<void> {
  const faults = ['-e', 'trace=pread64', '-e', 'inject=pread64:error=EIO'];
  const path = join(folder, name);
  const strace = ['strace', '-f', '-o', '/dev/null', '-P', path, ...faults];
  const result = await engines.begin(['fsck', '--json'], env, strace).ended;
  assert.equal(result.code, 1, result.errors);
  assert.deepEqual(told(result, 'volumes that cannot be read', 'file', 'volume'), [[basename(folder), 2]]);
}

/** Runs fsck as if two hours had passed. */
async function fsckLater(env: Record<string, string>): Promise<Pick<Result, 'lines'>> {
  const pair = await openPair(readConfig({ ...engines.ceph.environment, ...env }));
  const lines: Record<string, unknown>[] = [];
  const report = new Report(true, (line) => void lines.push(JSON.parse(line)));
  const now = Date.now() + 7_200_000;
  await fsck(pair, { repair: true, bytesPerSecond: 1e9, now }, report).finally(() => pair.close());
  report.end();
  return { lines };
}

for (const kind of ['folder', 'S3'] as const) {
  describe(`fsck beside the running service: ${kind}`, () => {
    let service: Service;
    let behind: Behind;
    before(async () => {
      const stores = kind === 'S3' ? engines.large('fsck') : {};
      service = await engines.service({ SZ_SWEEP_INTERVAL: '1', ...stores });
      behind = kind === 'S3' ? await behindS3('fsck') : behindFolder(service.data);
    });
    after(async () => {
      await behind.close();
      await service.stop();
    });

    test('a broken volume of an upload under way is told; repaired, it is sent again', async () => {
      const user = await register(service);
      const file = makeFile([100_000, 5000, 300]);
      const named = (idx: number) => volumeName(idx, file.volumes[idx - 1]!);
      const transferId = await begin(user, file);
      await putAll(user, transferId, file);
      await eventually(async () => {
        const noted = await behind.query('SELECT bitmap FROM received_volumes');
        assert.equal(Number(noted[0]?.['bitmap'] ?? 14), 14, 'the service has noted what it has');
      });
      const [{ file_id: group = '' } = {}] = await behind.query(
        "SELECT file_id FROM transfers WHERE status = 'uploading'",
      );
      await behind.damage(String(group), named(1), randomBytes(100_000));
      await behind.damage(String(group), named(2), file.volumes[1]!.subarray(1));
      await behind.lose(String(group), named(3));
      const broken = [
        ['volumes with wrong bytes', 1],
        ['volumes with wrong bytes', 2],
        // With a folder, only the folder itself records received volumes, so a lost volume counts as not received.
        ...(kind === 'S3' ? [['missing volumes', 3]] : []),
      ];
      for (const mended of [false, true]) {
        const result = await engines.run(['fsck', '--json', ...(mended ? ['--repair'] : [])], behind.env);
        assert.equal(result.code, mended ? 0 : 1, result.errors);
        assert.deepEqual(
          result.lines.slice(0, -1),
          broken.map(([problem, volume]) => ({
            ...{ problem, mended, upload: group, owner: user.username, volume },
          })),
        );
        assert.ok(!result.errors.includes(transferId), 'whoever has the id has the upload');
      }
      assert.deepEqual(await received(user, transferId), []);
      assertError(await complete(user, transferId), 409);
      await putAll(user, transferId, file);
      assertOk(await complete(user, transferId));
      assert.equal((await engines.run(['fsck'], behind.env)).code, 0);
      const place = join(service.data, 'volumes', String(group).slice(0, 2), String(group));
      if (kind === 'folder') await assertUnreadable(place, named(2), behind.env);
      await checkInvariants(service, user.token);
      assertOk(await user.delete(pathOf('deleteFile', { file_id: String(group) })));
    });

    test('so is one of a streamed upload, and what a crash left beside a volume does not count', async () => {
      const user = await register(service);
      const file = makeFile([5000, 300, 20]);
      const named = (idx: number) => volumeName(idx, file.volumes[idx - 1]!);
      for (const length of ['sized', 'unsized'] as const) {
        const transferId = await beginStreamed(user, file, length);
        const send = async (numbers: number[]) => {
          for (const idx of numbers)
            assertOk(await putStreamed(user, transferId, idx, file.volumes[idx - 1]!));
        };
        await send([1, 2]);
        const [{ file_id = '' } = {}] = await behind.query(
          `SELECT file_id FROM transfers WHERE status = 'uploading' AND creator = '${user.username}'`,
        );
        const group = String(file_id);
        await behind.damage(group, named(1), randomBytes(5000));
        await behind.lose(group, named(2));
        await behind.damage(group, named(3), file.volumes[2]!);
        assert.deepEqual(await received(user, transferId), [1, 2]);
        for (const mended of [false, true]) {
          const result = await engines.run(['fsck', '--json', ...(mended ? ['--repair'] : [])], behind.env);
          const faults = [...told(result, 'volumes with wrong bytes', 'upload', 'volume', 'mended')];
          assert.deepEqual(faults, [[group, 1, mended]]);
          assert.deepEqual(told(result, 'missing volumes', 'upload', 'volume', 'mended'), [
            [group, 2, mended],
          ]);
        }
        assert.deepEqual(await received(user, transferId), []);
        await send([1, 2, 3]);
        const done = await completeStreamed(user, transferId, file);
        await assertReadable(user, String(done.json['file_id']), file);
        assertOk(await user.delete(pathOf('deleteFile', { file_id: group })));
      }
    });

    test('it reads no faster than it may, tells how far it is, and takes no upload or file that goes for a loss', async () => {
      const user = await register(service);
      const file = await upload(user, makeFile([1_000_000, 10]));
      const pending = makeFile([3_000_000, 100]);
      const transferId = await begin(user, pending);
      await putAll(user, transferId, pending);
      const since = Date.now();
      const command = engines.begin(['fsck', '--json', '--rate', '1'], behind.env);
      await eventually(async () => assert.notEqual(command.progress.length, 0), 60_000);
      assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
      assertOk(await user.delete(pathOf('deleteFile', { file_id: file.fileId })));
      const result = await command.ended;
      assert.equal(result.code, 0, result.errors);
      assert.deepEqual(result.lines.length, 1, result.errors);
      const bytes = Number(result.lines[0]!['bytes']);
      assert.ok(bytes > 1_000_000, `${bytes} bytes`);
      assert.ok(Date.now() - since > bytes / 1000 - 100, `${bytes} bytes in ${Date.now() - since} ms`);
      assert.ok(result.progress.every((line) => Number(line['bytes']) <= bytes));
    });

    test('it finds and repairs what can be repaired', async () => {
      const { user, files, transferId } = await fill(service);
      const { env } = behind;
      const clean = await engines.run(['fsck', '--json'], env);
      assert.equal(clean.code, 0, clean.errors);
      assert.equal(clean.lines.at(-1)!['volumes'], 5, 'those of the upload under way too');
      assert.equal(clean.lines.at(-1)!['unfinished uploads'], 1);

      const [{ account_id: account = '' } = {}] = await behind.query(
        `SELECT account_id FROM accounts WHERE username = '${user.username}'`,
      );
      await eventually(async () => {
        const stale = await behind.query('SELECT 1 FROM account_documents WHERE rev > written_rev');
        assert.deepEqual(stale, []);
      });
      await behind.replace(`accounts/${account}.json`, '{}');
      await behind.replace('service-id', 'f'.repeat(32));
      const [first, second] = files;
      const named = (of: typeof first, idx: number) => volumeName(idx, of!.file.volumes[idx - 1]!);
      await behind.damage(first!.fileId, named(first, 1), randomBytes(1_200_000));
      await behind.lose(second!.fileId, named(second, 2));
      const stray = randomBytes(5);
      await behind.damage(second!.fileId, volumeName(1, stray), stray);
      await behind.lose(second!.fileId, 'manifest.json');
      await behind.query(`UPDATE usage SET bytes_low = bytes_low + 7 WHERE owner = '${user.username}'`);
      const orphan = randomBytes(16).toString('hex');
      await behind.damage(orphan, volumeName(1, stray), stray);
      if (kind === 'folder') await utimes(join(service.data, 'volumes', orphan.slice(0, 2), orphan), 0, 0);
      const found = await engines.run(['fsck', '--json', '--repair', '--rate', '500'], env);
      assert.equal(found.code, 1, found.errors);
      assert.deepEqual(told(found, 'volumes with wrong bytes', 'file', 'volume'), [[first!.fileId, 1]]);
      assert.deepEqual(told(found, 'missing volumes', 'file', 'volume'), [[second!.fileId, 2]]);
      assert.deepEqual(told(found, 'accounts with wrong totals', 'owner', 'mended'), [[user.username, true]]);
      assert.deepEqual(told(found, 'accounts without their documents', 'account', 'mended'), [
        [account, true],
      ]);
      assert.deepEqual(told(found, 'stores with a wrong service id', 'mended'), [[true]]);
      assert.deepEqual(told(found, 'files without a manifest', 'file', 'mended'), [[second!.fileId, true]]);
      assert.deepEqual(told(found, 'volumes that belong to no file', 'file', 'volume', 'mended'), [
        [second!.fileId, 1, true],
      ]);
      // On S3 the orphan cannot be backdated, so run fsck with a later time.
      const later = kind === 'S3' ? await fsckLater(behind.env) : found;
      assert.equal(later.lines.at(-1)!['volume groups without a record'], 1);
      const noted = await behind.query('SELECT file_id FROM orphans');
      assert.deepEqual(
        noted.map((row) => row['file_id']),
        [orphan],
      );
      const quota = await user.get(pathOf('quota'));
      assert.equal(
        quota.json['used_bytes'],
        files.reduce((sum, { file }) => sum + file.init.file_size, 0),
      );
      const rest = await engines.run(['fsck', '--json'], env);
      assert.equal(rest.lines.filter((line) => 'problem' in line).length, 2, 'what is lost stays told');
      assert.deepEqual(await received(user, transferId), [2]);
    });
  });
}
