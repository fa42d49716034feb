import type { Engine } from '@szafa/format';
import type { Keys } from '../../accounts/keys.ts';
import type { Api } from '../../call.ts';
import type { SeenRevs } from '../../files/seen-revs.ts';
import type { HeaderCache } from './header-cache.ts';

/** Dependencies for opening an account's files. */
export interface OpenContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  headers?: HeaderCache | undefined;
  revs?: SeenRevs | undefined;
}
