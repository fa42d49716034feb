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

/** Attributes sealed with an upload. */
export interface SentAttributes extends AttributesChange {
  mtime: number;
  /** `gen` of the newest version on the server. */
  after?: number | undefined;
}

/** Content of a symbolic link, whose target is in the metadata. */
export const NO_BYTES: Source = bytesSource(new Uint8Array());

/** Uploads a file, or only reports it in a dry run. */
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

/** Reports what a dry run would upload. */
export function planUpload(run: TransferRun, file: { path: string; to: string; size: number }): void {
  const { to, size } = file;
  run.progress.start(to, size).end(true);
  run.count(size);
  const text = `would put ${oneLine(to)}${to.endsWith('/') ? '' : `  ${formatBytes(size)}`}`;
  run.invocation.out.done('planned', { action: 'upload', ...file }, text);
}

/** Warns that a file grew during its upload, so that only its first part is stored. Changes the exit code. */
export function noteGrown({ batch, out }: Invocation, path: string, size: number): void {
  batch.partial++;
  const message = `${oneLine(path)} has grown since its upload began: its first ${formatBytes(size)} are stored`;
  out.warning('grown', message, { path, size });
}

/** If the server could not fetch the volumes, suggests a normal upload. */
function explainPull(error: unknown): unknown {
  const { code, message } = explain(error);
  if (code !== 'conflict' && code !== 'server') return error;
  const hint = 'run the same command without --pull to send what is missing';
  return new CliError('pull', message, hint, { cause: error });
}

/**
 * Yields standard input in parts, each valid until the next one is read. Frees each part explicitly, because the garbage collector
 * would let up to 64 MB pile up.
 */
export async function* standardInput(): AsyncGenerator<Uint8Array> {
  for await (const part of process.stdin as AsyncIterable<Buffer<ArrayBuffer>>) {
    yield part;
    const { buffer, byteLength } = part;
    if (buffer.byteLength === byteLength) buffer.transfer(0);
  }
}
