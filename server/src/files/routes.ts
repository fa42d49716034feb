/** The routes of files, directories, the trash and thumbnails. */
import {
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
import { OutOfScope } from '../platform/http/api-error.ts';
import type { Params } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import { describeDirectory } from './directories.ts';
import { type DownloadContent, sendContent } from './download.ts';
import { type FileList, type FilesQuery, fileList, readPage, streamList, trashList } from './file-list.ts';
import { describeQuota } from './quota.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function fileHandlers(services: Services, countOut: (bytes: number) => void) {
  const { config, metadata, directories, files, trash, thumbnails } = services;
  const user = (request: FastifyRequest) => request.caller.username;
  const params = (request: FastifyRequest) => request.params as Params;
  const target = (request: FastifyRequest) => targetDir(request.body as DirTarget);
  const ids = (request: FastifyRequest) => (request.body as FilesBody).files;
  const send = async (request: FastifyRequest, reply: FastifyReply, content: DownloadContent) => {
    countOut(await sendContent(request, reply, content, request.caller, services));
    return reply;
  };
  const readVolume: Handler = async (request, reply) => {
    const { file_id } = params(request);
    const { file } = request.found;
    return send(request, reply, await files.openVolume(file_id, file, user(request), isWhole(request)));
  };
  return {
    quota: async ({ found }) => describeQuota(found.bytes!, found.quota ?? config.quotaBytes),
    changes: async ({ found }) => ({ rev: String(found.rev) }),

    createDir: async (request) => ({
      ok: true,
      ...(await directories.create(request.caller, request.body as NewDir)),
    }),
    listDirs: async ({ found }) => ({ dirs: found.dirs!.map(describeDirectory) }),
    renameDir: async (request) => {
      const { dir_id } = params(request);
      return { ok: true, ...(await directories.rename(user(request), dir_id, request.body as DirNameBody)) };
    },
    deleteDir: async (request) => ({
      ok: true,
      dir_id: await directories.remove(user(request), params(request).dir_id),
    }),

    listFiles: (request, reply) => {
      const query = listQuery(request);
      return sendList(fileList(metadata.files, user(request), query), query, reply);
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
      await files.rename(user(request), request.body as NamesBody);
      return { ok: true };
    },
    cloneFile: async (request) => ({
      ok: true,
      file_id: await files.clone(params(request).file_id, request.caller, target(request)),
    }),

    trashFiles: async (request) => {
      await trash.put(user(request), ids(request));
      return { ok: true };
    },
    restoreFiles: async (request) => {
      await trash.restore(user(request), ids(request));
      return { ok: true };
    },
    listTrash: (request, reply) => {
      const query = listQuery(request);
      return sendList(trashList(metadata.trash, user(request), query, config.trashMs), query, reply);
    },
    readTrashed: async (request) => {
      const { enc_params } = await trash.find(user(request), params(request).file_id);
      return { enc_params: toBase64(enc_params) };
    },
    emptyTrash: async (request) => ({ ok: true, removed: await trash.empty(user(request), ids(request)) }),

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
      const found = await thumbnails.readMany((request.body as ThumbnailsBody).files, request.caller);
      countOut(found.reduce((sum, { thumbnail }) => sum + Buffer.byteLength(thumbnail ?? '', 'base64'), 0));
      reply.header('cache-control', 'private, no-store');
      return { thumbnails: found };
    },
  } satisfies Record<string, Handler>;
}

/** Whether the whole body will be sent. */
function isWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && headers['if-none-match'] === undefined;
}

function listQuery({ query, caller }: FastifyRequest): FilesQuery {
  const filesQuery = query as FilesQuery;
  if (filesQuery.headers !== undefined && caller.scope === 'append')
    throw new OutOfScope('tokens with the scope append cannot read headers; leave out "headers"');
  return filesQuery;
}

/** Sends one page if a limit is given, otherwise the whole list. */
async function sendList(list: FileList, query: FilesQuery, reply: FastifyReply): Promise<unknown> {
  const { limit } = query;
  if (limit !== undefined) return readPage(list, { ...query, limit });
  return reply.type('application/json; charset=utf-8').send(await streamList(list, query));
}
