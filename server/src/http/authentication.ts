import type { RouteName } from '@szafa/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../domain/sessions.ts';
import type { DirRow } from '../metadata/dirs.ts';
import type { ReadableFile } from '../metadata/files.ts';
import type { Lookup } from '../metadata/lookup.ts';
import type { TransferState } from '../metadata/transfers.ts';
import type { Services } from '../services.ts';
import { type Params, volumeNumber } from './params.ts';

/** What clients ask for most is fetched in the query that tells who calls. */
interface Found {
  /** Of the caller's files; and their quota, if they have one of their own. */
  bytes?: bigint;
  quota?: number | null;
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

type Hook = (request: FastifyRequest) => Promise<void>;

/** The hook of a route that tells who calls. */
export function authentication(
  app: FastifyInstance,
  { sessions, metadata }: Services,
): (route: RouteName) => Hook {
  app.decorateRequest('caller');
  app.decorateRequest('found');
  const transfer = ({ transfer_id }: Params) => metadata.transfers.lookUp(transfer_id);
  const lookUps: Partial<Record<RouteName, (params: Params) => Lookup<Found>>> = {
    quota: () => metadata.lookUpUsage(),
    listDirs: () => metadata.dirs.lookUp(),
    readVolume: ({ file_id, idx }) => metadata.files.lookUp(file_id, volumeNumber(idx)),
    received: transfer,
    pullStatus: transfer,
  };
  return (route) => {
    const lookUp = lookUps[route] ?? (() => metadata.sessions.lookUp());
    return async (request) => {
      const { authorization } = request.headers;
      const { caller, found } = await sessions.identify(authorization, lookUp(request.params as Params));
      request.caller = caller;
      request.found = found;
    };
  };
}
