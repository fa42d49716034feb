import cluster from 'node:cluster';
import { enableCompileCache } from 'node:module';
import { readConfig } from './config.ts';
import { UsageError } from './operator/commands/report.ts';
import { ConfigError, isOsError, StoreUnavailable } from './platform/errors.ts';

/** What a person can fix gets one line; everything else needs its stack. */
function told(error: unknown): unknown {
  if (error instanceof StoreUnavailable) {
    const { cause } = error;
    return `szafa: ${error.message}${cause instanceof Error ? ` (${cause.message})` : ''}`;
  }
  const plain = error instanceof ConfigError || error instanceof UsageError || isOsError(error);
  return plain ? `szafa: ${error.message}` : error;
}

// Nobody else may read what our processes make, or have other programs make.
process.umask(0o077);

try {
  const [, , command, ...args] = process.argv;
  if (cluster.isPrimary && command !== undefined) {
    process.exit(await (await import('./operator/commands/main.ts')).runCommand(command, args, process.env));
  }
  // It reloads; from the first moment on it ends nothing.
  process.on('SIGHUP', () => undefined);
  const config = readConfig(process.env);
  // Each process loads only its own half, compiled before: somebody waits for every start.
  enableCompileCache();
  if (cluster.isPrimary) await (await import('./primary.ts')).runPrimary(config);
  else await (await import('./worker.ts')).runWorker(config);
} catch (error) {
  console.error(told(error));
  // 1 is for commands that ran and found problems.
  process.exit(2);
}
