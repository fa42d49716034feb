import type { SealedVolume } from '../format/engine.ts';
import type { KeptVolume, Shelf } from './shelf.ts';

/** What an engine allows that knows nothing about the machine's memory. @public */
export const DEFAULT_BUDGET = 256 * 1024 * 1024;

/** Memory for sealed volumes that wait to be sent, shared by all uploads of a session. */
export class Budget implements Shelf {
  #room: number;

  constructor(bytes: number) {
    this.#room = bytes;
  }

  async keep(_idx: number, { bytes, release }: SealedVolume): Promise<KeptVolume | undefined> {
    const { length } = bytes;
    if (length > this.#room) return undefined;
    this.#room -= length;
    return {
      body: async () => bytes,
      release: () => {
        release();
        this.#room += length;
      },
    };
  }
}
