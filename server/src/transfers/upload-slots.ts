import { setTimeout as sleep } from 'node:timers/promises';
import { TryLater } from '../platform/http/api-error.ts';

/** On a node. A body that broke off unnoticed may seem to be under way for a while when it is sent again. */
const OF_VOLUME = { most: 4, ofProcess: 2 };
/** On a node; more than many devices of an account send together. */
const OF_ACCOUNT = { most: 256, ofProcess: 32 };
/** One that comes too early waits for this long, before it is read and holds any space. */
const WAIT_MS = 5_000;
const RETRY_SECONDS = 10;

/**
 * Limits how many bodies are on their way at a time: of one volume, and of one account or request. Each takes space on the disk
 * that no quota counts. Every process counts its own, so that no upload waits for another process, and has its part of what a
 * node allows, but never fewer than `ofProcess`.
 */
export class BodiesAtOnce {
  readonly #underWay = new Map<string, number>();
  readonly #ofVolume: number;
  readonly #ofAccount: number;
  /** Resolved whenever a body has ended. */
  #ended = Promise.withResolvers<void>();

  constructor(processes: number) {
    const part = ({ most, ofProcess }: typeof OF_VOLUME) => Math.max(ofProcess, Math.ceil(most / processes));
    this.#ofVolume = part(OF_VOLUME);
    this.#ofAccount = part(OF_ACCOUNT);
  }

  /** `sender`: the account, or the request that a visitor uploads for. */
  async run<T>(sender: string, volume: string | undefined, work: () => Promise<T>): Promise<T> {
    const ofVolume = volume === undefined ? undefined : `volume ${volume}`;
    const ofSender = `sender ${sender}`;
    let late: Promise<void> | undefined;
    let isLate = false;
    for (let refusal = this.#refusal(ofSender, ofVolume); refusal; ) {
      if (isLate) throw refusal;
      late ??= sleep(WAIT_MS, undefined, { ref: false }).then(() => {
        isLate = true;
      });
      await Promise.race([this.#ended.promise, late]);
      refusal = this.#refusal(ofSender, ofVolume);
    }
    // Nobody else comes in between the last look and this.
    const keys = ofVolume === undefined ? [ofSender] : [ofSender, ofVolume];
    for (const key of keys) this.#underWay.set(key, this.#count(key) + 1);
    try {
      return await work();
    } finally {
      for (const key of keys) {
        const left = this.#count(key) - 1;
        if (left > 0) this.#underWay.set(key, left);
        else this.#underWay.delete(key);
      }
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    }
  }

  #refusal(ofSender: string, ofVolume: string | undefined): TryLater | undefined {
    if (ofVolume !== undefined && this.#count(ofVolume) >= this.#ofVolume)
      return new TryLater(429, 'this volume is on its way already; try again later', RETRY_SECONDS);
    if (this.#count(ofSender) >= this.#ofAccount)
      return new TryLater(429, 'too many uploads at once; use fewer connections', RETRY_SECONDS);
    return undefined;
  }

  #count(key: string): number {
    return this.#underWay.get(key) ?? 0;
  }
}
