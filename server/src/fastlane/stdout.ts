/**
 * Makes writes to standard output fail instead of wait for the reader of a pipe. All processes share the flag, and each process
 * of ours clears it as it starts and as it exits. A process that waited for a stopped reader would never exit.
 */
export function unblockStdout(): void {
  const { _handle } = process.stdout as { _handle?: { setBlocking?(on: boolean): void } | null };
  _handle?.setBlocking?.(false);
}
