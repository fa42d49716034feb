import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { admin, assertError, eventually, RawConnection, Service, slowness } from '../harness/index.ts';
import { Postgres } from './postgres.ts';

/** Number of files whose list does not fit into the buffers between service and client. */
const MANY = 40_000;

/** A proxy between the service and its database. It can drop all data without closing connections, like a cut cable. */
class Line {
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #silent = false;

  constructor(port: number) {
    this.#server = net.createServer((near) => {
      const far = net.connect(port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on('data', (bytes: Buffer) => this.#silent || to.write(bytes));
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as net.AddressInfo).port;
  }

  fallSilent(): void {
    this.#silent = true;
  }

  /** Closes the old connections and lets new ones through. */
  recover(): void {
    this.#silent = false;
    this.cut();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }
}

let postgres: Postgres;
let line: Line;
let service: Service;
before(async () => {
  postgres = await Postgres.start();
  const url = new URL(postgres.url);
  line = new Line(Number(url.port));
  url.port = String(await line.listen());
  service = await new Service({ env: { SZ_DATABASE: url.href, SZ_WORKERS: '1' } }).start();
});
after(async () => {
  await service.stop();
  line.stop();
  await postgres.stop();
});

const ready = async () => {
  const since = performance.now();
  const { status } = await service.call({ path: pathOf('readyz') });
  return { status, ms: performance.now() - since };
};

test('readyz: a silent database is told within about two seconds, to a hundred callers as to one', async () => {
  assert.equal((await ready()).status, 200);
  line.fallSilent();
  await eventually(async () => assert.equal((await ready()).status, 503));
  const limit = 6000 * slowness();
  for (const { status, ms } of await Promise.all(Array.from({ length: 100 }, ready))) {
    assert.equal(status, 503);
    assert.ok(ms < limit, `${ms} ms`);
  }
  line.recover();
  await eventually(async () => assert.equal((await ready()).status, 200), 60_000);
});

test('a list that cannot be read is 503 before it is begun, for the administrator too', async () => {
  const { token } = admin(service);
  await postgres.kill9();
  assertError(await service.call({ path: pathOf('listFiles'), token }), 503);
  assertError(await service.call({ path: `${pathOf('listFiles')}?limit=5`, token }), 503);
  await postgres.restart();
  await eventually(async () =>
    assert.equal((await service.call({ path: pathOf('listFiles'), token })).status, 200),
  );
});

test('a list that breaks off has no end: nobody takes a part of it for the whole', async () => {
  const { token } = admin(service);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(
    `INSERT INTO files (file_id, owner, dir_id, file_name, size, stored_size, sha256, chunk_count, created_at, enc_params, rev, trashed_at)
     SELECT md5(n::text), 'admin', 0, repeat('x', 200), 1, 1, md5(n::text), 1, n, '{}', 0, 0 FROM generate_series(1, ${MANY}) n`,
  );
  const request = `GET ${pathOf('listFiles')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const connection = await RawConnection.open(service.url);
  connection.pause();
  const since = (await client.query('SELECT clock_timestamp()::text AS now')).rows[0].now;
  connection.write(request);
  // Check query_start: an idle connection still shows its last query, possibly from the test before.
  const asked = async () => {
    const { rows } = await client.query(
      `SELECT COUNT(*)::int AS n FROM pg_stat_activity
       WHERE application_name = 'szafa' AND query LIKE '%FROM files f%' AND query_start > $1`,
      [since],
    );
    return rows[0].n;
  };
  await eventually(async () => assert.ok((await asked()) > 0, 'it has begun'));
  await client.end();
  await postgres.kill9();
  connection.resume();
  const { text, closed } = await connection.until((answer) => answer.closed, 30_000);
  assert.ok(closed, `the connection ends: ${text.slice(0, 300)}`);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.ok(text.length > 100_000 && text.length < MANY * 300, `${text.length} bytes`);
  assert.doesNotMatch(text, /\r\n0\r\n\r\n$/, 'no last chunk');
  await postgres.restart();
  await eventually(async () => assert.equal((await ready()).status, 200));
});
