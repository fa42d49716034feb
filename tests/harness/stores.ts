import { test } from 'node:test';

/**
 * The one place where a run chooses its pair of stores. SZ_TEST_DATABASE and SZ_TEST_VOLUMES become
 * SZ_DATABASE and SZ_VOLUMES of every service under test; `{id}` in them is replaced by an id that is fresh for
 * each service and kept over its restarts, so that tests never share a schema or a prefix.
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

/** Whether volumes lie in the data folder, where a test can look at them. */
export function volumesInFolder(): boolean {
  return !process.env['SZ_TEST_VOLUMES'];
}

export function usesPostgres(): boolean {
  return Boolean(process.env['SZ_TEST_DATABASE']);
}

/** A test that looks into the folder of the volumes, or breaks it: there is none of that on S3, whose pairs go without it. */
export function testInFolder(name: string, run: () => Promise<void>): void {
  if (volumesInFolder()) test(name, run);
}
