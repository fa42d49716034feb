import type { Config } from './config.ts';
import type { Metadata } from './metadata.ts';
import type { DiskSpace } from './platform/disk-space.ts';
import type { Log } from './platform/log/log.ts';
import type { Metrics } from './platform/metrics/registry.ts';
import type { VolumeStore } from './platform/volumes/store.ts';

/** The dependencies shared by most services. */
export interface Parts {
  config: Config;
  metadata: Metadata;
  volumes: VolumeStore;
  space: DiskSpace;
  log: Log;
  metrics: Metrics;
}

export type Uses<Name extends keyof Parts> = Pick<Parts, Name>;
