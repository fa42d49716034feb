import { createApp } from './app.ts';
import type { Config } from './config.ts';
import { connectionLimit, descriptorLimit } from './platform/cluster/descriptors.ts';
import { followCertificate, readCertificate } from './platform/cluster/tls.ts';
import { shareMetrics } from './platform/metrics/gathering.ts';
import { connectionSamples, poolSamples, watchEventLoop } from './platform/metrics/process.ts';
import { openServices } from './services.ts';

/** Serves requests until the primary sends `stop`; requests in flight finish. */
export async function runWorker(settings: Config): Promise<void> {
  const config = { ...settings, tls: await readCertificate() };
  const services = await openServices(config, process.env['SZAFA_PROCESS']!, process.env['SZAFA_NODE']!);
  const { metadata, metrics } = services;
  watchEventLoop(metrics);
  const nodeMetrics = shareMetrics(async () =>
    metrics.snapshot({ ...poolSamples(metadata.load), ...(await connectionSamples(app.server)) }),
  );
  const app = await createApp({ ...services, nodeMetrics });
  // Node immediately closes connections beyond this limit.
  app.server.maxConnections = connectionLimit(descriptorLimit());
  (app.server as { dropMaxConnection?: boolean }).dropMaxConnection = true;
  app.server.on('drop', () => metrics.add('szafa_connections_refused_total'));
  // Ctrl-C signals every process of the terminal, but only the primary acts on it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  process.on('disconnect', () => process.exit(1));

  let stopping = false;
  process.on('message', async (message) => {
    if (message !== 'stop' || stopping) return;
    stopping = true;
    services.pulls.stop();
    const deadline = setTimeout(() => process.exit(1), config.shutdownMs);
    await app.close();
    await metadata.close();
    clearTimeout(deadline);
    process.exit(0);
  });
  // Fastify would log the address of every worker; the primary logs it once.
  services.log.level = 'warn';
  await app.listen({ host: config.host, port: config.port });
  services.log.level = config.logLevel;
  await followCertificate(app.server);
  process.send!('ready');
}
