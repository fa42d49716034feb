/** Bodies and answers of the routes for files and directories. */
import type { Static, TSchema } from 'typebox';
import { limits } from '../basics/limits.ts';
import { bytesOf, Count, Named, Nullable, pageOf, Sha256, Sum, Text, Time } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

/** Query of a list of files. `cursor` is the pattern of a cursor, `about` describes the directory. */
export const fileListQuery = (cursor: string, about: string) =>
  Type.Object({
    ...pageOf('files a page', cursor),
    dir_id: Type.Optional(Type.String({ pattern: '^[0-9]{1,16}$', description: about })),
    headers: Type.Optional(
      Type.Literal('1', {
        description: `adds enc_params to each file, and makes pages of at most ${limits.headersPage}`,
      }),
    ),
  });
export const FileList = <Schema extends TSchema>(file: Schema) =>
  Type.Object({
    files: Type.Array(file),
    next_cursor: Type.Optional(Text('only with limit, when there are more')),
  });

/** Length of a SHA-256 in bytes. */
export const DIGEST_BYTES = 32;
/** Answers with the digests of a file's volumes. Clients compare them with the file's header before they read a volume. */
export const digestAnswers = bytesOf(
  `the digests, ${DIGEST_BYTES} bytes a volume, with an ETag made from their SHA-256`,
);

export const DirId = Nullable(
  Type.Integer(),
  "one of the caller's directories, otherwise 403; null or 0 is the root",
);
export const FileName = Text('path separators are removed; cut to 255 characters');

export const Quota = Named('Quota', {
  used_bytes: Sum("sum of the sizes of the caller's files"),
  quota_bytes: Type.Integer(),
  remain_bytes: Count('quota minus used, never below 0'),
  percent: Type.Number({ description: 'used*100/quota, one decimal; 0 when the quota is 0' }),
});
export type Quota = Static<typeof Quota>;

export const Directory = Named('Directory', {
  dir_id: Type.Integer(),
  name: Type.String(),
  owner: Type.String(),
  created_at: Time(),
  file_count: Type.Integer(),
  size: Sum('sum of the sizes of its files'),
});
export type Directory = Static<typeof Directory>;

export const FileRecord = Named('File', {
  file_id: Type.String(),
  file_name: Type.String(),
  size: Type.Integer(),
  sha256: Type.String(),
  user_id: Nullable(Type.String(), 'the owner; null for old files without one'),
  dir_id: Nullable(Type.Integer()),
  dir_name: Text('empty in the root'),
  chunk_count: Type.Integer(),
  created_at: Time(),
  enc_params: Type.Optional(Text('only with headers=1: the value of X-Enc-Params')),
});
export type FileRecord = Static<typeof FileRecord>;

export const NamesBody = Named('Names', {
  files: Type.Array(
    Type.Object({
      file_id: Type.String(),
      file_name: FileName,
      enc_params: Text('the new value of X-Enc-Params: base64 of a JSON object'),
      match: Sha256('of the X-Enc-Params that this replaces, as the server gave it'),
      dir_id: Type.Optional(Nullable(Type.Integer(), 'the new directory, as for init; absent: unchanged')),
    }),
    { minItems: 1, maxItems: limits.filesPerBatch },
  ),
  in_trash: Type.Optional(
    Type.Boolean({ description: 'true: all files are in the trash and stay there; none has a dir_id' }),
  ),
});
export type NamesBody = Static<typeof NamesBody>;

export const Changes = Named('Changes', {
  rev: Text('changes with every change of files or directories, by any client'),
});
export type Changes = Static<typeof Changes>;

/** The answer if nothing was renamed: a rename changes all files or none. */
export const NotRenamed = Named('NotRenamed', {
  error: Type.String(),
  files: Type.Array(Type.String(), {
    description: 'files that have changed or been deleted in the meantime',
  }),
});
export type NotRenamed = Static<typeof NotRenamed>;

const DirName = Text(`1 to ${limits.dirNameChars} characters, none of them / or \\`);
export const NewDir = Named('NewDirectory', { name: DirName });
export type NewDir = Static<typeof NewDir>;

export const DirNameBody = Named('DirectoryName', { name: DirName, match: Text('the current name') });
export type DirNameBody = Static<typeof DirNameBody>;

export const DirTarget = Named(
  'DirTarget',
  { dir_id: Type.Optional(DirId) },
  { description: 'absent: the root' },
);
export type DirTarget = Static<typeof DirTarget>;

/** Returns 0, the root, for null, 0 or a missing key, and -1 for an integer that cannot be a directory ID. */
export function targetDir({ dir_id }: DirTarget): number {
  const dirId = dir_id || 0;
  return Number.isSafeInteger(dirId) ? dirId : -1;
}
