import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { readConfig } from '../../server/src/config.ts';
import type { VolumeStore } from '../../server/src/platform/volumes/store.ts';
import { openVolumes } from '../../server/src/stores.ts';
import { filesBelow, Service } from '../harness/index.ts';
import type { Engines, Result } from './commands.ts';

/** All pairs of stores. */
export const KINDS = [
  'SQLite and a folder',
  'PostgreSQL and a folder',
  'SQLite and S3',
  'PostgreSQL and S3',
] as const;
export type Kind = (typeof KINDS)[number];

const ENDINGS = ['', '-wal', '-shm'];
const FIRST = 'first';

/** A service whose database can be replaced while its volumes stay. */
export class House {
  readonly service: Service;
  readonly id: string;
  readonly #engines: Engines;
  readonly #postgres: boolean;
  readonly #s3: boolean;
  #database = FIRST;
  #prefix = '';
  #hidden = 0;
  #settings: Record<string, string>;
  /** Folder of the SQLite databases that are not in use. */
  #shelf = '';

  constructor(engines: Engines, kind: Kind, settings: Record<string, string> = {}) {
    this.#engines = engines;
    this.#postgres = kind.startsWith('PostgreSQL');
    this.#s3 = kind.endsWith('S3');
    this.#settings = { SZ_WORKERS: '1', SZ_SWEEP_INTERVAL: '1', ...settings };
    this.service = new Service();
    this.id = this.service.id;
    engines.keep(this.service);
  }

  async start(): Promise<Service> {
    await this.service.restart({ env: this.environment });
    return this.service;
  }

  /** Asserts that the service refuses to start, and returns its output. */
  async refused(): Promise<string> {
    const before = this.service.log.length;
    this.service.set({ env: this.environment });
    assert.equal(await this.service.startAndFail(), 2, this.service.log.slice(before));
    return this.service.log.slice(before);
  }

  run(...args: string[]): Promise<Result> {
    return this.#engines.run(args, { SZ_DATA: this.service.data, ...this.environment });
  }

  get environment(): Record<string, string> {
    return {
      ...this.#settings,
      ...(this.#postgres && { SZ_DATABASE: this.databaseUrl(this.#database) }),
      ...(this.#s3 && {
        ...this.#engines.ceph.environment,
        SZ_VOLUMES: this.#engines.ceph.url(`${this.id}${this.#prefix}`),
      }),
    };
  }

  databaseUrl(name: string): string {
    return `${this.#engines.postgres.url}?schema=${this.#schema(name)}`;
  }

  /** Lists the names of all volumes and of the documents next to them. */
  async volumes(): Promise<string[]> {
    if (!this.#s3) {
      const found = [...(await filesBelow(join(this.service.data, 'volumes'))).keys()];
      return found.filter((name) => name.includes('/')).sort();
    }
    const client = this.#engines.ceph.client(`${this.id}${this.#prefix}`);
    const found = await Array.fromAsync(client.list(''), ({ key }) => key);
    client.close();
    return found.filter((key) => key.includes('/')).sort();
  }

  /** Opens the store like another process. */
  look(): VolumeStore {
    return openVolumes(readConfig({ SZ_DATA: this.service.data, ...this.environment }), 'look');
  }

  /** Hides the volumes or brings them back, like an unmounted disk or a wrong prefix. */
  async hideVolumes(hidden: boolean): Promise<void> {
    if (this.#s3) {
      this.#prefix = hidden ? `-elsewhere-${++this.#hidden}` : '';
      return;
    }
    const [from, to] = [join(this.service.data, 'volumes'), join(this.service.home, 'unmounted')];
    if (hidden) await rename(from, to);
    else await rename(to, from);
  }

  /** Switches to the database of this name. It is empty unless `copyDatabase` created it. */
  async useDatabase(name: string): Promise<void> {
    if (!this.#postgres) {
      for (const ending of ENDINGS) {
        await move(join(this.service.data, `szafa.db${ending}`), await this.#shelved(this.#database, ending));
        await move(await this.#shelved(name, ending), join(this.service.data, `szafa.db${ending}`));
      }
    }
    this.#database = name;
  }

  /** Copies the current database, like a backup or a standby. */
  async copyDatabase(name: string): Promise<void> {
    if (!this.#postgres) {
      const database = new DatabaseSync(join(this.service.data, 'szafa.db'), { timeout: 5000 });
      database.prepare('VACUUM INTO ?').run(await this.#shelved(name, ''));
      database.close();
      return;
    }
    await this.#inPostgres(async (client) => {
      const [from, to] = [this.#schema(this.#database), this.#schema(name)];
      await client.query(`CREATE SCHEMA ${to}`);
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      const tables = await client.query('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [
        from,
      ]);
      for (const { name: table } of tables.rows) {
        await client.query(`CREATE TABLE ${to}.${table} (LIKE ${from}.${table} INCLUDING ALL)`);
        await client.query(`INSERT INTO ${to}.${table} SELECT * FROM ${from}.${table}`);
      }
      for (const [table, column] of [
        ['files', 'seq'],
        ['dirs', 'dir_id'],
      ]) {
        const next = `COALESCE((SELECT MAX(${column}) FROM ${to}.${table}), 0) + 1`;
        await client.query(
          `SELECT setval(pg_get_serial_sequence('${to}.${table}', '${column}'), ${next}, false)`,
        );
      }
      await client.query('COMMIT');
    });
  }

  /** Queries the current database directly. */
  async query(text: string): Promise<Record<string, unknown>[]> {
    if (this.#postgres) {
      return this.#inPostgres(async (client) => {
        await client.query(`SET search_path = ${this.#schema(this.#database)}`);
        return (await client.query(text)).rows;
      });
    }
    const database = new DatabaseSync(join(this.service.data, 'szafa.db'), { timeout: 5000 });
    try {
      return database.prepare(text).all() as Record<string, unknown>[];
    } finally {
      database.close();
    }
  }

  async #inPostgres<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.#engines.postgres.url });
    await client.connect();
    return work(client).finally(() => client.end());
  }

  #schema(name: string): string {
    return name === FIRST ? this.id : `${this.id}_${name}`;
  }

  async #shelved(name: string, ending: string): Promise<string> {
    if (this.#shelf === '') this.#shelf = await mkdtemp(join(this.service.home, 'databases-'));
    return join(this.#shelf, `${name}.db${ending}`);
  }
}

async function move(from: string, to: string): Promise<void> {
  await rm(to, { force: true });
  await mkdir(join(to, '..'), { recursive: true });
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
