import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

/** A metadata store and a volume store: its name, and what makes a run of tests use it. */
export interface Pair {
  name: string;
  /** Each of its stores is part of another pair, too: what concerns only one of them is shown there. */
  mixed?: boolean;
  environment: Record<string, string>;
}

/** The real engines behind every pair of stores but the default one, which needs none. */
export class Pairs {
  readonly list: Pair[];
  readonly #engines: { stop(): Promise<void> }[];

  private constructor(postgres: Postgres, ceph: Ceph) {
    this.#engines = [postgres, ceph];
    const database = { SZ_TEST_DATABASE: `${postgres.url}?schema={id}` };
    const volumes = { SZ_TEST_VOLUMES: ceph.url('{id}'), ...ceph.environment };
    // One worker: that any of several does is tested with the default pair.
    const workers = { SZ_TEST_WORKERS: '1' };
    // One pair without the fast lane: whatever holds for volumes holds for Node's own server, too.
    const general = { SZ_TEST_LANE: '0' };
    this.list = [
      { name: 'PostgreSQL and S3', environment: { ...database, ...volumes, ...workers } },
      { name: 'PostgreSQL and a folder', mixed: true, environment: { ...database, ...workers, ...general } },
      { name: 'SQLite and S3', mixed: true, environment: { ...volumes, ...workers } },
    ];
  }

  static async start(): Promise<Pairs> {
    const postgres = await Postgres.start({ max_connections: '400' });
    const ceph = await Ceph.start().catch(async (error: unknown) => {
      await postgres.stop();
      throw error;
    });
    return new Pairs(postgres, ceph);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.stop()));
  }
}
