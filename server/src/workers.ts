import cluster, { type Address, type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.ts';
import { isListening, recoverConnections, stopAccepting } from './fastlane/handover.ts';
import { ConfigError } from './platform/errors.ts';
import type { Log } from './platform/log/log.ts';
import { newProcessName } from './stores.ts';

/** A worker that dies sooner than this is replaced only after a pause: a fault at every start must not keep the CPU busy. */
const RESPAWN_MS = 1000;

/** The worker processes, which share one port. A worker that dies is replaced. */
export class Workers {
  readonly #config: Config;
  readonly #node: string;
  readonly #log: Log;
  readonly #onDeath: (processName: string) => Promise<void>;
  #stopping = false;

  constructor(config: Config, node: string, log: Log, onDeath: (processName: string) => Promise<void>) {
    this.#config = config;
    this.#node = node;
    this.#log = log;
    this.#onDeath = onDeath;
  }

  /** Starts all workers; resolves to the address once every worker listens. */
  async start(): Promise<string> {
    cluster.schedulingPolicy = cluster.SCHED_RR;
    const [first] = await Promise.all(Array.from({ length: this.#config.workers }, () => this.#spawn()));
    const host = this.#config.host.includes(':') ? `[${this.#config.host}]` : this.#config.host;
    return `${this.#config.tls ? 'https' : 'http'}://${host}:${first!.port}`;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await stopAccepting();
    // A worker that has just died is still listed, and emits no second `exit`.
    const workers = (Object.values(cluster.workers ?? {}) as Worker[]).filter((worker) => !worker.isDead());
    await Promise.all(
      workers.map(
        (worker) =>
          new Promise<void>((resolve) => {
            worker.once('exit', () => resolve());
            if (!isListening(worker)) worker.process.kill('SIGKILL');
            else if (worker.isConnected()) worker.send('stop');
          }),
      ),
    );
  }

  #spawn(): Promise<Address> {
    const processName = newProcessName();
    const startedAt = Date.now();
    const worker = cluster.fork({
      // Each durable write blocks a thread until the disk is done, and Node has only four by default.
      UV_THREADPOOL_SIZE: '16',
      // Returns the 19 MiB of a password hash to the system. Otherwise glibc would keep them for every thread that has ever
      // hashed.
      MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024),
      // Without this, glibc would also return the memory of every volume, at a fifth more CPU for a GET.
      MALLOC_TRIM_THRESHOLD_: String(64 * 1024 * 1024),
      ...process.env,
      SZ_LANE: this.#config.lane ? '1' : '0',
      // Workers get the certificate from the primary: see tls.ts.
      ...{ SZ_TLS_CERT: '', SZ_TLS_KEY: '' },
      SZAFA_PROCESS: processName,
      SZAFA_NODE: this.#node,
    });
    recoverConnections(worker);
    return new Promise((resolve, reject) => {
      let address: Address | undefined;
      worker.once('listening', (found) => {
        address = found;
      });
      worker.on('message', (message) => {
        if (message === 'ready') resolve(address!);
      });
      // A message to a dying worker fails, and its `exit` follows. A process that could not be started never emits `exit`.
      worker.on('error', (err) => {
        this.#log.debug({ err }, 'a message did not reach a worker');
        if (worker.process.pid === undefined) reject(err);
      });
      worker.once('exit', (code, signal) => {
        if (this.#stopping) return;
        if (!address) {
          reject(new ConfigError('a worker could not start; see the messages above'));
          return;
        }
        this.#log.error({ code, signal }, 'worker died; starting a replacement');
        void this.#replace(startedAt);
        this.#onDeath(processName).catch((err: unknown) => {
          this.#log.error({ err }, 'could not clean up after the worker; the next start will');
        });
      });
    });
  }

  /** Retries forever; the other workers serve in the meantime. */
  async #replace(startedAt: number): Promise<void> {
    for (let early = Date.now() - startedAt < RESPAWN_MS; ; early = true) {
      if (early) await sleep(RESPAWN_MS);
      if (this.#stopping) return;
      try {
        await this.#spawn();
        return;
      } catch (err) {
        this.#log.error({ err }, 'worker died while starting; starting another one');
      }
    }
  }
}
