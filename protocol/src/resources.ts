import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { Type } from './type.ts';

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const DirId = Type.Union([Type.Integer(), Type.Null()], {
  description: "a directory of the caller's, any other integer is 403; null or 0 is the root",
});
const Sha256 = (description: string) => Type.String({ pattern: '^[0-9A-Fa-f]{64}$', description });

export const ErrorBody = Type.Object({ error: Type.String() }, { $id: 'Error' });
export const DetailBody = Type.Object({ detail: Type.String() }, { $id: 'Detail' });

export const ServiceInfo = Type.Object(
  {
    service_id: Type.String({
      pattern: '^[0-9a-f]{32}$',
      description: '32 hex digits, random, never changed',
    }),
    version: Type.String({ description: 'of the server' }),
    features: Type.Array(Type.String(), { description: 'what it offers beside the specified interface' }),
    registration: Type.String({ description: 'open, closed, or invite: it needs an invitation' }),
    origin: Type.Optional(
      Type.String({ description: 'where passkeys work, if the server knows its address' }),
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
    user_id: Type.Union([Type.String(), Type.Null()], { description: 'owner; null for old ownerless files' }),
    dir_id: Type.Union([Type.Integer(), Type.Null()]),
    dir_name: Type.String({ description: 'empty in the root' }),
    chunk_count: Type.Integer(),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    enc_params: Type.Optional(
      Type.String({ description: 'only with headers=1: as X-Enc-Params of its volumes has it' }),
    ),
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

/** What a file is, whether init says it or complete. */
const described = {
  file_name: Type.String({ description: 'path separators are removed, cut to 255 characters' }),
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
      description: 'digests come with the volumes, in Content-Digest, and the rest with complete',
    }),
    chunk_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.volumesPerFile,
        description: 'together with chunks; without both of them the length is not known yet',
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
  description: 'only for a streamed transfer, of which it says what the file is; otherwise it is ignored',
});
export type CompleteBody = Static<typeof CompleteBody>;

export const NamesBody = Type.Object(
  {
    files: Type.Array(
      Type.Object({
        file_id: Type.String(),
        file_name: described.file_name,
        enc_params: Type.String({
          description: 'what X-Enc-Params says from now on: base64 of a JSON object',
        }),
        match: Sha256('of the X-Enc-Params that this replaces, as the server gave it'),
        dir_id: Type.Optional(
          Type.Union([Type.Integer(), Type.Null()], {
            description: 'where it moves: as with init; without it the file stays where it is',
          }),
        ),
      }),
      { minItems: 1, maxItems: limits.filesPerBatch },
    ),
    in_trash: Type.Optional(
      Type.Boolean({ description: 'true: all of them are in the trash, and stay there; none has a dir_id' }),
    ),
  },
  { $id: 'Names' },
);
export type NamesBody = Static<typeof NamesBody>;

/** Becomes another one whenever something changes. */
export const Changes = Type.Object(
  {
    rev: Type.String({ description: 'another one after any change of files or directories, by anybody' }),
  },
  { $id: 'Changes' },
);
export type Changes = Static<typeof Changes>;

/** None of the files was renamed. */
export const NotRenamed = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), {
      description: 'those that are not as the caller saw them, or are gone',
    }),
  },
  { $id: 'NotRenamed' },
);
export type NotRenamed = Static<typeof NotRenamed>;

const DirName = Type.String({ description: `1 to ${limits.dirNameChars} characters, none of them / or \\` });
export const NewDir = Type.Object({ name: DirName }, { $id: 'NewDirectory' });
export type NewDir = Static<typeof NewDir>;

export const DirNameBody = Type.Object(
  { name: DirName, match: Type.String({ description: 'the name that it has now' }) },
  { $id: 'DirectoryName' },
);
export type DirNameBody = Static<typeof DirNameBody>;

export const DirTarget = Type.Object(
  { dir_id: Type.Optional(DirId) },
  { $id: 'DirTarget', description: 'may be left out, which means the root' },
);
export type DirTarget = Static<typeof DirTarget>;

/** "null, 0 or a missing key means the root": 0. An integer that no directory can have is -1, which none has either. */
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
      Type.Array(ReceivedVolume, { description: 'the same with sizes and digests, of a streamed transfer' }),
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
