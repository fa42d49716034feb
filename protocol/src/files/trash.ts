/** The trash: files that can be restored for some days. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { pageOf, withHeaders } from '../basics/pages.ts';
import { ErrorBody, FileRecord } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';

export const FilesBody = Type.Object(
  {
    files: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limits.filesPerBatch,
      description: 'ids of files',
    }),
  },
  { $id: 'Files' },
);
export type FilesBody = Static<typeof FilesBody>;

/** The answer when no file was changed. */
export const NotThere = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), { description: 'files that the caller does not have' }),
  },
  { $id: 'NotThere' },
);
export type NotThere = Static<typeof NotThere>;

export const TrashedFile = Type.Object(
  {
    ...FileRecord.properties,
    trashed_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: Type.String({ description: 'may be deleted for good from then on' }),
  },
  { $id: 'TrashedFile' },
);
export type TrashedFile = Static<typeof TrashedFile>;

export const TrashedHeader = Type.Object(
  { enc_params: Type.String({ description: 'the value of X-Enc-Params' }) },
  { $id: 'TrashedHeader' },
);
export type TrashedHeader = Static<typeof TrashedHeader>;

export const Emptied = Type.Object(
  {
    ok: Type.Literal(true),
    removed: Type.Integer({ description: 'number of files that were in the trash' }),
  },
  { $id: 'Emptied' },
);
export type Emptied = Static<typeof Emptied>;

/** The position after a page of the trash: when its last file was trashed, and the file's number. */
export interface TrashCursor {
  trashedAt: number;
  seq: number;
}

export const trashCursor = ({ trashedAt, seq }: TrashCursor) => `${trashedAt}-${seq}`;

export function parseTrashCursor(text: string): TrashCursor {
  const [trashedAt, seq] = text.split('-').map(Number);
  return { trashedAt: trashedAt!, seq: seq! };
}

const ok = Type.Literal(true);

export const trashRoutes = {
  trashFiles: {
    method: 'POST',
    path: '/api/files/trash',
    summary: 'Move files to the trash: all of them, or none. Files that are there already stay',
    tag: 'Files',
    access: 'full',
    folder: ['files'],
    changes: true,
    body: FilesBody,
    responses: { 200: Type.Object({ ok }), 400: ErrorBody, 404: NotThere },
  },
  restoreFiles: {
    method: 'POST',
    path: '/api/files/restore',
    summary: 'Restore files from the trash to their directories: all of them, or none',
    tag: 'Files',
    access: 'full',
    folder: ['files'],
    changes: true,
    body: FilesBody,
    responses: { 200: Type.Object({ ok }), 400: ErrorBody, 404: NotThere },
  },
  listTrash: {
    method: 'GET',
    path: '/api/trash',
    summary: "The caller's trash, newest first: all of it, or in pages with limit and cursor",
    tag: 'Files',
    access: 'any',
    folder: ['list'],
    query: Type.Object({
      ...pageOf('files a page', '^[0-9]{1,15}-[0-9]{1,16}$'),
      dir_id: Type.Optional(
        Type.String({
          pattern: '^[0-9]{1,16}$',
          description: 'the directory that they were in; 0 is the root',
        }),
      ),
      ...withHeaders,
    }),
    responses: {
      200: Type.Object({
        files: Type.Array(TrashedFile),
        next_cursor: Type.Optional(Type.String({ description: 'only with limit, when there are more' })),
      }),
      400: ErrorBody,
    },
  },
  readTrashed: {
    method: 'GET',
    path: '/api/trash/{file_id}',
    summary: 'The enc_params of a file in the trash, to seal it again there',
    tag: 'Files',
    access: 'full',
    responses: { 200: TrashedHeader, 404: ErrorBody },
  },
  emptyTrash: {
    method: 'DELETE',
    path: '/api/trash',
    summary:
      'Delete these files in the trash with their volumes, for good. Those that are not there are passed over',
    tag: 'Files',
    access: 'full',
    changes: true,
    body: FilesBody,
    responses: { 200: Emptied, 400: ErrorBody },
  },
} satisfies Record<string, Route>;
