/**
 * "up to 8 downloads at a time with up to 4 connections each", as the client's server sees it. The tool
 * counts only its connections to our proxy; one that it drops takes a moment to end on the other side.
 */
export class Turnstile {
  readonly #downloads: number;
  readonly #connections: number;
  readonly #inside = new Map<number, number>();
  #waiting: { idx: number; enter: () => void }[] = [];

  constructor(downloads: number, connections: number) {
    this.#downloads = downloads;
    this.#connections = connections;
  }

  /** Waits for a place among the connections of a volume; the function returned gives it back. */
  async enter(idx: number, signal: AbortSignal): Promise<() => void> {
    if (!this.#hasPlace(idx)) {
      await new Promise<void>((resolve, reject) => {
        const waiter = { idx, enter: resolve };
        this.#waiting.push(waiter);
        signal.addEventListener('abort', () => {
          this.#waiting = this.#waiting.filter((other) => other !== waiter);
          reject(signal.reason);
        });
      });
    } else {
      this.#take(idx);
    }
    return () => this.#leave(idx);
  }

  #hasPlace(idx: number): boolean {
    const open = this.#inside.get(idx);
    return open === undefined ? this.#inside.size < this.#downloads : open < this.#connections;
  }

  #take(idx: number): void {
    this.#inside.set(idx, (this.#inside.get(idx) ?? 0) + 1);
  }

  #leave(idx: number): void {
    const open = this.#inside.get(idx)! - 1;
    if (open === 0) this.#inside.delete(idx);
    else this.#inside.set(idx, open);
    const next = this.#waiting.findIndex((waiter) => this.#hasPlace(waiter.idx));
    const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiter === undefined) return;
    this.#take(waiter.idx);
    waiter.enter();
  }
}
