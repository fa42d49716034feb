import type { RouteName } from '@szafa/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts, Caller } from '../domain/accounts.ts';
import type { DirRow } from '../metadata/dirs.ts';
import type { ReadableFile } from '../metadata/files.ts';
import type { TransferState } from '../metadata/transfers.ts';
import { type Params, volumeNumber } from './params.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
    /** These only where the route asks for them. */
    account: Caller & { accountId: string };
    usedBytes: bigint;
    dirs: DirRow[];
    file: ReadableFile | undefined;
    transfer: TransferState | undefined;
  }
}

type Hook = (request: FastifyRequest) => Promise<void>;

/** The hook of a route that tells who calls. What clients ask for most is found by the same look into the database. */
export function authentication(app: FastifyInstance, accounts: Accounts): (route: RouteName) => Hook {
  for (const name of ['caller', 'account', 'usedBytes', 'dirs', 'file', 'transfer'])
    app.decorateRequest(name);
  const token = (request: FastifyRequest) => request.headers.authorization;
  const plain: Hook = async (request) => {
    request.caller = await accounts.identify(token(request));
  };
  const withTransfer: Hook = async (request) => {
    const { transfer_id } = request.params as Params;
    const { caller, transfer } = await accounts.identifyWithTransfer(token(request), transfer_id);
    request.caller = caller;
    request.transfer = transfer;
  };
  const hooks: Partial<Record<RouteName, Hook>> = {
    quota: async (request) => {
      const { caller, bytes } = await accounts.identifyWithUsage(token(request));
      request.caller = caller;
      request.usedBytes = bytes;
    },
    listDirs: async (request) => {
      const { caller, dirs } = await accounts.identifyWithDirs(token(request));
      request.caller = caller;
      request.dirs = dirs;
    },
    readVolume: async (request) => {
      const { file_id, idx } = request.params as Params;
      const { caller, file } = await accounts.identifyWithFile(token(request), file_id, volumeNumber(idx));
      request.caller = caller;
      request.file = file;
    },
    writeFile: async (request) => {
      request.account = await accounts.identifyWithAccount(token(request));
      request.caller = request.account;
    },
    received: withTransfer,
    pullStatus: withTransfer,
    writeVolume: withTransfer,
  };
  return (route) => hooks[route] ?? plain;
}
