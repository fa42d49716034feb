/** A piece of space that is worth asking for; less where little is left. */
const SLAB_BYTES = 256 * 1024 * 1024;

/**
 * Lends the free space of a disk, above what must stay free, to processes that write to it. What was lent counts until the
 * process says that it is used up or gives it back, or is gone. By then it shows on the disk, so no byte is lent twice.
 */
export class Lender {
  readonly #free: () => number;
  readonly #minFreeBytes: number;
  readonly #recall: () => Promise<void>;
  readonly #out = new Map<string, number>();
  /** Those for whom everything unused is being called back. */
  #waiting = 0;

  /** `recall` asks every process for what it does not need and resolves when they have given it back. */
  constructor(free: () => number, minFreeBytes: number, recall: () => Promise<void> = async () => undefined) {
    this.#free = free;
    this.#minFreeBytes = minFreeBytes;
    this.#recall = recall;
  }

  /** At least this many bytes, and more if there is plenty; 0 if there are fewer. */
  async lend(process: string, least: number, ended: number): Promise<number> {
    this.settle(process, ended);
    // A reserve for later is not taken from somebody who needs it now.
    if (least === 0 && this.#waiting > 0) return 0;
    if (least > 0 && this.#spare() < least) {
      this.#waiting++;
      await this.#recall().finally(() => this.#waiting--);
    }
    const spare = this.#spare();
    if (spare < least) return 0;
    const share = Math.floor(spare / (4 * Math.max(1, this.#out.size)));
    const bytes = Math.max(least, Math.min(SLAB_BYTES, share), 0);
    this.#out.set(process, (this.#out.get(process) ?? 0) + bytes);
    return bytes;
  }

  /** Used up, or given back. */
  settle(process: string, bytes: number): void {
    this.#out.set(process, Math.max(0, (this.#out.get(process) ?? 0) - bytes));
  }

  forget(process: string): void {
    this.#out.delete(process);
  }

  #spare(): number {
    let out = 0;
    for (const bytes of this.#out.values()) out += bytes;
    return this.#free() - this.#minFreeBytes - out;
  }
}
