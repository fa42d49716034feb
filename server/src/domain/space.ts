import { statfs } from 'node:fs/promises';
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

/** The same for a folder of this machine, where the volume store is elsewhere. */
export async function requireFolderSpace(
  folder: string,
  config: Pick<Config, 'minFreeBytes'>,
  bytes: number,
) {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize - bytes < config.minFreeBytes) {
    throw new ServiceError(507, 'there is no room for the volumes to land');
  }
}
