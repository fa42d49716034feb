import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

/** A metadata store and a volume store, and the environment variables that make tests use them. */
export interface Pair {
  name: string;
  /** Both stores are also part of other pairs, so tests that use only one of them can be skipped. */
  mixed?: boolean;
  environment: Record<string, string>;
}

/** Runs the database and S3 engines for all pairs except the default, which needs none. */
export class Pairs {
  readonly list: Pair[];
  readonly #engines: { stop(): Promise<void> }[];

  private constructor(postgres: Postgres, ceph: Ceph) {
    this.#engines = [postgres, ceph];
    const database = { SZ_TEST_DATABASE: `${postgres.url}?schema={id}` };
    const volumes = { SZ_TEST_VOLUMES: ceph.url('{id}'), ...ceph.environment };
    // One worker is enough: several workers are tested with the default pair.
    const workers = { SZ_TEST_WORKERS: '1' };
    // One pair runs without the fast lane, so that the same tests cover Node's own HTTP server.
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
