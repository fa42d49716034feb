import { sleep } from '../../http/retry.ts';

/**
 * Who is at work on what, among all that share a journal: two of them must neither write one file nor upload one file
 * at the same time. A lock ends with the process that has it, however that ends. @public
 */
export interface TransferLocks {
  /** Names the journal: what lies unfinished outside its folder carries it, and is known again by it. */
  id(): Promise<string>;
  /** Those of the keys that nobody else has, which are from now on had here. */
  take(keys: Iterable<string>): Promise<Set<string>>;
  release(keys: Iterable<string>): Promise<void>;
}

export interface LockOptions {
  signal?: AbortSignal | undefined;
  /** Somebody else has it, and is waited for. */
  onWait?: (() => void) | undefined;
}

const ASK_EVERY_MS = 200;

/** Waits until the key is free; true when there was somebody to wait for. @public */
export async function waitForLock(
  locks: TransferLocks,
  key: string,
  { signal, onWait }: LockOptions,
): Promise<boolean> {
  let waited = false;
  while ((await locks.take([key])).size === 0) {
    if (!waited) onWait?.();
    waited = true;
    await sleep(ASK_EVERY_MS, signal);
  }
  return waited;
}
