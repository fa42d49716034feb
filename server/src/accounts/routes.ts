/** The routes of accounts, their sessions and factors. */
import type {
  Credentials,
  FinishRecoveryBody,
  KeysBody,
  LeaveBody,
  NewPasskeyBody,
  PasskeyEntry,
  PasswordBody,
  ProfileBody,
  RecoverBody,
  Registration,
  RemovePasskeyBody,
  TokenBody,
  TotpBody,
  TotpOffBody,
} from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TryLater } from '../platform/http/api-error.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import type { Params } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import { keysCondition } from './key-bag.ts';

/** Requests for KDF profiles from one address, on one node. */
const PROFILES_PER_SECOND = 50;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function accountHandlers(
  {
    accounts,
    sessions,
    accountDeletion,
    rateLimiter,
  }: Pick<Services, 'accounts' | 'sessions' | 'accountDeletion' | 'rateLimiter'>,
  address: (request: FastifyRequest) => CallerAddress,
) {
  const { factors } = accounts;
  const user = (request: FastifyRequest) => request.caller.username;
  const params = (request: FastifyRequest) => request.params as Params;
  return {
    register: (request) => accounts.register(request.body as Registration, address(request)),
    login: (request) => accounts.login(request.body as Credentials, address(request)),
    readProfile: async (request) => {
      if (await rateLimiter.isTooFrequent(`profile ${address(request).network}`, PROFILES_PER_SECOND))
        throw new TryLater(429, 'too many requests from your address; try again later', 10);
      return { profile: await accounts.profile((request.body as ProfileBody).username) };
    },
    me: async (request) => ({ username: user(request) }),
    logout: async (request) => {
      await sessions.logout(request.caller);
      return { ok: true };
    },
    createToken: (request) => sessions.create(request.caller, request.body as TokenBody),
    readKeys: async (request, reply) => {
      const { keys, tag } = await accounts.keys(request.caller);
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
      return { keys };
    },
    writeKeys: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as KeysBody;
      reply.header('etag', await accounts.replaceKeys(request.caller, body, condition, address(request)));
      return { ok: true };
    },
    changePassword: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as PasswordBody;
      const tag = await accounts.changePassword(request.caller, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true };
    },
    recover: async (request, reply) => {
      const { recovered, tag } = await accounts.recover(request.body as RecoverBody, address(request));
      reply.headers({ etag: tag, 'cache-control': 'no-store' });
      return recovered;
    },
    finishRecovery: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as FinishRecoveryBody;
      const { session, tag } = await accounts.finishRecovery(body, condition, address(request));
      reply.header('etag', tag);
      return session;
    },
    leave: async (request) => {
      const pending = await accounts.leave(request.caller, request.body as LeaveBody, address(request));
      await accountDeletion.finish(pending).catch((err: unknown) => {
        // The account can no longer be used, so the client gets its 200.
        request.log.error({ err }, 'deleting an account was interrupted; the sweeper continues');
      });
      return { ok: true };
    },
    listSessions: async (request) => ({ sessions: await sessions.list(request.caller) }),
    endSession: async (request) => {
      await sessions.end(request.caller, params(request).session_id);
      return { ok: true };
    },
    endSessions: async (request) => ({ ok: true, ended: await sessions.endOthers(request.caller) }),
    factors: (request) => factors.list(request.caller),
    setTotp: async (request) => {
      await factors.setTotp(request.caller, request.body as TotpBody, address(request));
      return { ok: true };
    },
    removeTotp: async (request) => {
      await factors.removeTotp(request.caller, request.body as TotpOffBody, address(request));
      return { ok: true };
    },
    passkeyChallenge: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return factors.challenge();
    },
    passkeyLogin: (request) => factors.loginWithPasskey(request.body as PasskeyEntry, address(request)),
    newPasskey: (request) => factors.requestNewPasskey(request.caller),
    addPasskey: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as NewPasskeyBody;
      const { id, tag } = await factors.addPasskey(request.caller, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true, id };
    },
    removePasskey: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const { passkey_id: id } = params(request);
      const body = request.body as RemovePasskeyBody;
      const tag = await factors.removePasskey(request.caller, id, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true };
    },
  } satisfies Record<string, Handler>;
}
