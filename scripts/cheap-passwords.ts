/** Nearly every test registers somebody. No setting of the server lowers what a password costs, so its source is changed on the way. */

const COST = 'const COST = { memory: 19 * 1024, passes: 2, parallelism: 1 };';

/** The file of the server that says what a password costs; that itself is tested in server/test/passwords. */
export const PASSWORDS = /\/server\/src\/domain\/passwords\.ts$/;

export function costingLittle(source: string): string {
  if (!source.includes(COST)) throw new Error('passwords.ts: what a password costs is written otherwise');
  return source.replace(COST, 'const COST = { memory: 64, passes: 1, parallelism: 1 };');
}
