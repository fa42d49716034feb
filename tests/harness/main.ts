import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * What starts the server, and what runs its commands: the sources, or in a whole run all of them in one file (scripts/pack-server.ts).
 * In both passwords cost little. The tests in client/test always start the sources.
 */
export const MAIN = process.env['SZ_TEST_SERVER'] ?? at('sources.ts');

/** As users start it: passwords cost what they do there. */
export const AS_USERS_START_IT = at('../../server/src/main.ts');

/** Hundreds of starts compile the same modules; the cache takes more than half of their time away. */
export const COMPILED = at('../../node_modules/.cache/compile');
