/** Bodies of the routes for accounts and sessions. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { Count, Named, Nullable, Text, Time } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

const { usernameChars, passwordChars, recoveryChars } = limits;
const Password = Text(`${passwordChars.min} to ${passwordChars.max} characters`);
export const Device = Text(`the name of the session in lists; at most ${limits.deviceChars} characters`);
export const entering = {
  username: Text(`${usernameChars.min} to ${usernameChars.max} ASCII letters, digits and underscores`),
  password: Password,
  device: Type.Optional(Device),
};
const KEYS = `^[A-Za-z0-9_-]{1,${limits.keysChars}}$`;
const KEYS_ABOUT = `the key bag as the client sealed it: base64url, at most ${limits.keysChars} characters; returned unchanged`;
export const Keys = Type.String({ pattern: KEYS, description: KEYS_ABOUT });

const IDENTITY_ABOUT = `the public keys of the account, signed by the client; others use them to share files with it and to recognize it: base64url, ${limits.identityChars} characters; the key bag has the secret keys`;
const IDENTITY = `^[A-Za-z0-9_-]{${limits.identityChars}}$`;
const Identity = Type.String({ pattern: IDENTITY, description: IDENTITY_ABOUT });

/** Whether the value has the form of a stored identity. */
export const isIdentity = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(IDENTITY).test(value);

const Recovery = Type.String({
  pattern: `^[A-Za-z0-9_-]{${recoveryChars.min},${recoveryChars.max}}$`,
  description: `what recover will check, made from the recovery key: base64url, ${recoveryChars.min} to ${recoveryChars.max} characters; only with keys, which it opens`,
});

/** Whether the value has the form of a stored key bag. */
export const isKeys = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(KEYS).test(value);

/** Includes the key bag: a separate second request could fail and leave an account without keys. */
export const Registration = Named('Registration', {
  ...entering,
  keys: Type.Optional(Keys),
  identity: Type.Optional(Identity),
  recovery: Type.Optional(Recovery),
  invite: Type.Optional(
    Type.String({
      maxLength: limits.inviteChars,
      description: 'an invitation, if registration needs one; it works once',
    }),
  ),
});
export type Registration = Static<typeof Registration>;

export const KeysBody = Named('KeysChange', {
  password: Text('as at login'),
  keys: Keys,
  identity: Type.Optional(Type.String({ ...Identity, description: `${IDENTITY_ABOUT}; absent: unchanged` })),
  recovery: Type.Optional(Recovery),
});
export type KeysBody = Static<typeof KeysBody>;

export const StoredKeys = Named('Keys', { keys: Type.String({ pattern: KEYS }) });
export type StoredKeys = Static<typeof StoredKeys>;

export const StoredIdentity = Named('Identity', { username: Type.String(), identity: Type.String() });
export type StoredIdentity = Static<typeof StoredIdentity>;

/** Visible ASCII only, because clients send the token in a header and may print it. */
const BearerToken = (options = {}) => Type.String({ pattern: '^[!-~]+$', ...options });
const SessionId = (description: string) => Type.String({ pattern: '^[0-9a-f]{1,64}$', description });

export const Session = Named('Session', { username: Type.String(), token: BearerToken() });
export type Session = Static<typeof Session>;

export const ProfileBody = Named('ProfileQuestion', { username: Type.String() });
export type ProfileBody = Static<typeof ProfileBody>;

export const Profile = Named('Profile', {
  profile: Count('the number of the parameters with which clients derive keys from the password'),
});
export type Profile = Static<typeof Profile>;

/** Includes the key bag sealed for the new password, so that both change together. */
export const PasswordBody = Named('PasswordChange', {
  current: Text('the password as at login'),
  next: Password,
  keys: Type.Optional(
    Type.String({ ...Keys, description: `${KEYS_ABOUT}; an account without keys sends none` }),
  ),
  recovery: Type.Optional(Recovery),
  passkeys: Type.Optional(
    Type.Literal('second', {
      description: 'no passkey signs in by itself any more: the key bag has no entries for them',
    }),
  ),
});
export type PasswordBody = Static<typeof PasswordBody>;

export const RecoverBody = Named('Recover', {
  username: Type.String(),
  recovery: Text('made from the recovery key'),
});
export type RecoverBody = Static<typeof RecoverBody>;

export const Recovered = Named('Recovered', {
  keys: Type.String({ pattern: KEYS, description: 'the key bag; its ETag comes in a header' }),
  token: BearerToken({ description: 'for the second step, once' }),
  expires_in: Count('seconds'),
});
export type Recovered = Static<typeof Recovered>;

export const FinishRecoveryBody = Named('RecoverFinish', {
  token: Text('from recover'),
  password: Password,
  keys: Keys,
  recovery: Recovery,
  device: Type.Optional(Device),
});
export type FinishRecoveryBody = Static<typeof FinishRecoveryBody>;

export const LeaveBody = Named('Leave', { password: Text('as at login') });
export type LeaveBody = Static<typeof LeaveBody>;

const Scopes = Type.Union([Type.Literal('full'), Type.Literal('read'), Type.Literal('append')], {
  description: 'what it allows: everything, only reading, or only adding',
});
export const TokenBody = Named('TokenRequest', {
  device: Text(`its name in lists; 1 to ${limits.deviceChars} characters`),
  scope: Scopes,
  dir_id: Type.Optional(Nullable(Type.Integer(), 'the only directory it may use; null: the whole account')),
  expires_at: Type.Optional(
    Nullable(
      Type.String(),
      'when it expires; ISO 8601, UTC. Null: when it has not been used for SZ_SESSION_TTL',
    ),
  ),
});
export type TokenBody = Static<typeof TokenBody>;

export const NewToken = Named('NewToken', {
  id: SessionId('its id in lists, and for ending it'),
  token: BearerToken(),
});
export type NewToken = Static<typeof NewToken>;

export const ListedSession = Named('ListedSession', {
  id: SessionId('32 hex digits; not the token'),
  device: Text('the name given at login, or empty'),
  created_at: Time('of the login'),
  used_at: Time('last use, exact to an hour'),
  current: Type.Boolean({ description: 'whether it is the session of this request' }),
  scope: Scopes,
  dir_id: Nullable(Type.Integer(), 'the only directory it may use, or null'),
  expires_at: Nullable(
    Time('when it expires, used or not'),
    'null: when it has not been used for SZ_SESSION_TTL',
  ),
  passkey: Nullable(
    Type.String(),
    'the id of the passkey that opened it, or null; for a token, that of its creator',
  ),
  made_by: Nullable(
    Type.String(),
    'for a token: the id of the session or token that created it; null for a login',
  ),
});
export type ListedSession = Static<typeof ListedSession>;
