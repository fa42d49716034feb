import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { Type } from './type.ts';

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const DirId = Type.Union([Type.Integer(), Type.Null()], {
  description: "one of the caller's directories, otherwise 403; null or 0 is the root",
});
const Sha256 = (description: string) => Type.String({ pattern: '^[0-9A-Fa-f]{64}$', description });

export const ErrorBody = Type.Object({ error: Type.String() }, { $id: 'Error' });
/** The responses of a route that are errors without other fields. */
export const errors = <Status extends number>(...statuses: Status[]) =>
  Object.fromEntries(statuses.map((status) => [status, ErrorBody])) as Record<Status, typeof ErrorBody>;
export const DetailBody = Type.Object({ detail: Type.String() }, { $id: 'Detail' });

export const ServiceInfo = Type.Object(
  {
    service_id: Type.String({
      pattern: '^[0-9a-f]{32}$',
      description: '32 random hex digits that never change',
    }),
    version: Type.String({ description: 'version of the server' }),
    features: Type.Array(Type.String(), { description: 'what it offers besides the specified interface' }),
    registration: Type.String({ description: 'open, closed, or invite (with an invitation)' }),
    origin: Type.Optional(
      Type.String({ description: 'the address where passkeys work, if the server knows it' }),
    ),
  },
  { $id: 'ServiceInfo' },
);
export type ServiceInfo = Static<typeof ServiceInfo>;

export const Quota = Type.Object(
  {
    used_bytes: Type.Integer({ description: "sum of the sizes of the caller's files" }),
    quota_bytes: Type.Integer(),
    remain_bytes: Type.Integer({ description: 'quota minus used, never below 0' }),
    percent: Type.Number({ description: 'used*100/quota, one decimal; 0 when the quota is 0' }),
  },
  { $id: 'Quota' },
);
export type Quota = Static<typeof Quota>;

export const Directory = Type.Object(
  {
    dir_id: Type.Integer(),
    name: Type.String(),
    owner: Type.String(),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    file_count: Type.Integer(),
    size: Type.Integer({ description: 'sum of the sizes of its files' }),
  },
  { $id: 'Directory' },
);
export type Directory = Static<typeof Directory>;

export const FileRecord = Type.Object(
  {
    file_id: Type.String(),
    file_name: Type.String(),
    size: Type.Integer(),
    sha256: Type.String(),
    user_id: Type.Union([Type.String(), Type.Null()], {
      description: 'the owner; null for old files without one',
    }),
    dir_id: Type.Union([Type.Integer(), Type.Null()]),
    dir_name: Type.String({ description: 'empty in the root' }),
    chunk_count: Type.Integer(),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    enc_params: Type.Optional(Type.String({ description: 'only with headers=1: the value of X-Enc-Params' })),
  },
  { $id: 'File' },
);
export type FileRecord = Static<typeof FileRecord>;

export const VolumeSpec = Type.Object(
  {
    idx: Type.Optional(Type.Integer({ description: 'volume number; by position when absent' })),
    size: Count('bytes of the volume'),
    sha256: Sha256('digest of the volume'),
  },
  { $id: 'VolumeSpec' },
);
export type VolumeSpec = Static<typeof VolumeSpec>;

/** Properties of a file, declared by init or by complete. */
const described = {
  file_name: Type.String({ description: 'path separators are removed; cut to 255 characters' }),
  file_size: Count('size recorded on the file and counted toward the quota'),
  total_sha256: Sha256('whole-file digest recorded on the file'),
  chunk_count: Type.Integer({ minimum: 1, maximum: limits.volumesPerFile }),
  enc_params: Type.Object(
    {},
    { additionalProperties: true, description: 'any JSON object; returned in X-Enc-Params' },
  ),
};

export const InitBody = Type.Object(
  {
    ...described,
    chunks: Type.Array(VolumeSpec, { minItems: 1, maxItems: limits.volumesPerFile }),
    dir_id: Type.Optional(DirId),
  },
  { $id: 'Init' },
);
export type InitBody = Static<typeof InitBody>;

export const StreamedVolumeSpec = Type.Object(
  { idx: VolumeSpec.properties.idx, size: VolumeSpec.properties.size },
  { $id: 'StreamedVolumeSpec' },
);
export type StreamedVolumeSpec = Static<typeof StreamedVolumeSpec>;

export const StreamedInitBody = Type.Object(
  {
    streamed: Type.Literal(true, {
      description: 'digests come with the volumes, in Content-Digest; everything else comes with complete',
    }),
    chunk_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.volumesPerFile,
        description: 'only with chunks; without both, the length is unknown',
      }),
    ),
    chunks: Type.Optional(Type.Array(StreamedVolumeSpec, { minItems: 1, maxItems: limits.volumesPerFile })),
    dir_id: Type.Optional(DirId),
  },
  { $id: 'StreamedInit' },
);
export type StreamedInitBody = Static<typeof StreamedInitBody>;

export const CompleteBody = Type.Object(described, {
  $id: 'Complete',
  description: 'describes the file of a streamed transfer; ignored for others',
});
export type CompleteBody = Static<typeof CompleteBody>;

export const NamesBody = Type.Object(
  {
    files: Type.Array(
      Type.Object({
        file_id: Type.String(),
        file_name: described.file_name,
        enc_params: Type.String({
          description: 'the new value of X-Enc-Params: base64 of a JSON object',
        }),
        match: Sha256('of the X-Enc-Params that this replaces, as the server gave it'),
        dir_id: Type.Optional(
          Type.Union([Type.Integer(), Type.Null()], {
            description: 'the new directory, as for init; absent: unchanged',
          }),
        ),
      }),
      { minItems: 1, maxItems: limits.filesPerBatch },
    ),
    in_trash: Type.Optional(
      Type.Boolean({ description: 'true: all files are in the trash and stay there; none has a dir_id' }),
    ),
  },
  { $id: 'Names' },
);
export type NamesBody = Static<typeof NamesBody>;

export const Changes = Type.Object(
  {
    rev: Type.String({ description: 'changes with every change of files or directories, by any client' }),
  },
  { $id: 'Changes' },
);
export type Changes = Static<typeof Changes>;

/** The answer when no file was changed. */
export const NotRenamed = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), {
      description: 'files that have changed or been deleted in the meantime',
    }),
  },
  { $id: 'NotRenamed' },
);
export type NotRenamed = Static<typeof NotRenamed>;

const DirName = Type.String({ description: `1 to ${limits.dirNameChars} characters, none of them / or \\` });
export const NewDir = Type.Object({ name: DirName }, { $id: 'NewDirectory' });
export type NewDir = Static<typeof NewDir>;

export const DirNameBody = Type.Object(
  { name: DirName, match: Type.String({ description: 'the current name' }) },
  { $id: 'DirectoryName' },
);
export type DirNameBody = Static<typeof DirNameBody>;

export const DirTarget = Type.Object(
  { dir_id: Type.Optional(DirId) },
  { $id: 'DirTarget', description: 'absent: the root' },
);
export type DirTarget = Static<typeof DirTarget>;

/** Returns 0, the root, for null, 0 or a missing key, and -1 for integers that no directory can have. */
export function targetDir({ dir_id }: DirTarget): number {
  const dirId = dir_id || 0;
  return Number.isSafeInteger(dirId) ? dirId : -1;
}

export const PullBody = Type.Object(
  {
    base_url: Type.String({
      description: "address of the client's temporary server, without a trailing slash",
    }),
    token: Type.String({ description: 'one-time token of that server' }),
  },
  { $id: 'Pull' },
);
export type PullBody = Static<typeof PullBody>;

export const PullProgress = Type.Object(
  { pulled: Type.Integer(), total: Type.Integer() },
  { $id: 'PullProgress' },
);
export type PullProgress = Static<typeof PullProgress>;

export const ReceivedVolume = Type.Object(
  { idx: Type.Integer(), size: Type.Integer(), sha256: Type.String() },
  { $id: 'ReceivedVolume' },
);
export type ReceivedVolume = Static<typeof ReceivedVolume>;
export const Received = Type.Object(
  {
    received: Type.Array(Type.Integer()),
    volumes: Type.Optional(
      Type.Array(ReceivedVolume, { description: 'for a streamed transfer: the same with sizes and digests' }),
    ),
  },
  { $id: 'Received' },
);
export type Received = Static<typeof Received>;
export const Done = Type.Object({ status: Type.Literal('done'), file_id: Type.String() }, { $id: 'Done' });
export const NotDone = Type.Object(
  {
    status: Type.Union([Type.Literal('incomplete'), Type.Literal('failed')]),
    error: Type.String(),
    received: Type.Optional(Type.Array(Type.Integer(), { description: 'with status incomplete' })),
  },
  { $id: 'NotDone' },
);
export type NotDone = Static<typeof NotDone>;
