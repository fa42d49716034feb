import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../server/src/config.ts';
import { SqliteStore } from '../../server/src/platform/sql/sqlite.ts';
import { openDatabase, prepareStores } from '../../server/src/stores.ts';
import { openPair } from '../../server/src/upkeep/commands/pair.ts';
import { Command, type Result } from './commands.ts';
import { freePort } from './daemon.ts';
import { Postgres } from './postgres.ts';

let home = '';
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'szafa-refusals-'));
});
after(() => rm(home, { recursive: true, force: true }));

const START: string[] = [];
const run = (args: string[], env: Record<string, string>): Promise<Result> => {
  const defaults = { SZ_PORT: '0', SZ_WORKERS: '1', SZ_DATA: join(home, 'data') };
  return new Command(args, { ...defaults, ...env }, home).ended;
};

/** Asserts exit code 2 and a reason without a stack trace. */
async function assertRefused(args: string[], env: Record<string, string>, why: RegExp): Promise<void> {
  const { code, errors } = await run(args, env);
  const what = `${args.join(' ') || 'the service'}: ${errors}`;
  assert.equal(code, 2, what);
  assert.match(errors, why, what);
  for (const line of errors.trim().split('\n')) assert.match(line, /^szafa: /, what);
}

/** Creates a data folder whose tables have another schema version. */
async function withVersion(version: number): Promise<string> {
  const data = join(home, `version-${version}`);
  await mkdir(data, { recursive: true });
  await prepareStores(readConfig({ SZ_DATA: data }));
  const sql = new SqliteStore(join(data, 'szafa.db'));
  await sql.execute('UPDATE schema_version SET version = ?', version);
  // A wrong total, which a repair would change.
  await sql.execute("INSERT INTO usage VALUES ('ann', -1, 3, 0, 0, 0, 0, 0, 0)");
  await sql.close();
  return data;
}

describe('what cannot be run ends with 2 and says why in a line', () => {
  test('an unknown setting', async () => {
    for (const args of [START, ['fsck'], ['check-store'], ['rescue', '--passwords', 'x']]) {
      await assertRefused(args, { SZ_QUTOA: '1' }, /SZ_QUTOA/);
    }
  });

  test('a data folder that is not there, or cannot be one', async () => {
    const nowhere = join(home, 'nowhere');
    await assertRefused(['fsck'], { SZ_DATA: nowhere }, /nowhere/);
    await assertRefused(['migrate', '--from', nowhere, '--to', join(home, 'to')], {}, /nowhere/);
    assert.ok(!existsSync(nowhere), 'and is not made');
    const file = join(home, 'file');
    await writeFile(file, '');
    for (const args of [START, ['fsck'], ['check-store'], ['rescue', '--passwords', 'x']]) {
      await assertRefused(args, { SZ_DATA: join(file, 'data') }, /file\/data/);
    }
  });

  test('a database that is none', async () => {
    const data = join(home, 'none');
    await mkdir(data);
    await writeFile(join(data, 'szafa.db'), 'this was written by somebody else, not by a database');
    for (const args of [START, ['fsck']]) await assertRefused(args, { SZ_DATA: data }, /none\/szafa\.db/);
  });

  test('tables of another version, which not even a repair touches', async () => {
    for (const [version, commands] of [
      [99, [START, ['fsck', '--repair'], ['rescue', '--passwords', 'x']]],
      // The service upgrades older tables; commands do not.
      [0, [['fsck', '--repair']]],
    ] as const) {
      const data = await withVersion(version);
      for (const args of commands) {
        await assertRefused([...args], { SZ_DATA: data }, version === 99 ? /version 99/ : /no szafa tables/);
      }
      const sql = new SqliteStore(join(data, 'szafa.db'));
      assert.equal((await sql.query("SELECT 1 FROM usage WHERE owner = 'ann'")).length, 1);
      await sql.close();
    }
  });

  test('stores that do not answer', async () => {
    const port = await freePort();
    const SZ_DATABASE = `postgres://szafa@127.0.0.1:${port}/szafa`;
    await assertRefused(['fsck'], { SZ_DATABASE }, /the database does not answer .*ECONNREFUSED/);
    const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
    const SZ_VOLUMES = `s3://bucket/p?endpoint=http://127.0.0.1:${port}&region=r`;
    await assertRefused(['check-store'], { SZ_VOLUMES, ...keys }, /the volume store does not answer/);
  });

  test('a port that is in use', async () => {
    await using taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    await assertRefused(START, { SZ_PORT: String(port) }, /EADDRINUSE/);
  });
});

describe('PostgreSQL', () => {
  let server: Postgres;
  before(async () => {
    server = await Postgres.start();
  });
  after(() => server.stop());

  test('a database that does not let us in is told by its own words', async () => {
    const SZ_DATABASE = server.url.replace(/postgres$/, 'elsewhere');
    for (const args of [START, ['fsck']]) {
      await assertRefused(args, { SZ_DATABASE }, /SZ_DATABASE: database "elsewhere" does not exist/);
    }
    const empty = `${server.url}?schema=nobody`;
    await assertRefused(['fsck', '--repair'], { SZ_DATABASE: empty }, /no szafa tables/);
  });

  test('commands and upgrades take as long as they take, whatever the role is told; requests do not', async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query("ALTER ROLE postgres SET statement_timeout = '7s'");
    await client.end();
    const config = readConfig({ SZ_DATABASE: `${server.url}?schema=long`, SZ_DATA: join(home, 'long') });
    await mkdir(config.dataFolder);
    await prepareStores(config);
    const pair = await openPair(config);
    const service = await openDatabase(config);
    const limit = (name: string) => `SELECT current_setting('${name}') AS value`;
    for (const name of ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) {
      const ways = [
        pair.sql.query(limit(name)),
        pair.sql.execute(limit(name)),
        pair.sql.transaction((tx) => tx.query(limit(name))),
      ];
      for (const rows of await Promise.all(ways)) assert.deepEqual(rows, [{ value: '0' }], name);
    }
    assert.deepEqual(await service.query(limit('statement_timeout')), [{ value: '20s' }]);
    await pair.close();
    await service.close();
  });
});
