/** Bodies and answers of the routes for uploads. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { Count, Named, Sha256, Size, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { DirId, FileName } from '../files/records.ts';

export const VolumeSpec = Named('VolumeSpec', {
  idx: Type.Optional(Count('volume number; by position when absent')),
  size: Size('bytes of the volume'),
  sha256: Sha256('digest of the volume'),
});
export type VolumeSpec = Static<typeof VolumeSpec>;

/** Properties of a file, declared by init or by complete. */
const described = {
  file_name: FileName,
  file_size: Size('size recorded on the file and counted toward the quota'),
  total_sha256: Sha256('whole-file digest recorded on the file'),
  chunk_count: Type.Integer({ minimum: 1, maximum: limits.volumesPerFile }),
  enc_params: Type.Object(
    {},
    { additionalProperties: true, description: 'any JSON object; returned in X-Enc-Params' },
  ),
};

export const InitBody = Named('Init', {
  ...described,
  chunks: Type.Array(VolumeSpec, { minItems: 1, maxItems: limits.volumesPerFile }),
  dir_id: Type.Optional(DirId),
});
export type InitBody = Static<typeof InitBody>;

export const StreamedVolumeSpec = Named('StreamedVolumeSpec', {
  idx: VolumeSpec.properties.idx,
  size: VolumeSpec.properties.size,
});
export type StreamedVolumeSpec = Static<typeof StreamedVolumeSpec>;

export const StreamedInitBody = Named('StreamedInit', {
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
});
export type StreamedInitBody = Static<typeof StreamedInitBody>;

export const CompleteBody = Named('Complete', described, {
  description: 'describes the file of a streamed transfer; ignored for others',
});
export type CompleteBody = Static<typeof CompleteBody>;

export const PullBody = Named('Pull', {
  base_url: Text("address of the client's temporary server, without a trailing slash"),
  token: Text('one-time token of that server'),
});
export type PullBody = Static<typeof PullBody>;

export const PullProgress = Named('PullProgress', { pulled: Type.Integer(), total: Type.Integer() });
export type PullProgress = Static<typeof PullProgress>;

export const ReceivedVolume = Named('ReceivedVolume', {
  idx: Type.Integer(),
  size: Type.Integer(),
  sha256: Type.String(),
});
export type ReceivedVolume = Static<typeof ReceivedVolume>;
export const Received = Named('Received', {
  received: Type.Array(Type.Integer()),
  volumes: Type.Optional(
    Type.Array(ReceivedVolume, { description: 'for a streamed transfer: the same with sizes and digests' }),
  ),
});
export type Received = Static<typeof Received>;
export const Done = Named('Done', { status: Type.Literal('done'), file_id: Type.String() });
export const NotDone = Named('NotDone', {
  status: Type.Union([Type.Literal('incomplete'), Type.Literal('failed')]),
  error: Type.String(),
  received: Type.Optional(Type.Array(Type.Integer(), { description: 'with status incomplete' })),
});
export type NotDone = Static<typeof NotDone>;
