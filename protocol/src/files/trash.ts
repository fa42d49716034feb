/** The trash: deleted files that can still be restored for some days. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import { Count, errors, FileIds, Named, Ok, ok, Text, Time } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { FileList, FileRecord, fileListQuery } from './records.ts';

export const FilesBody = Named('Files', {
  files: FileIds(limits.filesPerBatch),
});
export type FilesBody = Static<typeof FilesBody>;

/** The answer if nothing was moved: trashing and restoring change all files or none. */
export const NotThere = Named('NotThere', {
  error: Type.String(),
  files: Type.Array(Type.String(), { description: 'files that the caller does not have' }),
});
export type NotThere = Static<typeof NotThere>;

export const TrashedFile = Named('TrashedFile', {
  ...FileRecord.properties,
  trashed_at: Time(),
  expires_at: Text('may be deleted for good from then on'),
});
export type TrashedFile = Static<typeof TrashedFile>;

export const TrashedHeader = Named('TrashedHeader', { enc_params: Text('the value of X-Enc-Params') });
export type TrashedHeader = Static<typeof TrashedHeader>;

export const Emptied = Named('Emptied', {
  ok,
  removed: Count('number of files that were in the trash'),
});
export type Emptied = Static<typeof Emptied>;

/** The position after a page of the trash: the time its last file was trashed, and that file's number. */
export interface TrashCursor {
  trashedAt: number;
  seq: number;
}

export const trashCursor = ({ trashedAt, seq }: TrashCursor) => `${trashedAt}-${seq}`;

export function parseTrashCursor(text: string): TrashCursor {
  const [trashedAt, seq] = text.split('-').map(Number);
  return { trashedAt: trashedAt!, seq: seq! };
}

export const trashRoutes = routeTable('Files', 'full', {
  trashFiles: {
    at: 'POST /api/files/trash',
    summary: 'Move files to the trash: all of them, or none. Files that are there already stay',
    folder: ['files'],
    changes: true,
    body: FilesBody,
    responses: { 200: Ok, ...errors(400), 404: NotThere },
  },
  restoreFiles: {
    at: 'POST /api/files/restore',
    summary: 'Restore files from the trash to their directories: all of them, or none',
    folder: ['files'],
    changes: true,
    body: FilesBody,
    responses: { 200: Ok, ...errors(400), 404: NotThere },
  },
  listTrash: {
    at: 'GET /api/trash',
    summary: "The caller's trash, newest first: all of it, or in pages with limit and cursor",
    access: 'any',
    folder: ['list'],
    query: fileListQuery('^[0-9]{1,15}-[0-9]{1,16}$', 'the directory that they were in; 0 is the root'),
    responses: { 200: FileList(TrashedFile), ...errors(400) },
  },
  readTrashed: {
    at: 'GET /api/trash/{file_id}',
    summary: 'The enc_params of a file in the trash, to seal it again there',
    responses: { 200: TrashedHeader, ...errors(404) },
  },
  emptyTrash: {
    at: 'DELETE /api/trash',
    summary:
      'Delete these files in the trash with their volumes, for good. Those that are not there are passed over',
    changes: true,
    body: FilesBody,
    responses: { 200: Emptied, ...errors(400) },
  },
});
