/** Bytes a second over the last seconds, from "so much is done" at moments in time. */
export class Rate {
  readonly #marks: { at: number; done: number }[] = [];
  static readonly WINDOW_MS = 5_000;

  mark(done: number, at = performance.now()): number {
    const first = this.#marks[0];
    // Less than before: another phase, or an attempt that was taken back.
    if (first && done < (this.#marks.at(-1)?.done ?? 0)) this.#marks.length = 0;
    this.#marks.push({ at, done });
    while (this.#marks.length > 2 && at - this.#marks[0]!.at > Rate.WINDOW_MS) this.#marks.shift();
    const oldest = this.#marks[0]!;
    return at > oldest.at ? ((done - oldest.done) * 1000) / (at - oldest.at) : 0;
  }

  clear(): void {
    this.#marks.length = 0;
  }
}
