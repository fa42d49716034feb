/** Makes password hashing cheap for tests, which register many accounts. There is no setting for the cost, so this patches the source. */

const COST = 'const COST = { memory: 19 * 1024, passes: 2, parallelism: 1 };';
const LOW_COST = 'const COST = { memory: 64, passes: 1, parallelism: 1 };';

/** The file to patch. server/test/passwords tests the real cost. */
export const PASSWORDS = /\/server\/src\/accounts\/passwords\.ts$/;

export function lowerCost(source: string): string {
  if (!source.includes(COST)) throw new Error(`passwords.ts: not found: ${COST}`);
  return source.replace(COST, LOW_COST);
}
