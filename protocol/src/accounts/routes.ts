import { routeTable } from '../basics/route.ts';
import { errors, Ok, ok, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import {
  FinishRecoveryBody,
  KeysBody,
  LeaveBody,
  ListedSession,
  NewToken,
  PasswordBody,
  Profile,
  ProfileBody,
  RecoverBody,
  Recovered,
  Registration,
  Session,
  StoredKeys,
  TokenBody,
} from './accounts.ts';
import { Credentials, FactorError } from './factors.ts';

const replaced = Type.Object({
  'If-Match': Type.Optional(Text('the ETag of the keys that are replaced')),
});

export const accountRoutes = routeTable('Accounts', 'full', {
  register: {
    at: 'POST /api/auth/register',
    summary: 'Create an account and log in',
    access: 'open',
    changes: true,
    body: Registration,
    responses: { 200: Session, ...errors(400, 403, 409, 503) },
  },
  login: {
    at: 'POST /api/auth/login',
    summary: 'Log in; earlier tokens of the account stay valid',
    access: 'open',
    changes: false,
    body: Credentials,
    responses: { 200: Session, 401: FactorError, ...errors(400, 403, 429, 503) },
  },
  readProfile: {
    at: 'POST /api/auth/profile',
    summary: "The KDF profile of an account's key bag; 1 if nobody has the name or there is no key bag",
    access: 'open',
    changes: false,
    body: ProfileBody,
    responses: { 200: Profile, ...errors(400, 429) },
  },
  me: {
    at: 'GET /api/auth/me',
    summary: 'Who the token belongs to',
    access: 'any',
    folder: [],
    responses: { 200: Type.Object({ username: Type.String() }) },
  },
  logout: {
    at: 'POST /api/auth/logout',
    summary: 'End the session that the token belongs to',
    access: 'any',
    folder: [],
    changes: false,
    responses: { 200: Ok },
  },
  readKeys: {
    at: 'GET /api/account/keys',
    summary: "The account's key bag, with an ETag",
    access: 'any',
    folder: [],
    responses: { 200: StoredKeys, ...errors(404) },
  },
  writeKeys: {
    at: 'PUT /api/account/keys',
    summary: 'Replace the key bag (If-Match), or store the first one (If-None-Match: *)',
    changes: true,
    headers: Type.Object({
      'If-Match': Type.Optional(Text('the ETag of the keys that are replaced')),
      'If-None-Match': Type.Optional(Text('*: the account has no keys yet')),
    }),
    body: KeysBody,
    responses: { 200: Ok, ...errors(400, 412, 428, 429) },
  },
  changePassword: {
    at: 'POST /api/auth/password',
    summary: 'Change the password, and the key bag with it; all other sessions and tokens end',
    changes: true,
    headers: replaced,
    body: PasswordBody,
    responses: { 200: Ok, ...errors(400, 412, 428, 429) },
  },
  recover: {
    at: 'POST /api/auth/recover',
    summary: 'The key bag, and a token to set a new password with; needs the recovery key',
    access: 'open',
    changes: false,
    body: RecoverBody,
    responses: { 200: Recovered, ...errors(400, 401, 403, 429) },
  },
  finishRecovery: {
    at: 'POST /api/auth/recover/finish',
    summary: 'Set a new password, key bag and recovery key, and log in; all sessions and tokens end',
    access: 'open',
    changes: true,
    headers: replaced,
    body: FinishRecoveryBody,
    responses: { 200: Session, ...errors(400, 401, 403, 412, 428, 429) },
  },
  leave: {
    at: 'DELETE /api/auth/me',
    summary: 'Delete the account with everything it has; the name is free afterwards',
    changes: true,
    body: LeaveBody,
    responses: { 200: Ok, ...errors(400, 429) },
  },
  createToken: {
    at: 'POST /api/auth/tokens',
    summary: 'Create a token with fewer rights than a login, or with an expiry',
    changes: false,
    body: TokenBody,
    responses: { 200: NewToken, ...errors(400, 409, 429) },
  },
  listSessions: {
    at: 'GET /api/auth/sessions',
    summary: "The account's sessions and tokens, newest first",
    responses: { 200: Type.Object({ sessions: Type.Array(ListedSession) }) },
  },
  endSession: {
    at: 'DELETE /api/auth/sessions/{session_id}',
    summary: 'End one session or token',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  endSessions: {
    at: 'DELETE /api/auth/sessions',
    summary: 'End all sessions and tokens except this one',
    changes: false,
    responses: { 200: Type.Object({ ok, ended: Type.Integer() }) },
  },
});
