import cluster from 'node:cluster';
import { enableCompileCache } from 'node:module';
import { UsageError } from './admin/report.ts';
import { ConfigError, readConfig } from './config.ts';
import { isOsError, StoreUnavailable } from './errors.ts';

/** What a person can mend is told in a line; the rest needs its stack. */
function told(error: unknown): unknown {
  if (error instanceof StoreUnavailable) {
    const { cause } = error;
    return `szafa: ${error.message}${cause instanceof Error ? ` (${cause.message})` : ''}`;
  }
  const plain = error instanceof ConfigError || error instanceof UsageError || isOsError(error);
  return plain ? `szafa: ${error.message}` : error;
}

// What any of our processes makes, or has made by another program, is nobody else's to read.
process.umask(0o077);

try {
  const [, , command, ...args] = process.argv;
  if (cluster.isPrimary && command !== undefined) {
    process.exit(await (await import('./admin/main.ts')).runCommand(command, args, process.env));
  }
  const config = readConfig(process.env);
  // Each process loads only its own half, compiled before: a start is felt by whoever waits for it.
  enableCompileCache();
  if (cluster.isPrimary) await (await import('./cluster/primary.ts')).runPrimary(config);
  else await (await import('./cluster/worker.ts')).runWorker(config);
} catch (error) {
  console.error(told(error));
  // 1 is left to commands that ran and found problems.
  process.exit(2);
}
