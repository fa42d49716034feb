import type { SealedVolume } from '@szafa/format';
import { encodeInit } from '@szafa/protocol';
import { writeFile } from '../calls.ts';
import { ageOf, declare, describe, type SealedFile } from './description.ts';
import type { PlacedOptions, UploadContext, UploadResult } from './options.ts';
import type { ProgressTracker } from './progress.ts';

/** A larger file is better begun first: it may be refused before it is sent, and goes on where it was. */
export const WHOLE_BYTES = 1024 * 1024;

/** Sends a small file, of one volume, in one request; undefined where the service does not take it so. */
export async function sendWhole(
  { api, engine, keys, headers }: UploadContext,
  file: SealedFile,
  { bytes }: SealedVolume,
  options: PlacedOptions,
  sent: ProgressTracker,
): Promise<UploadResult | undefined> {
  const { signal, dirId } = options;
  const { size } = file.layout;
  const description = await describe(engine, await keys.current(signal), file, ageOf(options), options);
  const header = encodeInit(declare(description, file, options));
  if (header === undefined) return undefined;
  const transferId = engine.random(20).toBase64({ alphabet: 'base64url', omitPadding: true });
  sent.begin(0);
  const onBytes = (moved: number) => sent.move(1, moved, size);
  const answer = await writeFile(api, transferId, header, bytes, { signal, onBytes });
  if (!answer) return undefined;
  sent.arrive(1, size);
  const { file_name, file_size: storedSize, total_sha256: sha256, enc_params } = description;
  const fileId = answer.file_id;
  headers?.save({ file_id: fileId, file_name, sha256, dir_id: dirId }, { ...enc_params });
  return { fileId, totalSha256: sha256, size, storedSize, volumes: 1, resumed: 0 };
}
