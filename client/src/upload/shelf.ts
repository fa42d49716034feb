import type { SealedVolume } from '../format/engine.ts';

/** A volume as it is sent: in memory, or in a file that the browser reads by itself. @public */
export type Body = Uint8Array | Blob;

export interface KeptVolume {
  body(): Promise<Body>;
  release(): void;
}

/** Where sealed volumes wait between the two passes of an upload. @public */
export interface Shelf {
  /**
   * Takes the volume over, memory and all; undefined when there is no room, nothing is waited for, and the volume stays
   * the caller's.
   */
  keep(idx: number, sealed: SealedVolume): Promise<KeptVolume | undefined>;
}
