import { Server as TlsServer } from 'node:tls';
import { createApp } from './app.ts';
import type { Config } from './config.ts';
import { connectionLimit, descriptorLimit } from './platform/cluster/descriptors.ts';
import { Gathered } from './platform/metrics/gathering.ts';
import { connectionSamples, poolSamples, watchEventLoop } from './platform/metrics/node.ts';
import { openServices } from './services.ts';

/** Serves requests until the primary says `stop`; in-flight requests finish. */
export async function runWorker(settings: Config): Promise<void> {
  const config = { ...settings, tls: await askForTls() };
  const services = await openServices(config, process.env['SZAFA_PROCESS']!, process.env['SZAFA_NODE']!);
  const { metadata, metrics } = services;
  watchEventLoop(metrics);
  const gathered = new Gathered(async () =>
    metrics.snapshot({ ...poolSamples(metadata.load), ...(await connectionSamples(app.server)) }),
  );
  const app = await createApp({ ...services, gathered: () => gathered.text() });
  // Node closes further connections as soon as they arrive, before they need anything else.
  app.server.maxConnections = connectionLimit(descriptorLimit());
  (app.server as { dropMaxConnection?: boolean }).dropMaxConnection = true;
  app.server.on('drop', () => metrics.add('szafa_connections_refused_total'));
  // Ctrl-C reaches every process of the terminal; only the primary acts on it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  process.on('disconnect', () => process.exit(1));

  let stopping = false;
  process.on('message', async (message) => {
    if (isTls(message) && app.server instanceof TlsServer) app.server.setSecureContext(message.tls ?? {});
    if (message !== 'stop' || stopping) return;
    stopping = true;
    services.pulls.stop();
    const deadline = setTimeout(() => process.exit(1), config.shutdownMs);
    await app.close();
    await metadata.close();
    clearTimeout(deadline);
    process.exit(0);
  });
  // Fastify would announce every worker; the primary announces the service.
  services.log.level = 'warn';
  await app.listen({ host: config.host, port: config.port });
  services.log.level = config.logLevel;
  // Again, for a reload since the first answer.
  process.send!('tls');
  process.send!('ready');
}

const isTls = (message: unknown): message is { tls: Config['tls'] | null } =>
  typeof message === 'object' && message !== null && 'tls' in message;

/** From the primary: the files may be broken by now, and then it still has what they were. */
async function askForTls(): Promise<Config['tls']> {
  const answer = Promise.withResolvers<Config['tls'] | null>();
  const listen = (message: unknown) => {
    if (isTls(message)) answer.resolve(message.tls);
  };
  process.on('message', listen);
  process.send!('tls');
  const tls = await answer.promise;
  process.off('message', listen);
  return tls ?? undefined;
}
