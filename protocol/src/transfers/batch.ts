/** Many small files in one request. The body is a line of JSON, followed by the volumes one after the other. */
import { shapeOf } from '../basics/json-shape.ts';
import { limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { Count, Named, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

/** A file in the first line. */
export interface BatchedFile {
  transfer_id: string;
  /** The same value as X-Init in a request for a single file. */
  init: string;
  /** Bytes of its volume. Checked against `init` when the file is received. */
  size: number;
}

export interface FilesHead {
  files: BatchedFile[];
}

/** Limits of the first line. */
export const filesHeadShape = shapeOf(
  Type.Object({
    files: Type.Array(
      Type.Object({ transfer_id: Type.String(), init: Type.String(), size: Type.Integer() }),
      { maxItems: limits.batchFiles },
    ),
  }),
);

/** Parses the first line. Checks only what is needed to find the volumes: any other error is the result of one file only. */
export function readFilesHead(line: string): FilesHead {
  let head: unknown;
  try {
    head = JSON.parse(line);
  } catch (cause) {
    throw new RuleError('the first line of the body is not JSON', { cause });
  }
  const files: unknown = (head as Partial<FilesHead> | null)?.files;
  if (!Array.isArray(files)) throw new RuleError('files must be an array');
  if (files.length < 1 || files.length > limits.batchFiles) {
    throw new RuleError(`files must have 1 to ${limits.batchFiles} entries`);
  }
  for (const [at, file] of (files as (Partial<BatchedFile> | null)[]).entries()) {
    const { transfer_id, init, size } = file ?? {};
    if (typeof transfer_id !== 'string') throw new RuleError(`files/${at}/transfer_id must be string`);
    if (typeof init !== 'string') throw new RuleError(`files/${at}/init must be string`);
    if (!(Number.isInteger(size) && size! >= 0)) {
      throw new RuleError(`files/${at}/size must be integer, 0 or more`);
    }
  }
  return { files };
}

export const FilesDone = Named('FilesDone', {
  files: Type.Array(
    Type.Object({
      status: Count('the status of this file, as in a request for it alone'),
      file_id: Type.Optional(Text('with status 200')),
      error: Type.Optional(Text('with any other status')),
    }),
  ),
});
