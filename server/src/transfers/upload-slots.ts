import { setTimeout as sleep } from 'node:timers/promises';
import { TryLater } from '../platform/http/api-error.ts';

/** More than one, because a body whose connection was lost unnoticed may still seem to be arriving while it is sent again. */
const PER_VOLUME = { node: 4, minProcess: 2 };
/** More than all devices of an account send at the same time. */
const PER_SENDER = { node: 256, minProcess: 32 };
/** How long a request waits for a slot, before its body is read or any space is reserved. */
const WAIT_MS = 5_000;
const RETRY_SECONDS = 10;

/**
 * Limits how many bodies arrive at once, for one volume and for one account or file request: each takes disk space that no
 * quota counts. Every process has its share of the node's limit and counts only its own uploads, so that no upload waits for
 * another process.
 */
export class UploadSlots {
  readonly #inUse = new Map<string, number>();
  readonly #perVolume: number;
  readonly #perSender: number;
  /** Resolves when a slot is released. */
  #released = Promise.withResolvers<void>();

  constructor(processes: number) {
    const share = ({ node, minProcess }: typeof PER_VOLUME) =>
      Math.max(minProcess, Math.ceil(node / processes));
    this.#perVolume = share(PER_VOLUME);
    this.#perSender = share(PER_SENDER);
  }

  /** Runs `work` in a slot. `sender` is the account, or the file request that a visitor uploads to. */
  async run<T>(sender: string, volume: string | undefined, work: () => Promise<T>): Promise<T> {
    const keys = [`sender ${sender}`, ...(volume === undefined ? [] : [`volume ${volume}`])] as const;
    let timeout: Promise<void> | undefined;
    let isLate = false;
    for (let refusal = this.#refusal(...keys); refusal; refusal = this.#refusal(...keys)) {
      if (isLate) throw new TryLater(429, refusal, RETRY_SECONDS);
      timeout ??= sleep(WAIT_MS, undefined, { ref: false }).then(() => {
        isLate = true;
      });
      await Promise.race([this.#released.promise, timeout]);
    }
    // No other code runs between the last check and this.
    for (const key of keys) this.#inUse.set(key, this.#count(key) + 1);
    try {
      return await work();
    } finally {
      for (const key of keys) {
        const left = this.#count(key) - 1;
        if (left > 0) this.#inUse.set(key, left);
        else this.#inUse.delete(key);
      }
      this.#released.resolve();
      this.#released = Promise.withResolvers();
    }
  }

  #refusal(senderKey: string, volumeKey?: string): string | undefined {
    if (volumeKey !== undefined && this.#count(volumeKey) >= this.#perVolume)
      return 'this volume is being uploaded already; try again later';
    const isFull = this.#count(senderKey) >= this.#perSender;
    return isFull ? 'too many uploads at once; use fewer connections' : undefined;
  }

  #count(key: string): number {
    return this.#inUse.get(key) ?? 0;
  }
}
