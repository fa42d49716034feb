/** The routes below /api/admin. That the system token was sent is checked before; see authentication.ts. */
import type { InvitationBody, LimitsChange, PageQuery } from '@szafa/protocol';
import type { FastifyRequest } from 'fastify';
import type { Services } from '../services.ts';
import { Operator } from './operator.ts';

type Handler = (request: FastifyRequest) => Promise<unknown>;

export function adminHandlers(services: Services) {
  const operator = new Operator({ ...services, actor: 'system token' });
  const query = (request: FastifyRequest) => request.query as PageQuery;
  const params = (request: FastifyRequest) => request.params as Record<'username' | 'id' | 'file_id', string>;
  const done =
    (act: (request: FastifyRequest) => Promise<void>): Handler =>
    async (request) => {
      await act(request);
      return { ok: true };
    };
  return {
    listAccounts: (request) => operator.accounts(query(request)),
    showAccount: (request) => operator.account(params(request).username),
    limitAccount: (request) => operator.limit(params(request).username, request.body as LimitsChange),
    disableAccount: done((request) => operator.disable(params(request).username)),
    enableAccount: done((request) => operator.enable(params(request).username)),
    logoutAccount: async (request) => ({ ok: true, ended: await operator.logout(params(request).username) }),
    endAccountFactor: async (request) => ({
      ok: true,
      was_on: await operator.factorOff(params(request).username),
    }),
    deleteAccount: done((request) => operator.remove(params(request).username)),
    invite: (request) => operator.invite(request.body as InvitationBody),
    listInvitations: (request) => operator.invitations(query(request)),
    endInvitation: done((request) => operator.endInvitation(params(request).id)),
    listTransfers: (request) => operator.transfers(query(request)),
    cancelTransfer: done((request) => operator.cancel(params(request).file_id)),
    listAllShares: (request) => operator.shares(query(request)),
    endAnyShare: done((request) => operator.endShare(params(request).id)),
    listAllRequests: (request) => operator.requests(query(request)),
    endAnyRequest: done((request) => operator.endRequest(params(request).id)),
    status: () => operator.status(),
    setReadOnly: async (request) => {
      const { read_only } = request.body as { read_only: boolean };
      await operator.setReadOnly(read_only);
      return { ok: true, read_only };
    },
    audit: (request) => operator.audit(query(request)),
  } satisfies Record<string, Handler>;
}
