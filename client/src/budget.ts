/** What an engine allows that knows nothing about the machine's memory. */
export const DEFAULT_BUDGET = 256 * 1024 * 1024;

/** Memory for sealed volumes that wait to be sent, shared by all uploads of a session. */
export class Budget {
  #room: number;

  constructor(bytes: number) {
    this.#room = bytes;
  }

  /** False when there is no room; nothing is waited for. */
  take(bytes: number): boolean {
    if (bytes > this.#room) return false;
    this.#room -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#room += bytes;
  }
}
