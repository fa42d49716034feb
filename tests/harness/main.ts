import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The script that starts the server and runs its commands: the sources, or in a complete run a bundle (scripts/pack-server.ts). Password
 * hashing is cheap in both. The tests in client/test always start the sources.
 */
export const MAIN = process.env['SZ_TEST_SERVER'] ?? at('sources.ts');

/** The real entry point, with the real cost of password hashing. */
export const AS_USERS_START_IT = at('../../server/src/main.ts');

/** Compile cache, which saves more than half the time of hundreds of server starts. */
export const COMPILED = at('../../node_modules/.cache/compile');
