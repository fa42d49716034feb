/** Starts the server, its workers or its commands from the sources, with cheap password hashing. */
import { registerHooks } from 'node:module';
import { lowerCost, PASSWORDS } from '../../scripts/cheap-passwords.ts';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    return PASSWORDS.test(url) ? { ...loaded, source: lowerCost(String(loaded.source)) } : loaded;
  },
});
await import('../../server/src/main.ts');
