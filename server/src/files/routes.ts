/** The routes of files, directories, the trash and thumbnails. */
import type { Writable } from 'node:stream';
import {
  checkNames,
  cleanDirName,
  type DirNameBody,
  type DirTarget,
  type FilesBody,
  headers as headerNames,
  type NamesBody,
  type NewDir,
  type ThumbnailsBody,
  targetDir,
  toBase64,
} from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, OutOfScope } from '../platform/http/api-error.ts';
import type { Params } from '../platform/http/params.ts';
import { countFault } from '../platform/http/request-metrics.ts';
import { collectInTurns } from '../platform/parallel.ts';
import type { Services } from '../services.ts';
import { type Sendable, sendVolume } from './download.ts';
import { type FileListing, type FilesQuery, filePage, filesOf, trashOf, wholeList } from './file-list.ts';
import { quotaOf } from './quota.ts';
import { badDirectory, overQuota, takenDir, unknownDir } from './refusals.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function fileHandlers(services: Services, countOut: (bytes: number) => void) {
  const { config, metadata, files, thumbnails, rateLimiter, metrics } = services;
  const user = (request: FastifyRequest) => request.caller.username;
  const params = (request: FastifyRequest) => request.params as Params;
  /** 0 for what can be no number of a directory. */
  const dirOf = (request: FastifyRequest) => {
    const { dir_id } = params(request);
    const dirId = /^[1-9][0-9]{0,15}$/.test(dir_id) ? Number(dir_id) : 0;
    return Number.isSafeInteger(dirId) ? dirId : 0;
  };
  const target = (request: FastifyRequest) => targetDir(request.body as DirTarget);
  const send = async (request: FastifyRequest, reply: FastifyReply, found: Sendable) => {
    const paced = (to: Writable) => rateLimiter.limitDownload(to, request.caller);
    countOut(await sendVolume(request, reply, found, paced, (error) => countFault(metrics, error)));
    return reply;
  };
  const readVolume: Handler = async (request, reply) => {
    const { file_id } = params(request);
    return send(
      request,
      reply,
      await files.openVolume(file_id, request.found.file, user(request), isWhole(request)),
    );
  };
  return {
    quota: async ({ found }) => quotaOf(found.bytes!, found.quota ?? config.quotaBytes),
    createDir: async (request) => {
      const name = cleanDirName((request.body as NewDir).name);
      const dirId = await metadata.dirs.create(user(request), name, Date.now(), request.caller.accountId);
      if (dirId === undefined) throw takenDir();
      return { ok: true, dir_id: dirId, name };
    },
    listDirs: async (request) => {
      return {
        dirs: request.found.dirs!.map((row) => ({
          ...row,
          created_at: new Date(row.created_at).toISOString(),
        })),
      };
    },
    renameDir: async (request) => {
      const dirId = dirOf(request);
      const { match, ...body } = request.body as DirNameBody;
      const name = cleanDirName(body.name);
      const result = dirId && (await metadata.renaming.dir(user(request), dirId, { name, match }));
      if (!result || result === 'no directory') throw unknownDir();
      if (result === 'changed') throw new ApiError(412, 'the directory has another name by now');
      if (result === 'taken') throw takenDir();
      return { ok: true, dir_id: dirId, name };
    },
    deleteDir: async (request) => {
      const dirId = dirOf(request);
      if (!dirId || !(await metadata.dirs.remove(user(request), dirId))) throw unknownDir();
      return { ok: true, dir_id: dirId };
    },
    listFiles: (request, reply) => {
      const query = listQuery(request);
      return sendList(filesOf(metadata.files, user(request), query), query, reply);
    },
    deleteFile: async (request) => {
      const { file_id } = params(request);
      await files.remove(file_id, user(request));
      return { ok: true, file_id };
    },
    moveFile: async (request) => {
      const { file_id } = params(request);
      await files.move(file_id, user(request), target(request));
      return { ok: true, file_id, dir_id: target(request) || null };
    },
    renameFiles: async (request) => {
      const body = request.body as NamesBody;
      const inTrash = body.in_trash === true;
      const names = await collectInTurns(checkNames(body));
      const quota = config.quotaEnforced ? config.quotaBytes : undefined;
      const files = await metadata.renaming.files(user(request), names, { inTrash, quota });
      if (files === 'over quota') throw overQuota();
      if (files === 'no directory') throw badDirectory();
      if (files.length === 0) return { ok: true };
      throw new ApiError(412, 'some of these files are not as you saw them', { extra: { files } });
    },
    trashFiles: async (request) => {
      const ids = (request.body as FilesBody).files;
      requireNone(await metadata.trash.put(user(request), ids, Date.now()));
      return { ok: true };
    },
    restoreFiles: async (request) => {
      requireNone(await metadata.trash.restore(user(request), (request.body as FilesBody).files));
      return { ok: true };
    },
    listTrash: (request, reply) => {
      const query = listQuery(request);
      return sendList(trashOf(metadata.trash, user(request), query, config.trashMs), query, reply);
    },
    readTrashed: async (request) => {
      const { enc_params } = await files.trashed(params(request).file_id, user(request));
      return { enc_params: toBase64(enc_params) };
    },
    emptyTrash: async (request) => {
      const ids = (request.body as FilesBody).files;
      return { ok: true, removed: await metadata.trash.empty(user(request), ids, Date.now()) };
    },
    changes: async ({ found }) => ({ rev: String(found.rev) }),
    cloneFile: async (request) => ({
      ok: true,
      file_id: await files.clone(params(request).file_id, request.caller, target(request)),
    }),
    readVolume,
    readHeader: readVolume,
    readDigests: async (request, reply) =>
      send(request, reply, await files.openDigests(params(request).file_id, user(request))),
    writeThumbnail: async (request) => {
      const { body = Buffer.alloc(0), caller, headers } = request;
      const digest = headers[headerNames.contentDigest.toLowerCase()]?.toString();
      await thumbnails.write(params(request).file_id, caller, body as Buffer, digest);
      return { ok: true };
    },
    readThumbnail: async (request, reply) => {
      const { file_id } = params(request);
      return send(request, reply, await thumbnails.open(file_id, user(request), isWhole(request)));
    },
    readThumbnails: async (request, reply) => {
      const { files: ids } = request.body as ThumbnailsBody;
      const found = await thumbnails.several(ids, request.caller);
      countOut(found.reduce((sum, { thumbnail }) => sum + Buffer.byteLength(thumbnail ?? '', 'base64'), 0));
      reply.header('cache-control', 'private, no-store');
      return { thumbnails: found };
    },
  } satisfies Record<string, Handler>;
}

/** Whether all of a body will be sent. */
function isWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && headers['if-none-match'] === undefined;
}

/** A token that reads no file reads no header either. */
function listQuery({ query, caller }: FastifyRequest): FilesQuery {
  const asked = query as FilesQuery;
  if (asked.headers !== undefined && caller.scope === 'append')
    throw new OutOfScope('this token has the scope append, and reads no headers: omit headers');
  return asked;
}

/** A page where one is asked for, else all of it. */
async function sendList(listing: FileListing, query: FilesQuery, reply: FastifyReply): Promise<unknown> {
  const { limit } = query;
  if (limit !== undefined) return filePage(listing, { ...query, limit });
  return reply.type('application/json; charset=utf-8').send(await wholeList(listing, query));
}

/** Files that the caller does not have refuse all that were named together with them. */
function requireNone(files: string[]): void {
  if (files.length > 0) throw new ApiError(404, 'you do not have some of these files', { extra: { files } });
}
