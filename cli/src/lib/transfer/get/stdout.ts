import type { ReadableHeader, RemoteFile } from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';

/** The value of --output for standard output. */
export const STDOUT = '-';

function writeOut(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(outputError(error)) : resolve()));
  });
}

function outputError(cause: NodeJS.ErrnoException): Error {
  if (cause.code !== 'EPIPE') return cause;
  const hint = 'the program at the other end of the pipe ended early';
  return new CliError('output-closed', 'standard output was closed', hint, { cause });
}

/** Ignores 'error' events, which would end the process: write callbacks report the same errors. */
export function listenToStdout(): void {
  process.stdout.on('error', () => {});
}

/** Throws for a symbolic link, which has no content to print. */
export function checkPrintable(link: string | undefined): void {
  if (link === undefined) return;
  const target = link === '' ? 'something outside of the share' : oneLine(link);
  throw new CliError('is-link', `is a symbolic link to ${target}`, 'name the file that it leads to');
}

/** Prints each volume as soon as it is verified. Only exit code 0 means that the whole file was verified. */
export async function printFile(
  remote: RemoteFile<ReadableHeader>,
  options: Parameters<typeof remote.volumes>[0],
): Promise<void> {
  for await (const volume of remote.volumes(options)) {
    await writeOut(volume.bytes);
    volume.release();
  }
}
