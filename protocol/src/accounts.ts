/** What requests and answers about accounts and their sessions are made of. */
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { Type } from './type.ts';

const { usernameChars, passwordChars, recoveryChars } = limits;
const Password = Type.String({ description: `${passwordChars.min} to ${passwordChars.max} characters` });
export const Device = Type.String({
  description: `what the session is listed as; at most ${limits.deviceChars} characters`,
});
export const entering = {
  username: Type.String({
    description: `${usernameChars.min} to ${usernameChars.max} ASCII letters, digits and underscores`,
  }),
  password: Password,
  device: Type.Optional(Device),
};
const KEYS = `^[A-Za-z0-9_-]{1,${limits.keysChars}}$`;
const KEYS_ABOUT = `the key bag as the client sealed it: base64url, at most ${limits.keysChars} characters, returned as it came`;
export const Keys = Type.String({
  pattern: KEYS,
  description: KEYS_ABOUT,
});

const IDENTITY_ABOUT = `the public keys that others share files with and know the account by, as the client signed them: base64url, ${limits.identityChars} characters; the key bag has the secret halves`;
const IDENTITY = `^[A-Za-z0-9_-]{${limits.identityChars}}$`;
const Identity = Type.String({
  pattern: IDENTITY,
  description: IDENTITY_ABOUT,
});

/** Whether it is text that may have been stored as an identity. */
export const isIdentity = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(IDENTITY).test(value);

const Recovery = Type.String({
  pattern: `^[A-Za-z0-9_-]{${recoveryChars.min},${recoveryChars.max}}$`,
  description: `what recover will ask for, made from the recovery key: base64url, ${recoveryChars.min} to ${recoveryChars.max} characters; only with keys, which it opens`,
});

/** Whether it is text that may have been stored as a key bag. */
export const isKeys = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(KEYS).test(value);

/** The key bag is made with the account, or not at all: no second request can be lost. */
export const Registration = Type.Object(
  {
    ...entering,
    keys: Type.Optional(Keys),
    identity: Type.Optional(Identity),
    recovery: Type.Optional(Recovery),
    invite: Type.Optional(
      Type.String({
        maxLength: limits.inviteChars,
        description: 'an invitation, where registration needs one; it is used up',
      }),
    ),
  },
  { $id: 'Registration' },
);
export type Registration = Static<typeof Registration>;

export const KeysBody = Type.Object(
  {
    password: Type.String({ description: 'as at login' }),
    keys: Keys,
    identity: Type.Optional(
      Type.String({ ...Identity, description: `${IDENTITY_ABOUT}; absent: as it was` }),
    ),
    recovery: Type.Optional(Recovery),
  },
  { $id: 'KeysChange' },
);
export type KeysBody = Static<typeof KeysBody>;

export const StoredKeys = Type.Object({ keys: Type.String({ pattern: KEYS }) }, { $id: 'Keys' });
export type StoredKeys = Static<typeof StoredKeys>;

export const StoredIdentity = Type.Object(
  { username: Type.String(), identity: Type.String() },
  { $id: 'Identity' },
);
export type StoredIdentity = Static<typeof StoredIdentity>;

/** Sent back in a header, and printed where a person asks for it: visible ASCII only. */
const BearerToken = (description?: string) =>
  Type.String({ pattern: '^[!-~]+$', ...(description !== undefined && { description }) });
const SessionId = (description: string) => Type.String({ pattern: '^[0-9a-f]{1,64}$', description });

export const Session = Type.Object({ username: Type.String(), token: BearerToken() }, { $id: 'Session' });
export type Session = Static<typeof Session>;

export const ProfileBody = Type.Object({ username: Type.String() }, { $id: 'ProfileQuestion' });
export type ProfileBody = Static<typeof ProfileBody>;

export const Profile = Type.Object(
  { profile: Type.Integer({ description: 'by which number clients derive keys from the password' }) },
  { $id: 'Profile' },
);
export type Profile = Static<typeof Profile>;

/** What it takes to change a password: the new one comes with the key bag that it opens. */
export const PasswordBody = Type.Object(
  {
    current: Type.String({ description: 'the password as at login' }),
    next: Password,
    keys: Type.Optional(
      Type.String({ ...Keys, description: `${KEYS_ABOUT}; an account without keys sends none` }),
    ),
    recovery: Type.Optional(Recovery),
    passkeys: Type.Optional(
      Type.Literal('second', {
        description: 'none signs in by itself any more: the key bag has entries for none',
      }),
    ),
  },
  { $id: 'PasswordChange' },
);
export type PasswordBody = Static<typeof PasswordBody>;

export const RecoverBody = Type.Object(
  { username: Type.String(), recovery: Type.String({ description: 'made from the recovery key' }) },
  { $id: 'Recover' },
);
export type RecoverBody = Static<typeof RecoverBody>;

export const Recovered = Type.Object(
  {
    keys: Type.String({ pattern: KEYS, description: 'the key bag; its ETag comes in a header' }),
    token: BearerToken('for the second step, once'),
    expires_in: Type.Integer({ description: 'seconds' }),
  },
  { $id: 'Recovered' },
);
export type Recovered = Static<typeof Recovered>;

export const FinishRecoveryBody = Type.Object(
  {
    token: Type.String({ description: 'that recover gave' }),
    password: Password,
    keys: Keys,
    recovery: Recovery,
    device: Type.Optional(Device),
  },
  { $id: 'RecoverFinish' },
);
export type FinishRecoveryBody = Static<typeof FinishRecoveryBody>;

export const LeaveBody = Type.Object(
  { password: Type.String({ description: 'as at login' }) },
  { $id: 'Leave' },
);
export type LeaveBody = Static<typeof LeaveBody>;

const Scopes = Type.Union([Type.Literal('full'), Type.Literal('read'), Type.Literal('append')], {
  description: 'what it may do: everything, only read, or only add',
});
export const TokenBody = Type.Object(
  {
    device: Type.String({
      description: `what it is for, as it is listed; 1 to ${limits.deviceChars} characters`,
    }),
    scope: Scopes,
    dir_id: Type.Optional(
      Type.Union([Type.Integer(), Type.Null()], {
        description: 'the one directory that it is for; null: the whole account',
      }),
    ),
    expires_at: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'when it ends; ISO 8601, UTC. Null: when it has not been used for SZ_SESSION_TTL',
      }),
    ),
  },
  { $id: 'TokenRequest' },
);
export type TokenBody = Static<typeof TokenBody>;

export const NewToken = Type.Object(
  { id: SessionId('by which it is listed and ended'), token: BearerToken() },
  { $id: 'NewToken' },
);
export type NewToken = Static<typeof NewToken>;

const Time = (description: string) => Type.String({ description: `${description}; ISO 8601, UTC` });
export const ListedSession = Type.Object(
  {
    id: SessionId('32 hex digits; not the token'),
    device: Type.String({ description: 'as it was named at login, or empty' }),
    created_at: Time('of the login'),
    used_at: Time('last use, exact to an hour'),
    current: Type.Boolean({ description: 'whether it is the one that asks' }),
    scope: Scopes,
    dir_id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'the directory that it is limited to, or null',
    }),
    expires_at: Type.Union([Time('when it ends, used or not'), Type.Null()], {
      description: 'null: when it has not been used for SZ_SESSION_TTL',
    }),
    passkey: Type.Union([Type.String(), Type.Null()], {
      description: 'the id of the passkey that it was opened with, or null; of a token, that of its maker',
    }),
    made_by: Type.Union([Type.String(), Type.Null()], {
      description: 'of a token: the id of the session or token that made it; null for a login',
    }),
  },
  { $id: 'ListedSession' },
);
export type ListedSession = Static<typeof ListedSession>;
