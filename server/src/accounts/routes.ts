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
import { type KeysCondition, keysCondition } from './key-bag.ts';

/** Requests for KDF profiles from one address, on one node. */
const PROFILES_PER_SECOND = 50;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function accountHandlers(
  { accounts, sessions, accountDeletion, rateLimiter }: Services,
  address: (request: FastifyRequest) => CallerAddress,
) {
  const { factors } = accounts;
  const params = (request: FastifyRequest) => request.params as Params;
  const done =
    (act: (request: FastifyRequest) => Promise<void>): Handler =>
    async (request) => {
      await act(request);
      return { ok: true };
    };
  /** For changes that may replace the keys: answers with the new ETag if they do. */
  const changed =
    (change: (request: FastifyRequest, condition: KeysCondition) => Promise<string | undefined>): Handler =>
    async (request, reply) => {
      const tag = await change(request, keysCondition(request.headers));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true };
    };
  return {
    register: (request) => accounts.register(request.body as Registration, address(request)),
    login: (request) => accounts.login(request.body as Credentials, address(request)),
    readProfile: async (request) => {
      if (await rateLimiter.isTooFrequent(`profile ${address(request).network}`, PROFILES_PER_SECOND))
        throw new TryLater(429, 'too many requests from your address; try again later', 10);
      return { profile: await accounts.profile((request.body as ProfileBody).username) };
    },
    me: async ({ caller }) => ({ username: caller.username }),
    logout: done(({ caller }) => sessions.logout(caller)),
    createToken: ({ caller, body }) => sessions.create(caller, body as TokenBody),
    readKeys: async ({ caller }, reply) => {
      const { keys, tag } = await accounts.keys(caller);
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
      return { keys };
    },
    writeKeys: changed((request, condition) =>
      accounts.replaceKeys(request.caller, request.body as KeysBody, condition, address(request)),
    ),
    changePassword: changed((request, condition) =>
      accounts.changePassword(request.caller, request.body as PasswordBody, condition, address(request)),
    ),
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
    leave: done(async (request) => {
      const pending = await accounts.leave(request.caller, request.body as LeaveBody, address(request));
      await accountDeletion.finish(pending).catch((err: unknown) => {
        // The account can no longer be used, so the client gets its 200.
        request.log.error({ err }, 'deleting an account was interrupted; the sweeper continues');
      });
    }),
    listSessions: async ({ caller }) => ({ sessions: await sessions.list(caller) }),
    endSession: done((request) => sessions.end(request.caller, params(request).session_id)),
    endSessions: async ({ caller }) => ({ ok: true, ended: await sessions.endOthers(caller) }),
    factors: ({ caller }) => factors.list(caller),
    setTotp: done((request) => factors.setTotp(request.caller, request.body as TotpBody, address(request))),
    removeTotp: done((request) =>
      factors.removeTotp(request.caller, request.body as TotpOffBody, address(request)),
    ),
    passkeyChallenge: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return factors.challenge();
    },
    passkeyLogin: (request) => factors.loginWithPasskey(request.body as PasskeyEntry, address(request)),
    newPasskey: ({ caller }) => factors.requestNewPasskey(caller),
    addPasskey: async (request, reply) => {
      const condition = keysCondition(request.headers);
      const body = request.body as NewPasskeyBody;
      const { id, tag } = await factors.addPasskey(request.caller, body, condition, address(request));
      if (tag !== undefined) reply.header('etag', tag);
      return { ok: true, id };
    },
    removePasskey: changed((request, condition) => {
      const body = request.body as RemovePasskeyBody;
      const { passkey_id: id } = params(request);
      return factors.removePasskey(request.caller, id, body, condition, address(request));
    }),
  } satisfies Record<string, Handler>;
}
