import { X509Certificate } from 'node:crypto';
import { Server as TlsServer } from 'node:tls';
import type { Log } from '../log/log.ts';
import { Topic } from './ipc.ts';

/** A certificate chain and its key, in PEM. */
export interface Tls {
  cert: string;
  key: string;
}

const reading = new Topic<null, Tls | null>('certificate');
const replacing = new Topic<Tls, true>('new certificate');
const REPLACE_MS = 1000;

/** The primary's side: gives workers the certificate, and reloads it from its files on SIGHUP. Connections stay open. */
export function shareCertificate(tls: Tls | undefined, read: () => Tls | undefined, log: Log): void {
  let current = tls;
  reading.answer(() => current ?? null);
  process.on('SIGHUP', () => {
    if (!current) {
      log.info('SIGHUP: nothing to reload, since the server has no certificate (SZ_TLS_CERT)');
      return;
    }
    try {
      current = read() ?? current;
    } catch (error) {
      log.error(`SIGHUP: the certificate in use stays: ${(error as Error).message}`);
      return;
    }
    void replacing.askWorkers(current, REPLACE_MS, () => undefined);
    const { validTo } = new X509Certificate(current.cert);
    log.info(`SIGHUP: certificate reloaded, valid until ${new Date(validTo).toISOString()}`);
  });
}

/**
 * A worker's side. Asks the primary instead of reading the files, which may be broken by now: the primary still has the last
 * good ones.
 */
export async function readCertificate(): Promise<Tls | undefined> {
  return (await reading.askPrimary(null)) ?? undefined;
}

/** Uses each new certificate for new connections. */
export async function followCertificate(server: unknown): Promise<void> {
  if (!(server instanceof TlsServer)) return;
  replacing.answer((tls) => {
    server.setSecureContext(tls);
    return true;
  });
  // The certificate may have been reloaded since the worker first read it.
  server.setSecureContext((await readCertificate())!);
}
