/** Up to PIECE_SIZE bytes each, good until the next is asked for. */
export type Pieces = AsyncGenerator<Uint8Array, void>;

/** Makes full buffers of pieces of any size: each buffer costs a message or a write, and a zip of small files has many small pieces. */
export class Packer {
  readonly #pieces: Pieces;
  #rest: Uint8Array = new Uint8Array();

  constructor(pieces: Pieces) {
    this.#pieces = pieces;
  }

  /** How many bytes it put into the memory, which is full unless the end was reached. */
  async fill(memory: Uint8Array): Promise<number> {
    let at = 0;
    while (at < memory.length) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#pieces.next();
        if (done) break;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, memory.length - at);
      memory.set(part, at);
      at += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return at;
  }

  async close(): Promise<void> {
    await this.#pieces.return();
  }
}
