/**
 * The checks between a request and its handler, in this order: identify the caller, check that the token may use the route
 * (both in `Sessions.identify`), and check that it may touch the things named in path, body and query (token-scope.ts).
 * transfers/put.ts makes the same checks for uploaded volumes.
 */
import type { IncomingMessage } from 'node:http';
import {
  type DirTarget,
  type FilesBody,
  isRestricted,
  type Route,
  type RouteName,
  routes,
  targetDir,
} from '@szafa/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DirectoryRow } from '../files/directories-table.ts';
import type { FilesQuery } from '../files/file-list.ts';
import type { ReadableFile } from '../files/files-table.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import type { TransferState } from '../transfers/transfers-table.ts';
import type { Lookup } from './account-rows.ts';
import type { Caller } from './sessions.ts';
import {
  requireDirInScope,
  requireFileInScope,
  requireFilesInScope,
  requireTransferInScope,
} from './token-scope.ts';

/** Data that the most frequent routes need. It is read in the same query that identifies the caller. */
interface RouteData {
  /** Total size of the caller's files, the account's own quota if one is set, and the revision of its files. */
  bytes?: bigint;
  quota?: number | null;
  rev?: number;
  dirs?: DirectoryRow[];
  file?: ReadableFile | undefined;
  transfer?: TransferState | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    found: RouteData;
  }
}

/** Shorter than the time in which an account could be deleted and its name registered by somebody else. */
const SLOW_BODY_MS = 100;

/** The result of authenticating a request before Fastify saw it. */
export interface PreAuthenticated extends Pick<FastifyRequest, 'caller' | 'found'> {
  refusal?: unknown;
  /** Duration of the check, which Fastify's clock does not include. */
  ms?: number;
}
export const preAuthenticated = new WeakMap<IncomingMessage, PreAuthenticated>();

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
/** Sets `caller` and `found`, and throws if the token may not make this request. */
export type Identify = (
  request: Pick<FastifyRequest, 'params' | 'headers' | 'caller' | 'found'>,
) => Promise<void>;

interface Hooks {
  identify?: Identify;
  onRequest: Hook[];
  preHandler: Hook[];
}

/** Returns the hooks of each route. */
export function authentication(app: FastifyInstance, { sessions, metadata }: Services) {
  app.decorateRequest('caller');
  app.decorateRequest('found');
  const file = ({ file_id, idx }: Params) => metadata.files.lookUp(file_id, volumeNumber(idx));
  const transfer = ({ transfer_id }: Params) => metadata.transfers.lookUp(transfer_id);
  const lookUps: Partial<Record<RouteName, (params: Params) => Lookup<RouteData>>> = {
    quota: () => metadata.lookUpUsage(),
    changes: () => metadata.lookUpUsage(),
    listDirs: () => metadata.dirs.lookUp(),
    readVolume: file,
    readHeader: file,
    received: transfer,
    pullStatus: transfer,
    complete: transfer,
    cancel: transfer,
  };
  return (name: RouteName): Hooks => {
    const route: Route = routes[name];
    const { access, folder = [] } = route;
    if (access === 'open') return { onRequest: [], preHandler: [] };
    const lookUp = lookUps[name] ?? (() => metadata.sessions.lookUp());

    const identify: Identify = async (request) => {
      const params = request.params as Params;
      const { authorization } = request.headers;
      const { caller, found } = await sessions.identify<RouteData>(authorization, route, lookUp(params));
      request.caller = caller;
      request.found = found;
      const ownFile = folder.includes('own file');
      if (ownFile || folder.includes('file'))
        await requireFileInScope(metadata, caller, params.file_id, ownFile);
      const own = folder.includes('own transfer');
      if (isRestricted(caller) && (own || found.transfer || folder.includes('transfer'))) {
        const transfer = found.transfer ?? (await metadata.transfers.state(params.transfer_id));
        requireTransferInScope(caller, transfer, { own });
      }
    };

    const authenticate: Hook = async (request) => {
      const earlier = preAuthenticated.get(request.raw);
      if (!earlier) return identify(request);
      request.caller = earlier.caller;
      request.found = earlier.found;
      if (earlier.refusal) throw earlier.refusal;
    };

    // While a slow body arrives, the account may be deleted and its name registered by somebody else.
    const authenticateAgain: Hook = async (request, reply) => {
      if (reply.elapsedTime > SLOW_BODY_MS) await identify(request);
    };
    const preHandler: Hook[] = [authenticateAgain];
    if (folder.includes('target'))
      preHandler.push(async ({ caller, body }) => requireDirInScope(caller, targetDir(body as DirTarget)));
    if (folder.includes('files'))
      preHandler.push(({ caller, body }) => requireFilesInScope(metadata, caller, (body as FilesBody).files));
    if (folder.includes('list')) preHandler.push(async (request) => limitListToScope(request));
    return { identify, onRequest: [authenticate], preHandler };
  };
}

/** Limits a list to the token's directory, if the token is restricted to one. */
function limitListToScope({ caller, found, query }: FastifyRequest): void {
  const { onlyDir } = caller;
  if (onlyDir === null) return;
  if (found.dirs) found.dirs = found.dirs.filter(({ dir_id }) => dir_id === onlyDir);
  const filter = query as FilesQuery;
  requireDirInScope(caller, Number(filter.dir_id ?? onlyDir));
  filter.dir_id = String(onlyDir);
}
