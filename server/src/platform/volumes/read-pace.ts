/** What a segment from memory takes at most, on slow machines too. A fast disk takes about as long, and then it matters little. */
const QUICK_MS = 0.3;
/** So long was no time slice given to somebody else: whatever the system says, the disk was waited for. */
const SURELY_WAITED_MS = 20;
const FIRST_PENALTY = 16;
const LAST_PENALTY = 4096;

/** Blocks that the disk, or a server of files, had to be asked for by this process. */
const inputsOfProcess = () => process.resourceUsage().fsRead;

/**
 * Whether a read may be done at once, or is left to a thread because the last ones had to wait. What is in the page cache is copied in less
 * time than it takes to wake a thread, be woken by it, and fetch the bytes from the cache of another core. A read that waits for the disk holds
 * everybody up. Nothing tells beforehand, so one that did sends the next ones to threads: 16, and twice as many each time that the next try waits again.
 */
export class ReadPace {
  readonly #inputs: () => number;
  #inputsSeen: number;
  #threaded = 0;
  #penalty = FIRST_PENALTY;

  constructor(inputs = inputsOfProcess) {
    this.#inputs = inputs;
    this.#inputsSeen = inputs();
  }

  /** Whether the next read is done at once; tell by `took` how long it took. */
  isDirect(): boolean {
    if (this.#threaded === 0) return true;
    this.#threaded--;
    return false;
  }

  took(ms: number): void {
    if (ms <= QUICK_MS) {
      this.#penalty = FIRST_PENALTY;
    } else if (this.#diskWasAsked() || ms > SURELY_WAITED_MS) {
      this.#threaded = this.#penalty;
      this.#penalty = Math.min(LAST_PENALTY, this.#penalty * 2);
    }
  }

  /** Since the last look; otherwise only the core was given to somebody else meanwhile. */
  #diskWasAsked(): boolean {
    const before = this.#inputsSeen;
    this.#inputsSeen = this.#inputs();
    return this.#inputsSeen !== before;
  }
}
