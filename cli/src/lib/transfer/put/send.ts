import { type AttributesChange, type ByteStream, bytesSource, type Source } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError } from '../../../errors.ts';
import { explain } from '../../../explain.ts';
import { parseSize } from '../../print/quantities.ts';
import { formatBytes, oneLine } from '../../print/text.ts';
import type { PlannedFile } from '../../select/plan.ts';
import { hostFor } from '../pull.ts';
import type { TransferRun } from '../run.ts';
import type { Put } from './context.ts';

/** Attributes that are sealed with an upload. */
export interface SentAttributes extends AttributesChange {
  mtime: number;
  /** `gen` of the newest version on the server. */
  after?: number | undefined;
}

/** The content of a link. */
export const NO_BYTES: Source = bytesSource(new Uint8Array());

/** Uploads a file; in a dry run only reports it. */
export async function send(
  put: Put,
  source: Source | ByteStream,
  file: PlannedFile,
  attributes: SentAttributes,
): Promise<void> {
  const { run, szafa, pull } = put;
  const { flags, out, signal } = run.invocation;
  const { path, to, origin, size: planned } = file;
  if (flags['dry-run']) return planUpload(run, { path, to, size: planned });
  const known = 'size' in source ? source.size : undefined;
  const upload = run.progress.track(to, known, (onProgress) =>
    szafa.upload(source, {
      path: to,
      ...attributes,
      ...(file.kind === 'link' && { link: file.target }),
      source: origin,
      volumeSize: volumeSize(run.invocation),
      plainName: flags['plain-names'],
      parallel: run.concurrency.volumes,
      journal: run.journal,
      pull: pull && hostFor(pull, szafa.api.server),
      signal,
      onProgress,
    }),
  );
  const { fileId, storedSize, volumes, resumed, size, grown } = await upload.catch((error) => {
    throw pull && !signal.aborted ? explainPull(error) : error;
  });
  put.uploaded.push(file);
  run.count(size);
  const again = resumed > 0 ? `, ${resumed} of ${volumes} volumes were already there` : '';
  const fields = { path, to, file_id: fileId, size, stored_size: storedSize, volumes, resumed };
  out.done('uploaded', fields, `put ${oneLine(to)}  ${formatBytes(size)}  ${oneLine(fileId)}${again}`);
  if (grown) noteGrown(run.invocation, path, size);
}

export function volumeSize({ flags }: Invocation): number | undefined {
  const text = flags['volume-size'];
  return text === undefined ? undefined : parseSize('volume-size', text);
}

/** Reports an upload of a dry run. */
export function planUpload(run: TransferRun, file: { path: string; to: string; size: number }): void {
  const { to, size } = file;
  run.progress.start(to, size).end(true);
  run.count(size);
  const text = `would put ${oneLine(to)}${to.endsWith('/') ? '' : `  ${formatBytes(size)}`}`;
  run.invocation.out.done('planned', { action: 'upload', ...file }, text);
}

/** Reports a file that was stored as it was when reading began; the exit code tells as well. */
export function noteGrown({ batch, out }: Invocation, path: string, size: number): void {
  batch.partial++;
  const message = `${oneLine(path)} has grown since its upload began: its first ${formatBytes(size)} are stored`;
  out.warning('grown', message, { path, size });
}

/** If the server could not fetch, the remedy is to send. */
function explainPull(error: unknown): unknown {
  const { code, message } = explain(error);
  if (code !== 'conflict' && code !== 'server') return error;
  const hint = 'run the same command without --pull to send what is missing';
  return new CliError('pull', message, hint, { cause: error });
}

/**
 * Standard input, in parts that are valid until the next one is read. Frees the memory of each: the garbage collector would wait
 * for another 64 MB.
 */
export async function* standardInput(): AsyncGenerator<Uint8Array> {
  for await (const part of process.stdin as AsyncIterable<Buffer<ArrayBuffer>>) {
    yield part;
    const { buffer, byteLength } = part;
    if (buffer.byteLength === byteLength) buffer.transfer(0);
  }
}
