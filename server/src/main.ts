import cluster from 'node:cluster';
import { enableCompileCache } from 'node:module';
import { UsageError } from './admin/report.ts';
import { ConfigError, readConfig } from './config.ts';
import { StoreUnavailable } from './errors.ts';

try {
  const [, , command, ...args] = process.argv;
  if (cluster.isPrimary && command !== undefined) {
    process.exit(await (await import('./admin/main.ts')).runCommand(command, args, process.env));
  }
  const config = readConfig(process.env);
  // Each process loads only its own half, compiled before: a start is felt by whoever waits for it.
  enableCompileCache();
  if (cluster.isPrimary) await (await import('./primary.ts')).runPrimary(config);
  else await (await import('./worker.ts')).runWorker(config);
} catch (error) {
  // What a person can mend is told in a line; the rest needs its stack.
  const plain =
    error instanceof ConfigError || error instanceof StoreUnavailable || error instanceof UsageError;
  const told = plain ? `szafa: ${error.message}` : error;
  console.error(told);
  process.exit(error instanceof UsageError ? 2 : 1);
}
