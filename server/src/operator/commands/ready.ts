import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { http, https } from '../../platform/http/node-http.ts';
import type { Report } from './report.ts';

const ANSWER_MS = 10_000;
const PAUSE_MS = 250;

/** The local address at which a server listening on `host` can be reached. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Returns why the server does not accept requests; undefined if it does. */
async function askServer({ host, port, tls }: Config): Promise<string | undefined> {
  const at = { host: reachable(host), port, path: '/readyz', agent: false, timeout: ANSWER_MS };
  const where = `${isIPv6(at.host) ? `[${at.host}]` : at.host}:${port}`;
  // The certificate names the host that clients use, not this address.
  const request = tls ? https().get({ ...at, rejectUnauthorized: false }) : http.get(at);
  request.on('timeout', () => request.destroy(new Error(`no answer for ${ANSWER_MS / 1000} s`)));
  try {
    const [response] = await once(request, 'response');
    response.resume();
    return response.statusCode === 200 ? undefined : `${where} answered ${response.statusCode}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `${where}: ${code === 'ECONNREFUSED' ? 'nothing listens there' : message}`;
  }
}

/** Asks repeatedly until the server accepts requests or the time is up. */
export async function checkReady(config: Config, seconds: number, report: Report): Promise<void> {
  const end = Date.now() + seconds * 1000;
  let why = await askServer(config);
  while (why !== undefined && Date.now() < end) {
    await sleep(PAUSE_MS);
    why = await askServer(config);
  }
  if (why !== undefined) report.problem('the server is not ready', { why });
}
