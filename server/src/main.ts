import cluster from 'node:cluster';
import { ConfigError, readConfig } from './config.ts';
import { runPrimary } from './primary.ts';
import { runWorker } from './worker.ts';

try {
  const config = readConfig(process.env);
  await (cluster.isPrimary ? runPrimary(config) : runWorker(config));
} catch (error) {
  // What a person can mend is told in a line; the rest needs its stack.
  const told = error instanceof ConfigError ? `szafa: ${error.message}` : error;
  console.error(told);
  process.exit(1);
}
