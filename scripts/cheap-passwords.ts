/** Nearly every test registers an account. No setting lowers the cost of a password hash, so the tests change the server's source. */

const COST = 'const COST = { memory: 19 * 1024, passes: 2, parallelism: 1 };';
const LOW_COST = 'const COST = { memory: 64, passes: 1, parallelism: 1 };';

/** The file with the cost; server/test/passwords tests the cost itself. */
export const PASSWORDS = /\/server\/src\/accounts\/passwords\.ts$/;

export function lowerCost(source: string): string {
  if (!source.includes(COST)) throw new Error(`passwords.ts: not found: ${COST}`);
  return source.replace(COST, LOW_COST);
}
