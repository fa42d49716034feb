import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { VolumeStore } from '../volumes/store.ts';

/** A nearly full disk refuses new bytes before it is wholly full. */
export async function requireSpace(
  volumes: VolumeStore,
  config: Pick<Config, 'minFreeBytes'>,
  bytes: number,
) {
  const free = await volumes.freeBytes();
  if (free !== undefined && free - bytes < config.minFreeBytes) {
    throw new ServiceError(507, 'the store is nearly full');
  }
}
