/** Passkeys (WebAuthn): second factors, and logins by themselves if they open the key bag. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { ErrorBody, errors } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';
import { Device, Keys, Session } from './accounts.ts';

const { idChars, answerChars } = limits.passkeys;

const binary = (most: number, description: string) =>
  Type.String({ pattern: `^[A-Za-z0-9_-]{1,${most}}$`, description: `base64url: ${description}` });
const Id = binary(idChars, 'the id of the passkey, from the authenticator');

const BASE64URL = '^[A-Za-z0-9_-]+$';
const asked = {
  challenge: Type.String({
    pattern: BASE64URL,
    description: 'base64url; to be signed; it can be answered once',
  }),
  rp_id: Type.String({ description: 'the host name of the page, which the passkey belongs to' }),
  expires_in: Type.Integer({ description: 'seconds' }),
};

/** A challenge for a passkey. */
export const PasskeyRequest = Type.Object(
  {
    ...asked,
    passkeys: Type.Array(Type.String({ pattern: BASE64URL }), {
      description: 'ids of the passkeys that may answer; empty: any that opens the key bag',
    }),
  },
  { $id: 'PasskeyRequest' },
);
export type PasskeyRequest = Static<typeof PasskeyRequest>;

/** The result of `navigator.credentials.get`. */
export const PasskeyAnswer = Type.Object(
  {
    id: Id,
    client_data: binary(answerChars, 'clientDataJSON'),
    authenticator_data: binary(answerChars, 'authenticatorData'),
    signature: binary(answerChars, 'over the two'),
    user_handle: Type.Optional(binary(idChars, 'userHandle, if there is one')),
  },
  { $id: 'PasskeyAnswer' },
);
export type PasskeyAnswer = Static<typeof PasskeyAnswer>;

export const PasskeyEntry = Type.Object(
  { passkey: PasskeyAnswer, device: Type.Optional(Device) },
  { $id: 'PasskeyEntry' },
);
export type PasskeyEntry = Static<typeof PasskeyEntry>;

/** The options for `navigator.credentials.create`. */
export const NewPasskeyRequest = Type.Object(
  {
    ...asked,
    user_id: Type.String({
      pattern: BASE64URL,
      description: 'base64url: a handle of the account that reveals nothing',
    }),
    passkeys: Type.Array(Type.String({ pattern: BASE64URL }), {
      description: 'ids of the passkeys that the account has',
    }),
  },
  { $id: 'NewPasskeyRequest' },
);
export type NewPasskeyRequest = Static<typeof NewPasskeyRequest>;

const KEYS = 'without it the passkey is a second factor only';
export const NewPasskeyBody = Type.Object(
  {
    password: Type.String({ description: 'as at login' }),
    name: Type.String({ description: `its name in lists; 1 to ${limits.deviceChars} characters` }),
    client_data: binary(answerChars, 'clientDataJSON, from `navigator.credentials.create`'),
    attestation: binary(answerChars, 'attestationObject; its format is none, or packed without certificates'),
    keys: Type.Optional(
      Type.String({ ...Keys, description: `the key bag with an entry for it (If-Match); ${KEYS}` }),
    ),
  },
  { $id: 'NewPasskey' },
);
export type NewPasskeyBody = Static<typeof NewPasskeyBody>;

export const RemovePasskeyBody = Type.Object(
  {
    password: Type.String({ description: 'as at login' }),
    keys: Type.Optional(Type.String({ ...Keys, description: 'the key bag without its entry (If-Match)' })),
  },
  { $id: 'RemovePasskey' },
);
export type RemovePasskeyBody = Static<typeof RemovePasskeyBody>;

export const Passkey = Type.Object(
  {
    id: Type.String({ pattern: BASE64URL, description: 'base64url' }),
    name: Type.String(),
    alone: Type.Boolean({ description: 'whether it signs in without the password' }),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    used_at: Type.Union([Type.String(), Type.Null()], { description: 'at a login; null: never' }),
  },
  { $id: 'Passkey' },
);
export type Passkey = Static<typeof Passkey>;

const ok = Type.Literal(true);
const replaced = Type.Object({
  'If-Match': Type.Optional(
    Type.String({ description: 'with keys: the ETag of the keys that are replaced' }),
  ),
});

export const passkeyRoutes = {
  passkeyChallenge: {
    method: 'POST',
    path: '/api/auth/passkeys/challenge',
    summary: 'A challenge for a login with a passkey alone',
    tag: 'Accounts',
    access: 'open',
    changes: false,
    responses: { 200: PasskeyRequest, 404: ErrorBody },
  },
  passkeyLogin: {
    method: 'POST',
    path: '/api/auth/passkeys/login',
    summary: 'Log in with a passkey that opens the key bag',
    tag: 'Accounts',
    access: 'open',
    changes: false,
    body: PasskeyEntry,
    responses: { 200: Session, ...errors(400, 401, 403, 404, 409, 429) },
  },
  newPasskey: {
    method: 'POST',
    path: '/api/auth/passkeys/new',
    summary: 'The options for creating a passkey',
    tag: 'Accounts',
    access: 'full',
    changes: false,
    responses: { 200: NewPasskeyRequest, ...errors(403, 404) },
  },
  addPasskey: {
    method: 'POST',
    path: '/api/auth/passkeys',
    summary: 'Add a passkey; from now on a login with the password needs a second factor',
    tag: 'Accounts',
    access: 'full',
    changes: true,
    headers: replaced,
    body: NewPasskeyBody,
    responses: { 200: Type.Object({ ok, id: Type.String() }), ...errors(400, 403, 404, 409, 412, 428, 429) },
  },
  removePasskey: {
    method: 'DELETE',
    path: '/api/auth/passkeys/{passkey_id}',
    summary: 'Remove a passkey; other sessions that were opened with it end',
    tag: 'Accounts',
    access: 'full',
    changes: true,
    headers: replaced,
    body: RemovePasskeyBody,
    responses: { 200: Type.Object({ ok }), ...errors(400, 403, 404, 412, 428, 429) },
  },
} satisfies Record<string, Route>;
