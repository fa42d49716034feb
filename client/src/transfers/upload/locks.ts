import { sleep } from '../../http/retry.ts';

/**
 * Locks among all processes that share a journal, so that no two of them write or upload the same file at once. The locks of a process
 * end with it, even if it is killed. @public
 */
export interface TransferLocks {
  /** Returns the id of the journal. It is part of the names of temporary files, which so stay distinct between journals. */
  id(): Promise<string>;
  /** Locks those keys that are free, and returns them. */
  take(keys: Iterable<string>): Promise<Set<string>>;
  release(keys: Iterable<string>): Promise<void>;
}

export interface LockOptions {
  signal?: AbortSignal | undefined;
  /** Called before waiting for another process. */
  onWait?: (() => void) | undefined;
}

const POLL_MS = 200;

/** Waits for a lock. Returns whether another process had it. @public */
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
