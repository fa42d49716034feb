import { limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import { bytesOf, DetailBody, DetailOrError, errors, Nullable, Ok, ok } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import {
  Changes,
  Directory,
  DirNameBody,
  DirTarget,
  digestAnswers,
  FileList,
  FileRecord,
  fileListQuery,
  NamesBody,
  NewDir,
  NotRenamed,
  Quota,
} from './records.ts';

export const quotaRoutes = routeTable('Quota', 'any', {
  quota: {
    at: 'GET /api/quota',
    summary: 'Space used and space left',
    folder: [],
    responses: { 200: Quota },
  },
});

export const directoryRoutes = routeTable('Directories', 'full', {
  createDir: {
    at: 'POST /api/dirs',
    summary: 'Create a directory; an account has at most 10,000 of them (409)',
    access: 'append',
    changes: true,
    body: NewDir,
    responses: { 200: Type.Object({ ok, dir_id: Type.Integer(), name: Type.String() }), ...errors(400, 409) },
  },
  listDirs: {
    at: 'GET /api/dirs',
    summary: "The caller's directories",
    access: 'any',
    folder: ['list'],
    responses: { 200: Type.Object({ dirs: Type.Array(Directory) }) },
  },
  renameDir: {
    at: 'PUT /api/dirs/{dir_id}/name',
    summary: 'Rename a directory',
    changes: true,
    body: DirNameBody,
    responses: {
      200: Type.Object({ ok, dir_id: Type.Integer(), name: Type.String() }),
      ...errors(400, 404, 409, 412),
    },
  },
  deleteDir: {
    at: 'DELETE /api/dirs/{dir_id}',
    summary: 'Delete a directory; its files move to the root',
    changes: true,
    responses: { 200: Type.Object({ ok, dir_id: Type.Integer() }), ...errors(404) },
  },
});

export const fileRoutes = routeTable('Files', 'full', {
  listFiles: {
    at: 'GET /api/files',
    summary: "The caller's files, newest first: all of them, or in pages with limit and cursor",
    access: 'any',
    folder: ['list'],
    query: fileListQuery('^[0-9]{1,16}$', '0 is the root'),
    responses: { 200: FileList(FileRecord), ...errors(400) },
  },
  deleteFile: {
    at: 'DELETE /api/files/{file_id}',
    summary: 'Delete a file and its volumes',
    folder: ['file'],
    changes: true,
    responses: { 200: Type.Object({ ok, file_id: Type.String() }), 403: DetailBody, ...errors(404, 409) },
  },
  moveFile: {
    at: 'PUT /api/files/{file_id}/move',
    summary: 'Move a file to another directory',
    folder: ['file', 'target'],
    changes: true,
    body: DirTarget,
    optionalBody: true,
    responses: {
      200: Type.Object({ ok, file_id: Type.String(), dir_id: Nullable(Type.Integer()) }),
      403: DetailOrError,
      ...errors(400, 404),
    },
  },
  renameFiles: {
    at: 'POST /api/files/names',
    summary:
      'Change names, enc_params and directories of files: all of them, or none if one has changed in the meantime',
    changes: true,
    body: NamesBody,
    bodyBytes: limits.namesBodyBytes,
    responses: { 200: Ok, 412: NotRenamed, ...errors(400, 507) },
  },
  changes: {
    at: 'GET /api/changes',
    summary: 'Whether anything has changed since the last call; cheap enough to poll every few seconds',
    access: 'any',
    folder: [],
    responses: { 200: Changes },
  },
  cloneFile: {
    at: 'POST /api/files/{file_id}/clone',
    summary: 'Copy a file with all its volumes to a directory',
    folder: ['file', 'target'],
    changes: true,
    body: DirTarget,
    optionalBody: true,
    responses: {
      200: Type.Object({ ok, file_id: Type.String() }),
      403: DetailOrError,
      ...errors(400, 404, 409, 507),
    },
  },
  readVolume: {
    at: 'GET /api/files/{file_id}/chunk/{idx}',
    summary: 'One volume; supports Range and If-None-Match',
    access: 'read',
    folder: ['file'],
    responses: {
      ...bytesOf(
        'raw bytes of the volume, with X-Enc-Params, X-Chunk-Count and an ETag made from its digest',
      ),
      403: DetailBody,
    },
  },
  readHeader: {
    at: 'HEAD /api/files/{file_id}/chunk/{idx}',
    summary: 'The headers of one volume, without its bytes',
    access: 'any',
    folder: ['file'],
    responses: {
      200: 'X-Enc-Params, X-Chunk-Count, Content-Length and an ETag made from its digest',
      304: 'the ETag still matches',
      403: DetailBody,
      ...errors(404),
    },
  },
  readDigests: {
    at: 'GET /api/files/{file_id}/digests',
    summary:
      'The SHA-256 of every volume of a file, 32 bytes each, in order; supports Range and If-None-Match',
    access: 'read',
    folder: ['file'],
    responses: { ...digestAnswers, 403: DetailBody },
  },
});
