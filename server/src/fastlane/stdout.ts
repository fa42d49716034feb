/**
 * Makes writes to standard output fail instead of waiting for the reader of a pipe. All processes share this flag of the
 * pipe, and each of ours clears it when it starts and when it exits: a process that waited for a stopped reader would never
 * exit.
 */
export function unblockStdout(): void {
  const { _handle } = process.stdout as { _handle?: { setBlocking?(on: boolean): void } | null };
  _handle?.setBlocking?.(false);
}
