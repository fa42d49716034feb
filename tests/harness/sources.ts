/** Starts the server, or runs a command of it, from the sources: all as they are, but that passwords cost little. Workers start here as well. */
import { registerHooks } from 'node:module';
import { lowerCost, PASSWORDS } from '../../scripts/cheap-passwords.ts';

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    return PASSWORDS.test(url) ? { ...loaded, source: lowerCost(String(loaded.source)) } : loaded;
  },
});
await import('../../server/src/main.ts');
