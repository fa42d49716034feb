import type { IncomingMessage } from 'node:http';
import {
  type DirTarget,
  type FilesBody,
  type Route,
  type RouteName,
  routes,
  targetDir,
} from '@szafa/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DirRow } from '../files/directories-table.ts';
import type { FilesQuery } from '../files/file-list.ts';
import type { ReadableFile } from '../files/files-table.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import type { TransferState } from '../transfers/transfers-table.ts';
import type { Lookup } from './account-rows.ts';
import { requireDir, requireFound } from './scope.ts';
import type { Caller } from './sessions.ts';

/** What clients ask for most is fetched in the query that tells who calls. */
interface Found {
  /** Of the caller's files; their quota, if they have one of their own; and which state of both it is. */
  bytes?: bigint;
  quota?: number | null;
  rev?: number;
  dirs?: DirRow[];
  file?: ReadableFile | undefined;
  transfer?: TransferState | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    /** Of these, what the route asks for. */
    found: Found;
  }
}

/** Nobody can delete an account, and another one take its name, in less. */
const SLOW_BODY_MS = 100;

/** Of a request that somebody looked at before it came to its route. */
export interface Looked extends Pick<FastifyRequest, 'caller' | 'found'> {
  refusal?: unknown;
  /** How long that took, of which Fastify's clock knows nothing. */
  ms?: number;
}
export const lookedAt = new WeakMap<IncomingMessage, Looked>();

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
type Asking = Pick<FastifyRequest, 'params' | 'headers' | 'caller' | 'found'>;
/** Tells who calls, and whether that token may. */
export type Identify = (request: Asking) => Promise<void>;

interface Hooks {
  identify?: Identify;
  onRequest: Hook[];
  /** Whether the token may do so with what body and query name. */
  preHandler: Hook[];
}

/** The hooks of a route that stand between a request and its handler; volumes that are sent have `volumeHandler`. */
export function authentication(
  app: FastifyInstance,
  { sessions, metadata, reach }: Services,
): (route: RouteName) => Hooks {
  app.decorateRequest('caller');
  app.decorateRequest('found');
  const file = ({ file_id, idx }: Params) => metadata.files.lookUp(file_id, volumeNumber(idx));
  const transfer = ({ transfer_id }: Params) => metadata.transfers.lookUp(transfer_id);
  const lookUps: Partial<Record<RouteName, (params: Params) => Lookup<Found>>> = {
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
  return (name) => {
    const route: Route = routes[name];
    const { access, folder = [] } = route;
    if (access === 'open') return { onRequest: [], preHandler: [] };
    const lookUp = lookUps[name] ?? (() => metadata.sessions.lookUp());
    const identify: Identify = async (request) => {
      const params = request.params as Params;
      const { authorization } = request.headers;
      const { caller, found } = await sessions.identify<Found>(authorization, route, lookUp(params));
      request.caller = caller;
      request.found = found;
      const ownFile = folder.includes('own file');
      if (ownFile || folder.includes('file'))
        await reach.requireFile(caller, params.file_id, { own: ownFile });
      const own = folder.includes('own transfer');
      if (found.transfer) requireFound(caller, found.transfer, { own });
      else if (own || folder.includes('transfer')) {
        await reach.requireTransfer(caller, params.transfer_id, { own });
      }
    };
    // A body may take its time, and its account be deleted meanwhile, or the name another's: who calls is asked once more.
    const askAgain: Hook = async (request, reply) => {
      if (reply.elapsedTime > SLOW_BODY_MS) await identify(request);
    };
    const askOnce: Hook = async (request) => {
      const looked = lookedAt.get(request.raw);
      if (!looked) return identify(request);
      request.caller = looked.caller;
      request.found = looked.found;
      if (looked.refusal) throw looked.refusal;
    };
    const preHandler: Hook[] = [askAgain];
    if (folder.includes('target')) {
      preHandler.push(async ({ caller, body }) => requireDir(caller, targetDir(body as DirTarget)));
    }
    if (folder.includes('files')) {
      preHandler.push(({ caller, body }) => reach.requireFiles(caller, (body as FilesBody).files));
    }
    if (folder.includes('list')) preHandler.push(async (request) => narrow(request));
    return { identify, onRequest: [askOnce], preHandler };
  };
}

/** Lists show a token for one directory only that one. */
function narrow({ caller, found, query }: FastifyRequest): void {
  const { onlyDir } = caller;
  if (onlyDir === null) return;
  if (found.dirs) found.dirs = found.dirs.filter(({ dir_id }) => dir_id === onlyDir);
  const asked = query as FilesQuery;
  requireDir(caller, Number(asked.dir_id ?? onlyDir));
  asked.dir_id = String(onlyDir);
}
