import type { Engine } from '@szafa/format';
import type { Keys } from '../../accounts/keys.ts';
import type { Api } from '../../call.ts';
import type { SeenRevs } from '../../files/seen-revs.ts';
import type { HeaderCache } from './header-cache.ts';

/** What opening the files of an account needs. */
export interface OpenContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  headers?: HeaderCache | undefined;
  revs?: SeenRevs | undefined;
}
