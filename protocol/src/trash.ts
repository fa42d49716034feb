/** Files that are about to be gone: for some days they can be brought back. */
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { pageOf, withHeaders } from './pages.ts';
import { ErrorBody, FileRecord } from './resources.ts';
import type { Route } from './route.ts';
import { Type } from './type.ts';

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

/** Nothing was done to any of the files. */
export const NotThere = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), { description: 'those that the caller does not have' }),
  },
  { $id: 'NotThere' },
);
export type NotThere = Static<typeof NotThere>;

export const TrashedFile = Type.Object(
  {
    ...FileRecord.properties,
    trashed_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: Type.String({ description: 'from then on it may be gone for good at any time' }),
  },
  { $id: 'TrashedFile' },
);
export type TrashedFile = Static<typeof TrashedFile>;

export const TrashedHeader = Type.Object(
  { enc_params: Type.String({ description: 'what X-Enc-Params says of a file that is not in the trash' }) },
  { $id: 'TrashedHeader' },
);
export type TrashedHeader = Static<typeof TrashedHeader>;

export const Emptied = Type.Object(
  {
    ok: Type.Literal(true),
    removed: Type.Integer({ description: 'how many of these were in the trash' }),
  },
  { $id: 'Emptied' },
);
export type Emptied = Static<typeof Emptied>;

/** Where a page of the trash begins: when the last one before it came there, and its number. */
export interface TrashCursor {
  trashedAt: number;
  seq: number;
}

export const trashCursor = ({ trashedAt, seq }: TrashCursor) => `${trashedAt}-${seq}`;

/** Of a text that has the form of one. */
export function parseTrashCursor(text: string): TrashCursor {
  const [trashedAt, seq] = text.split('-').map(Number);
  return { trashedAt: trashedAt!, seq: seq! };
}

const ok = Type.Literal(true);

export const trashRoutes = {
  trashFiles: {
    method: 'POST',
    path: '/api/files/trash',
    summary: 'Put files into the trash: all of them, or none. What is there already stays',
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
    summary: 'Take files out of the trash, back to their directories: all of them, or none',
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
    summary: "What is in the caller's trash, latest first: all of it, or in pages with limit and cursor",
    tag: 'Files',
    access: 'any',
    folder: ['list'],
    query: Type.Object({
      ...pageOf('files a page', '^[0-9]{1,15}-[0-9]{1,16}$'),
      dir_id: Type.Optional(
        Type.String({ pattern: '^[0-9]{1,16}$', description: 'where they came from; 0 is the root' }),
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
    summary: 'The enc_params of a file in the trash, so that it can be sealed anew there',
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
