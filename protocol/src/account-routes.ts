import {
  Credentials,
  FinishRecoveryBody,
  KeysBody,
  LeaveBody,
  ListedSession,
  PasswordBody,
  RecoverBody,
  Recovered,
  Registration,
  Session,
  StoredKeys,
} from './accounts.ts';
import { ErrorBody } from './resources.ts';
import type { Route } from './route.ts';
import { Type } from './type.ts';

const ok = Type.Literal(true);
const replaced = Type.Object({
  'If-Match': Type.Optional(Type.String({ description: 'the ETag of the keys that are replaced' })),
});

/** Of accounts and their sessions. */
export const accountRoutes = {
  register: {
    method: 'POST',
    path: '/api/auth/register',
    summary: 'Create an account and log in',
    tag: 'Accounts',
    open: true,
    body: Registration,
    responses: { 200: Session, 400: ErrorBody, 403: ErrorBody, 409: ErrorBody, 503: ErrorBody },
  },
  login: {
    method: 'POST',
    path: '/api/auth/login',
    summary: 'Log in; earlier tokens of the account stay valid',
    tag: 'Accounts',
    open: true,
    body: Credentials,
    responses: { 200: Session, 400: ErrorBody, 401: ErrorBody, 429: ErrorBody, 503: ErrorBody },
  },
  me: {
    method: 'GET',
    path: '/api/auth/me',
    summary: 'Who the token belongs to',
    tag: 'Accounts',
    responses: { 200: Type.Object({ username: Type.String() }) },
  },
  logout: {
    method: 'POST',
    path: '/api/auth/logout',
    summary: 'End the session that the token belongs to',
    tag: 'Accounts',
    responses: { 200: Type.Object({ ok }) },
  },
  readKeys: {
    method: 'GET',
    path: '/api/account/keys',
    summary: "The account's key bag, with an ETag",
    tag: 'Accounts',
    responses: { 200: StoredKeys, 403: ErrorBody, 404: ErrorBody },
  },
  writeKeys: {
    method: 'PUT',
    path: '/api/account/keys',
    summary: 'Replace the key bag (If-Match), or store the first one (If-None-Match: *)',
    tag: 'Accounts',
    headers: Type.Object({
      'If-Match': Type.Optional(Type.String({ description: 'the ETag of the keys that are replaced' })),
      'If-None-Match': Type.Optional(Type.String({ description: '*: there are none yet' })),
    }),
    body: KeysBody,
    responses: {
      200: Type.Object({ ok }),
      400: ErrorBody,
      403: ErrorBody,
      412: ErrorBody,
      428: ErrorBody,
      429: ErrorBody,
    },
  },
  changePassword: {
    method: 'POST',
    path: '/api/auth/password',
    summary: 'Change the password, and the key bag with it; all other sessions and tokens end',
    tag: 'Accounts',
    headers: replaced,
    body: PasswordBody,
    responses: {
      200: Type.Object({ ok }),
      400: ErrorBody,
      403: ErrorBody,
      412: ErrorBody,
      428: ErrorBody,
      429: ErrorBody,
    },
  },
  recover: {
    method: 'POST',
    path: '/api/auth/recover',
    summary: 'The key bag, and a token to set a new password with, for whoever has the recovery key',
    tag: 'Accounts',
    open: true,
    body: RecoverBody,
    responses: { 200: Recovered, 400: ErrorBody, 401: ErrorBody, 429: ErrorBody },
  },
  finishRecovery: {
    method: 'POST',
    path: '/api/auth/recover/finish',
    summary: 'Set a new password, key bag and recovery key, and log in; all sessions and tokens end',
    tag: 'Accounts',
    open: true,
    headers: replaced,
    body: FinishRecoveryBody,
    responses: {
      200: Session,
      400: ErrorBody,
      401: ErrorBody,
      412: ErrorBody,
      428: ErrorBody,
      429: ErrorBody,
    },
  },
  leave: {
    method: 'DELETE',
    path: '/api/auth/me',
    summary: 'Delete the account with all that it has; the name is free afterwards',
    tag: 'Accounts',
    body: LeaveBody,
    responses: { 200: Type.Object({ ok }), 400: ErrorBody, 403: ErrorBody, 429: ErrorBody },
  },
  listSessions: {
    method: 'GET',
    path: '/api/auth/sessions',
    summary: "The account's sessions and tokens, the latest first",
    tag: 'Accounts',
    responses: { 200: Type.Object({ sessions: Type.Array(ListedSession) }), 403: ErrorBody },
  },
  endSession: {
    method: 'DELETE',
    path: '/api/auth/sessions/{session_id}',
    summary: 'End one session or token',
    tag: 'Accounts',
    responses: { 200: Type.Object({ ok }), 403: ErrorBody, 404: ErrorBody },
  },
  endSessions: {
    method: 'DELETE',
    path: '/api/auth/sessions',
    summary: 'End all sessions and tokens but the one that asks',
    tag: 'Accounts',
    responses: { 200: Type.Object({ ok, ended: Type.Integer() }), 403: ErrorBody },
  },
} satisfies Record<string, Route>;
