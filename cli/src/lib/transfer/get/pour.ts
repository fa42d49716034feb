import type { Szafa } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';
import { type Chosen, openChosen } from '../../select/selection.ts';
import type { Track } from '../progress/tally.ts';

export function writeOut(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(outputError(error)) : resolve()));
  });
}

function outputError(cause: NodeJS.ErrnoException): Error {
  if (cause.code !== 'EPIPE') return cause;
  return new CliError(
    'output-closed',
    'standard output was closed',
    'the program at the other end of the pipe ended early',
    1,
    { cause },
  );
}

/** The callback of a write has the error; without a listener the event would end the process. */
export function listenToStdout(): void {
  process.stdout.on('error', () => {});
}

/** It has no bytes that could be printed. */
export function isLink(target: string): CliError {
  const message = `is a symbolic link to ${target === '' ? 'something outside of the share' : oneLine(target)}`;
  return new CliError('is-link', message, 'name the file that it leads to');
}

/** Each volume is verified before it is passed on; only exit code 0 says that the whole was. Returns the size. */
export async function pour(
  szafa: Szafa,
  file: Chosen,
  invocation: Invocation,
  { parallel, track }: { parallel: number; track: Track },
): Promise<number> {
  const { signal } = invocation;
  const remote = await openChosen(szafa, file, invocation);
  const { link, size } = remote.metadata;
  if (link !== undefined) throw isLink(link);
  const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
  for await (const volume of remote.volumes({ signal, parallel, onProgress })) {
    await writeOut(volume.bytes);
    volume.release();
  }
  return size;
}
