import { sleep } from '../../http/retry.ts';

/**
 * Locks for all processes that share a journal, so that no two of them write or upload the same file at the same time.
 * The locks of a process end with it, even if it is killed. @public
 */
export interface TransferLocks {
  /** Returns the id of the journal, which is part of the names of files that it leaves elsewhere. */
  id(): Promise<string>;
  /** Locks the keys that are free, and returns them. */
  take(keys: Iterable<string>): Promise<Set<string>>;
  release(keys: Iterable<string>): Promise<void>;
}

export interface LockOptions {
  signal?: AbortSignal | undefined;
  /** Called before waiting for another holder. */
  onWait?: (() => void) | undefined;
}

const POLL_MS = 200;

/** Waits for a lock, and returns whether another process had it. @public */
export async function waitForLock(
  locks: TransferLocks,
  key: string,
  { signal, onWait }: LockOptions,
): Promise<boolean> {
  let waited = false;
  while ((await locks.take([key])).size === 0) {
    if (!waited) onWait?.();
    waited = true;
    await sleep(POLL_MS, signal);
  }
  return waited;
}
