import { test } from 'node:test';

/**
 * Chooses the stores of a test run; no other code does. SZ_TEST_DATABASE and SZ_TEST_VOLUMES become SZ_DATABASE and SZ_VOLUMES of every
 * service. `{id}` in them is replaced by the ID of the service, which survives restarts, so that tests never share a schema or prefix.
 */
export function storeEnvironment(id: string): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of ['DATABASE', 'VOLUMES']) {
    const value = process.env[`SZ_TEST_${name}`];
    if (value) environment[`SZ_${name}`] = value.replaceAll('{id}', id);
  }
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) {
    if (process.env[name]) environment[name] = process.env[name];
  }
  return environment;
}

/** Whether volumes are stored in the data folder, where a test can inspect them. */
export function volumesInFolder(): boolean {
  return !process.env['SZ_TEST_VOLUMES'];
}

export function usesPostgres(): boolean {
  return Boolean(process.env['SZ_TEST_DATABASE']);
}

/** Defines a test that inspects or damages the volume folder. Skipped on S3, which has no such folder. */
export function testInFolder(name: string, run: () => Promise<void>): void {
  if (volumesInFolder()) test(name, run);
}
