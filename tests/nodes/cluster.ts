import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { Ceph } from '../engines/ceph.ts';
import { freePort } from '../engines/daemon.ts';
import { Postgres } from '../engines/postgres.ts';
import { type Answer, admin, type Call, Service, send, User } from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';

/** The answer was no answer: a node, or a store behind it, was away. What was asked may have happened or not. */
export class Away extends Error {
  readonly code = 'ECONNRESET';
}

/** Nodes on one PostgreSQL and one S3 store, and a balancer before them, which is what a client calls. */
export class Cluster extends Service {
  readonly postgres: Postgres;
  readonly ceph: Ceph;
  readonly nodes: Service[];
  /** What makes a service one of the nodes. */
  readonly environment: Record<string, string>;
  /** Requests that were sent a second time, and the bytes of their bodies. */
  readonly repeated = { requests: 0, bytes: 0 };
  /** Whether a request that was cut off is sent again, as clients do. */
  repeats = false;
  readonly #up = new Set<Service>();
  readonly #reviving = new Set<Promise<void>>();
  #turn = 0;

  private constructor(postgres: Postgres, ceph: Ceph, ports: number[]) {
    super();
    this.postgres = postgres;
    this.ceph = ceph;
    this.environment = {
      SZ_DATABASE: `${postgres.url}?schema=${this.id}`,
      SZ_VOLUMES: ceph.url(this.id),
      SZ_SYSTEM_TOKEN: this.systemToken,
      SZ_SWEEP_INTERVAL: '1',
      SZ_WORKERS: '1',
      SZ_TRUST_PROXY: '127.0.0.1',
      ...ceph.environment,
    };
    // A balancer knows a node by its address, which it has again after a restart.
    this.nodes = ports.map((port) => new Service({ env: { ...this.environment, SZ_PORT: String(port) } }));
  }

  static async create(count: number): Promise<Cluster> {
    const postgres = await Postgres.start();
    // One that is left running would keep a failed test from ending.
    const ceph = await Ceph.start().catch(async (error: unknown) => {
      await postgres.stop();
      throw error;
    });
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const cluster = new Cluster(postgres, ceph, ports);
    await Promise.all(cluster.nodes.map((node) => cluster.startNode(node)));
    return cluster;
  }

  async startNode(node: Service): Promise<void> {
    await node.start();
    this.#up.add(node);
  }

  /** Kills one that is up; it comes back by itself while the others go on. One always stays up. */
  async killNode(random: () => number): Promise<void> {
    while (this.#up.size < 2) await Promise.race(this.#reviving);
    const up = [...this.#up];
    const node = up[Math.floor(random() * up.length)]!;
    await this.kill(node);
    const revived = this.startNode(node).finally(() => this.#reviving.delete(revived));
    this.#reviving.add(revived);
  }

  /** The balancer knows at once. */
  async kill(node: Service): Promise<void> {
    this.#up.delete(node);
    await node.kill9();
  }

  /** Every node is back. */
  async whole(): Promise<void> {
    await Promise.all(this.#reviving);
  }

  /** The balancer is not told: it finds out by what the node refuses. */
  async terminateNode(node: Service): Promise<void> {
    await node.terminate();
    this.#up.delete(node);
  }

  /** The same person at one node only. */
  at(node: Service, { username, password, token }: User): User {
    return new User(node, username, password, token);
  }

  /** What a node has counted, by series. */
  async metrics(node: Service): Promise<Map<string, number>> {
    const answer = await this.at(node, admin(this)).get(pathOf('metrics'));
    assert.equal(answer.status, 200, answer.text);
    return parseMetrics(answer.text);
  }

  /** A connection to the database of the nodes, which the caller ends. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.postgres.url,
      options: `-c search_path=${this.id}`,
    });
    await client.connect();
    return client;
  }

  override tail(): string {
    return this.nodes.map((node, at) => `node ${at}:\n${node.tail(2500)}`).join('\n');
  }

  /** To the next node that takes it. Refused connections go on to another one, as every balancer does it. */
  override async call(call: Call): Promise<Answer> {
    for (let tries = 0; tries < 100; tries++) {
      const up = [...this.#up];
      const node = up[this.#turn++ % Math.max(1, up.length)];
      if (!node) {
        await sleep(50);
        continue;
      }
      try {
        const answer = await send(node.url, { timeoutMs: 60_000, ...call });
        this.witness.note(call, answer);
        if (answer.status >= 500) throw new Away(`${call.method} ${call.path}: ${answer.text}`);
        return answer;
      } catch (cause) {
        if (cause instanceof Away) throw cause;
        const { code } = cause as NodeJS.ErrnoException;
        const retried = this.repeats && (code === 'ECONNRESET' || code === 'EPIPE');
        if (code !== 'ECONNREFUSED' && !retried) throw new Away(`${call.method} ${call.path}`, { cause });
        if (retried && call.body instanceof Uint8Array) this.repeated.bytes += call.body.length;
      }
      this.repeated.requests++;
      await sleep(20);
    }
    throw new Away('no node takes a request');
  }

  override async stop(): Promise<void> {
    await Promise.allSettled(this.#reviving);
    await Promise.all(this.nodes.map((node) => node.discard()));
    await Promise.all([this.postgres.stop(), this.ceph.stop()]);
  }
}
