/** The routes of accounts, their sessions and factors. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TryLater } from '../platform/http/api-error.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import { done, type Handlers } from '../platform/http/handlers.ts';
import type { Services } from '../services.ts';
import { keysCondition } from './key-bag.ts';

/** Limit for requests of KDF profiles from one address, on each node. */
const PROFILES_PER_SECOND = 50;

/** Sets the new ETag if the request replaced the keys. */
function setTag(reply: FastifyReply, tag: string | undefined): void {
  if (tag !== undefined) reply.header('etag', tag);
}

export function accountHandlers(
  { accounts, sessions, accountDeletion, rateLimiter }: Services,
  address: (request: FastifyRequest) => CallerAddress,
) {
  const { factors } = accounts;
  return {
    register: (request) => accounts.register(request.body, address(request)),
    login: (request) => accounts.login(request.body, address(request)),
    readProfile: async (request) => {
      if (await rateLimiter.isTooFrequent(`profile ${address(request).network}`, PROFILES_PER_SECOND))
        throw new TryLater(429, 'too many requests from your address; try again later', 10);
      return { profile: await accounts.profile(request.body.username) };
    },
    me: async ({ caller }) => ({ username: caller.username }),
    logout: done(({ caller }) => sessions.logout(caller)),
    createToken: ({ caller, body }) => sessions.create(caller, body),
    readKeys: async ({ caller }, reply) => {
      const { keys, tag } = await accounts.keys(caller);
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
      return { keys };
    },
    writeKeys: done(async (request, reply) => {
      const { caller, body, headers } = request;
      setTag(reply, await accounts.replaceKeys(caller, body, keysCondition(headers), address(request)));
    }),
    changePassword: done(async (request, reply) => {
      const { caller, body, headers } = request;
      setTag(reply, await accounts.changePassword(caller, body, keysCondition(headers), address(request)));
    }),
    recover: async (request, reply) => {
      const { recovered, tag } = await accounts.recover(request.body, address(request));
      reply.headers({ etag: tag, 'cache-control': 'no-store' });
      return recovered;
    },
    finishRecovery: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const { session, tag } = await accounts.finishRecovery(request.body, condition, address(request));
      reply.header('etag', tag);
      return session;
    },
    leave: done(async (request) => {
      const pending = await accounts.leave(request.caller, request.body, address(request));
      await accountDeletion.finish(pending).catch((err: unknown) => {
        // The account can no longer be used, so the client gets its 200.
        request.log.error({ err }, 'deleting an account was interrupted; the sweeper continues');
      });
    }),
    listSessions: async ({ caller }) => ({ sessions: await sessions.list(caller) }),
    endSession: done(({ caller, params }) => sessions.end(caller, params.session_id)),
    endSessions: async ({ caller }) => ({ ok: true, ended: await sessions.endOthers(caller) }),
    factors: ({ caller }) => factors.list(caller),
    setTotp: done((request) => factors.setTotp(request.caller, request.body, address(request))),
    removeTotp: done((request) => factors.removeTotp(request.caller, request.body, address(request))),
    passkeyChallenge: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return factors.challenge();
    },
    passkeyLogin: (request) => factors.loginWithPasskey(request.body, address(request)),
    newPasskey: ({ caller }) => factors.requestNewPasskey(caller),
    addPasskey: async (request, reply) => {
      const { caller, body, headers } = request;
      const { id, tag } = await factors.addPasskey(caller, body, keysCondition(headers), address(request));
      setTag(reply, tag);
      return { ok: true, id };
    },
    removePasskey: done(async (request, reply) => {
      const { caller, params, body, headers } = request;
      const [id, condition] = [params.passkey_id, keysCondition(headers)];
      setTag(reply, await factors.removePasskey(caller, id, body, condition, address(request)));
    }),
  } satisfies Partial<Handlers>;
}
