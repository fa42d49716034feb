/**
 * missing-tool: not found through PATH. cannot-start: found, but the system will not run it. exit: it ended
 * without success. refused: an address, the first or one redirected to, is not allowed.
 */
export type PullFailure = 'missing-tool' | 'cannot-start' | 'exit' | 'refused' | 'timeout' | 'aborted';

/** Why a pull ended; the message never holds an address, a token or a transfer id. */
export class PullError extends Error {
  override name = 'PullError';
  readonly kind: PullFailure;

  constructor(kind: PullFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The exit codes of aria2c that a list of plain HTTP addresses can bring about. */
const MEANINGS: Record<number, string> = {
  1: 'unknown error',
  2: 'time-out',
  3: 'volume not found',
  4: 'volume not found',
  5: 'too slow',
  6: 'network problem',
  7: 'unfinished downloads',
  8: 'the server cannot resume',
  9: 'disk full',
  13: 'file already exists',
  15: 'cannot open a file',
  16: 'cannot create a file',
  17: 'file input or output failed',
  18: 'cannot create a folder',
  19: 'name resolution failed',
  22: 'unexpected HTTP response',
  23: 'too many redirects',
  24: 'HTTP authorization failed',
  28: 'bad option',
  29: 'the server is overloaded',
};

/** `fault` is what the client's server did wrong last, where that is known. */
export function exitError(code: number | null, signal: string | null, fault: string | undefined): PullError {
  const how =
    code === null
      ? `was killed by ${signal}`
      : `ended with code ${code} (${MEANINGS[code] ?? 'unknown meaning'})`;
  const why = fault === undefined ? '' : `: ${fault}`;
  return new PullError('exit', `the download tool ${how}${why}`);
}
