/** The routes of files, directories, the trash and thumbnails. */
import { cleanDirName, headers as headerNames, targetDir, toBase64 } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, OutOfScope } from '../platform/http/api-error.ts';
import { done, type Handler, type Handlers, type RouteRequest } from '../platform/http/handlers.ts';
import { iso } from '../platform/time.ts';
import type { Services } from '../services.ts';
import { type DownloadContent, sendContent } from './download.ts';
import { type FileList, type FilesQuery, fileList, readPage, streamList, trashList } from './file-list.ts';
import { isOwn } from './files-table.ts';
import { describeQuota } from './quota.ts';
import { takenDir, unknownDir, unknownFile } from './refusals.ts';

export function fileHandlers(services: Services, countOut: (bytes: number) => void) {
  const { config, metadata, files, thumbnails } = services;
  const { dirs, trash } = metadata;
  const send = async (request: FastifyRequest, reply: FastifyReply, content: DownloadContent) => {
    countOut(await sendContent(request, reply, content, request.caller, services));
    return reply;
  };
  const readVolume: Handler<RouteRequest<'readVolume' | 'readHeader'>> = async (request, reply) => {
    const { params, found, caller } = request;
    const whole = isWhole(request);
    return send(request, reply, await files.openVolume(params.file_id, found.file, caller.username, whole));
  };
  return {
    quota: async ({ found }) => describeQuota(found.bytes!, found.quota ?? config.quotaBytes),
    changes: async ({ found }) => ({ rev: String(found.rev) }),

    createDir: async ({ caller, body }) => {
      const name = cleanDirName(body.name);
      const dir_id = await dirs.create(caller.username, name, Date.now(), caller.accountId);
      if (dir_id === undefined) throw takenDir();
      return { ok: true, dir_id, name };
    },
    listDirs: async ({ found }) => ({
      dirs: found.dirs!.map((dir) => ({ ...dir, created_at: iso(dir.created_at) })),
    }),
    renameDir: async ({ caller, params, body }) => {
      const dir_id = parseDirId(params.dir_id);
      const name = cleanDirName(body.name);
      await dirs.rename(caller.username, dir_id, { name, match: body.match });
      return { ok: true, dir_id, name };
    },
    deleteDir: async ({ caller, params }) => {
      const dir_id = parseDirId(params.dir_id);
      if (!(await dirs.remove(caller.username, dir_id))) throw unknownDir();
      return { ok: true, dir_id };
    },

    listFiles: (request, reply) =>
      sendList(request, reply, (caller, query) => fileList(metadata.files, caller, query)),
    deleteFile: async ({ caller, params: { file_id } }) => {
      await files.remove(file_id, caller.username);
      return { ok: true, file_id };
    },
    moveFile: async ({ caller, params: { file_id }, body }) => {
      const dirId = targetDir(body);
      await files.move(file_id, caller.username, dirId);
      return { ok: true, file_id, dir_id: dirId || null };
    },
    renameFiles: done(({ caller, body }) => files.rename(caller.username, body)),
    cloneFile: async ({ caller, params, body }) => ({
      ok: true,
      file_id: await files.clone(params.file_id, caller, targetDir(body)),
    }),

    trashFiles: done(async ({ caller, body }) =>
      requireAll(await trash.put(caller.username, body.files, Date.now())),
    ),
    restoreFiles: done(async ({ caller, body }) =>
      requireAll(await trash.restore(caller.username, body.files)),
    ),
    listTrash: (request, reply) =>
      sendList(request, reply, (caller, query) => trashList(trash, caller, query, config.trashMs)),
    readTrashed: async ({ caller, params }) => {
      const file = await metadata.files.get(params.file_id);
      if (!file || !isOwn(caller.username, file) || file.trashed_at === 0) throw unknownFile();
      return { enc_params: toBase64(file.enc_params) };
    },
    emptyTrash: async ({ caller, body }) => ({
      ok: true,
      removed: await trash.empty(caller.username, body.files, Date.now()),
    }),

    readVolume,
    readHeader: readVolume,
    readDigests: async (request, reply) =>
      send(request, reply, await files.openDigests(request.params.file_id, request.caller.username)),

    writeThumbnail: done(({ body = Buffer.alloc(0), caller, headers, params }) => {
      const digest = headers[headerNames.contentDigest.toLowerCase()]?.toString();
      return thumbnails.write(params.file_id, caller, body as Buffer, digest);
    }),
    readThumbnail: async (request, reply) => {
      const { params, caller } = request;
      const whole = isWhole(request);
      return send(request, reply, await thumbnails.open(params.file_id, caller.username, whole));
    },
    readThumbnails: async ({ body, caller }, reply) => {
      const found = await thumbnails.readMany(body.files, caller);
      countOut(found.reduce((sum, { thumbnail }) => sum + Buffer.byteLength(thumbnail ?? '', 'base64'), 0));
      reply.header('cache-control', 'private, no-store');
      return { thumbnails: found };
    },
  } satisfies Partial<Handlers>;
}

/** Parses the directory number in a path. Returns 0, which no directory has, if it is malformed. */
function parseDirId(text: string): number {
  const dirId = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(dirId) ? dirId : 0;
}

/** Refuses the whole request if the caller lacks one of the files. */
function requireAll(unknown: string[]): void {
  if (unknown.length === 0) return;
  throw new ApiError(404, 'you do not have some of these files', { extra: { files: unknown } });
}

/** Whether the response will contain the whole content. */
function isWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && headers['if-none-match'] === undefined;
}

/** Sends one page if a limit is given, otherwise the whole list. */
async function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (caller: string, query: FilesQuery) => FileList,
): Promise<unknown> {
  const { caller } = request;
  const query = request.query as FilesQuery;
  if (query.headers !== undefined && caller.scope === 'append')
    throw new OutOfScope('tokens with the scope append cannot read headers; leave out "headers"');
  const list = open(caller.username, query);
  const { limit } = query;
  if (limit !== undefined) return readPage(list, { ...query, limit });
  return reply.type('application/json; charset=utf-8').send(await streamList(list, query));
}
