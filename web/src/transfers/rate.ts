const WINDOW_MS = 5_000;

/** Bytes a second over the last seconds, from "so much is done" at moments in time. */
export class Rate {
  readonly #marks: { at: number; done: number }[] = [];

  mark(done: number, at = performance.now()): number {
    // Less than before: an attempt that was taken back.
    if (done < (this.#marks.at(-1)?.done ?? 0)) this.clear();
    this.#marks.push({ at, done });
    while (this.#marks.length > 2 && at - this.#marks[0]!.at > WINDOW_MS) this.#marks.shift();
    const oldest = this.#marks[0]!;
    return at > oldest.at ? ((done - oldest.done) * 1000) / (at - oldest.at) : 0;
  }

  clear(): void {
    this.#marks.length = 0;
  }
}
