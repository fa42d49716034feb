import cluster from 'node:cluster';
import { enableCompileCache } from 'node:module';
import { readConfig } from './config.ts';
import { UsageError } from './operator/commands/report.ts';
import { ConfigError, isOsError, StoreUnavailable } from './platform/errors.ts';

/** Returns one line for errors that the operator can fix, and the error with its stack for all others. */
function describeError(error: unknown): unknown {
  if (error instanceof StoreUnavailable) {
    const { cause } = error;
    return `szafa: ${error.message}${cause instanceof Error ? ` (${cause.message})` : ''}`;
  }
  const plain = error instanceof ConfigError || error instanceof UsageError || isOsError(error);
  return plain ? `szafa: ${error.message}` : error;
}

// Files created by the server and the programs it starts are private.
process.umask(0o077);

try {
  const [, , command, ...args] = process.argv;
  if (cluster.isPrimary && command !== undefined) {
    process.exit(await (await import('./operator/commands/main.ts')).runCommand(command, args, process.env));
  }
  // SIGHUP reloads the certificate and must never end the process, not even during startup.
  process.on('SIGHUP', () => undefined);
  const config = readConfig(process.env);
  // Each process loads only the modules it needs, from the compile cache, for a fast start.
  enableCompileCache();
  if (cluster.isPrimary) await (await import('./primary.ts')).runPrimary(config);
  else await (await import('./worker.ts')).runWorker(config);
} catch (error) {
  console.error(describeError(error));
  // Exit code 1 means that a command ran and found problems.
  process.exit(2);
}
