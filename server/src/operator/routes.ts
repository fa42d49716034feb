/** The routes below /api/admin. Authentication has checked that the system token was sent. */
import type { InvitationBody, LimitsChange, PageQuery } from '@szafa/protocol';
import type { FastifyRequest } from 'fastify';
import type { Services } from '../services.ts';
import { Operator } from './operator.ts';

type Handler = (request: FastifyRequest) => Promise<unknown>;

export function adminHandlers(services: Services) {
  const operator = new Operator({ ...services, actor: 'system token' });
  const list =
    (read: (query: PageQuery) => Promise<unknown>): Handler =>
    ({ query }) =>
      read(query as PageQuery);
  /** Answers `ok` with the result of `act`, which is called with the only path parameter. */
  const done =
    (act: (id: string) => Promise<unknown>): Handler =>
    async ({ params }) => ({ ok: true, ...Object(await act(Object.values(params as object)[0])) });
  const username = ({ params }: FastifyRequest) => (params as { username: string }).username;
  return {
    listAccounts: list((query) => operator.listAccounts(query)),
    showAccount: (request) => operator.showAccount(username(request)),
    limitAccount: (request) => operator.limitAccount(username(request), request.body as LimitsChange),
    disableAccount: done((name) => operator.setDisabled(name, true)),
    enableAccount: done((name) => operator.setDisabled(name, false)),
    logoutAccount: done(async (name) => ({ ended: await operator.logoutAccount(name) })),
    endAccountFactor: done(async (name) => ({ was_on: await operator.endAccountFactor(name) })),
    deleteAccount: done((name) => operator.deleteAccount(name)),
    invite: ({ body }) => operator.invite(body as InvitationBody),
    listInvitations: list((query) => operator.listInvitations(query)),
    endInvitation: done((id) => operator.end('invitation', id)),
    listTransfers: list((query) => operator.listTransfers(query)),
    cancelTransfer: done((fileId) => operator.cancelTransfer(fileId)),
    listAllShares: list((query) => operator.listAllShares(query)),
    endAnyShare: done((id) => operator.end('share', id)),
    listAllRequests: list((query) => operator.listAllRequests(query)),
    endAnyRequest: done((id) => operator.end('request', id)),
    status: () => operator.status(),
    setReadOnly: async ({ body }) => {
      const { read_only } = body as { read_only: boolean };
      await operator.setReadOnly(read_only);
      return { ok: true, read_only };
    },
    audit: list((query) => operator.audit(query)),
  } satisfies Record<string, Handler>;
}
