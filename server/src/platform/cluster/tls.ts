import cluster from 'node:cluster';
import { X509Certificate } from 'node:crypto';
import { type Config, readTls } from '../../config.ts';
import type { Log } from '../log/log.ts';

/** The certificate of this node. SIGHUP reads its files again; connections stay, and new ones get the new certificate. */
export class NodeCertificate {
  #tls: Config['tls'];
  readonly #log: Log;

  constructor({ tls }: Config, log: Log) {
    this.#tls = tls;
    this.#log = log;
  }

  /** From now on workers get it, and SIGHUP reloads it. */
  watch(): void {
    process.on('SIGHUP', () => this.#reload());
    cluster.on('message', (worker, message) => {
      if (message === 'tls') worker.send({ tls: this.#tls ?? null });
    });
  }

  #reload(): void {
    if (!this.#tls) {
      this.#log.info('SIGHUP: nothing to reload, since the server has no certificate (SZ_TLS_CERT)');
      return;
    }
    try {
      this.#tls = readTls(process.env);
    } catch (error) {
      this.#log.error(`SIGHUP: the certificate in use stays: ${(error as Error).message}`);
      return;
    }
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker?.isConnected()) worker.send({ tls: this.#tls ?? null });
    }
    const { validTo } = new X509Certificate(this.#tls!.cert);
    this.#log.info(`SIGHUP: certificate reloaded, valid until ${new Date(validTo).toISOString()}`);
  }
}
