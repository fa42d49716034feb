import { type AttributesChange, type ByteStream, bytesSource, type Source } from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { explain } from '../../../explain.ts';
import type { Output } from '../../print/output.ts';
import { parseSize } from '../../print/quantities.ts';
import { formatBytes, oneLine } from '../../print/text.ts';
import type { Planned } from '../../select/plan.ts';
import type { Batch } from '../batch.ts';
import { hostFor } from '../pull.ts';
import type { Put } from './context.ts';

/** What a file of the system has beside its bytes. */
export interface Circumstances extends AttributesChange {
  mtime: number;
  /** `gen` of what is there. */
  after?: number | undefined;
}

/** A link has no bytes. */
export const NOTHING: Source = bytesSource(new Uint8Array());

/** Uploads it, or says that it would be. */
export async function send(
  put: Put,
  source: Source | ByteStream,
  file: Planned,
  circumstances: Circumstances,
): Promise<void> {
  if (!put.invocation.flags['dry-run']) return upload(put, source, file, circumstances);
  const { path, to, size } = file;
  put.progress.start(to, size).end(true);
  put.tally.files++;
  put.tally.bytes += size;
  const text = `would put ${oneLine(to)}  ${formatBytes(size)}`;
  put.invocation.out.done('planned', { action: 'upload', path, to, size }, text);
}

async function upload(
  put: Put,
  source: Source | ByteStream,
  file: Planned,
  circumstances: Circumstances,
): Promise<void> {
  const { invocation, szafa, journal, progress, parallel } = put;
  const { flags, out, signal } = invocation;
  const { path, to, origin } = file;
  const track = progress.start(to, 'size' in source ? source.size : undefined);
  let succeeded = false;
  try {
    const result = await szafa.upload(source, {
      path: to,
      ...circumstances,
      ...(file.kind === 'link' && { link: file.target }),
      source: origin,
      volumeSize:
        flags['volume-size'] === undefined ? undefined : parseSize('volume-size', flags['volume-size']),
      plainName: flags['plain-names'],
      parallel,
      journal,
      pull: put.pull && hostFor(put.pull, szafa.api.server),
      signal,
      onProgress: ({ done, total }) => track.update(done, total),
    });
    succeeded = true;
    put.uploaded.push(file);
    put.tally.files++;
    const { fileId, storedSize, volumes, resumed, size, grown } = result;
    put.tally.bytes += size;
    const again = resumed > 0 ? `, ${resumed} of ${volumes} volumes were already there` : '';
    out.done(
      'uploaded',
      { path, to, file_id: fileId, size, stored_size: storedSize, volumes, resumed },
      `put ${oneLine(to)}  ${formatBytes(size)}  ${oneLine(fileId)}${again}`,
    );
    if (grown) noteGrown(put.invocation.out, put.batch, path, size);
  } catch (error) {
    throw put.pull && !signal.aborted ? explainPull(error) : error;
  } finally {
    track.end(succeeded);
  }
}

/** It is stored as it was when reading began; the exit code says that it is not all that is there now. */
export function noteGrown(out: Output, batch: Batch, path: string, size: number): void {
  batch.partial++;
  const message = `${oneLine(path)} has grown since its upload began: its first ${formatBytes(size)} are stored`;
  out.warning('grown', message, { path, size });
}

/** The service could not fetch: what it says stays, what to do is to send. */
function explainPull(error: unknown): unknown {
  const { code, message } = explain(error);
  if (code !== 'conflict' && code !== 'server') return error;
  const hint = 'run the same command without --pull to send what is missing from here';
  return new CliError('pull', message, hint, 1, { cause: error });
}
