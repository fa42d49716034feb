const WINDOW_MS = 5_000;

/** Measures bytes per second over the last few seconds. */
export class Rate {
  readonly #marks: { at: number; done: number }[] = [];

  mark(done: number, at = performance.now()): number {
    // The count goes down when an attempt fails and starts over.
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
