/** Passkeys (WebAuthn). Each is a second factor; one that opens the key bag can also log in without the password. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import { Count, errors, Named, Nullable, Ok, ok, Text, Time } from '../basics/schemas.ts';
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
  rp_id: Text('the host name of the page, which the passkey belongs to'),
  expires_in: Count('seconds'),
};

/** A challenge for a passkey. */
export const PasskeyRequest = Named('PasskeyRequest', {
  ...asked,
  passkeys: Type.Array(Type.String({ pattern: BASE64URL }), {
    description: 'ids of the passkeys that may answer; empty: any that opens the key bag',
  }),
});
export type PasskeyRequest = Static<typeof PasskeyRequest>;

/** The result of `navigator.credentials.get`. */
export const PasskeyAnswer = Named('PasskeyAnswer', {
  id: Id,
  client_data: binary(answerChars, 'clientDataJSON'),
  authenticator_data: binary(answerChars, 'authenticatorData'),
  signature: binary(answerChars, 'over the two'),
  user_handle: Type.Optional(binary(idChars, 'userHandle, if there is one')),
});
export type PasskeyAnswer = Static<typeof PasskeyAnswer>;

export const PasskeyEntry = Named('PasskeyEntry', { passkey: PasskeyAnswer, device: Type.Optional(Device) });
export type PasskeyEntry = Static<typeof PasskeyEntry>;

/** The options for `navigator.credentials.create`. */
export const NewPasskeyRequest = Named('NewPasskeyRequest', {
  ...asked,
  user_id: Type.String({
    pattern: BASE64URL,
    description: 'base64url: a handle of the account that reveals nothing',
  }),
  passkeys: Type.Array(Type.String({ pattern: BASE64URL }), {
    description: 'ids of the passkeys that the account has',
  }),
});
export type NewPasskeyRequest = Static<typeof NewPasskeyRequest>;

const KEYS = 'without it the passkey is a second factor only';
export const NewPasskeyBody = Named('NewPasskey', {
  password: Text('as at login'),
  name: Text(`its name in lists; 1 to ${limits.deviceChars} characters`),
  client_data: binary(answerChars, 'clientDataJSON, from `navigator.credentials.create`'),
  attestation: binary(answerChars, 'attestationObject; its format is none, or packed without certificates'),
  keys: Type.Optional(
    Type.String({ ...Keys, description: `the key bag with an entry for it (If-Match); ${KEYS}` }),
  ),
});
export type NewPasskeyBody = Static<typeof NewPasskeyBody>;

export const RemovePasskeyBody = Named('RemovePasskey', {
  password: Text('as at login'),
  keys: Type.Optional(Type.String({ ...Keys, description: 'the key bag without its entry (If-Match)' })),
});
export type RemovePasskeyBody = Static<typeof RemovePasskeyBody>;

export const Passkey = Named('Passkey', {
  id: Type.String({ pattern: BASE64URL, description: 'base64url' }),
  name: Type.String(),
  alone: Type.Boolean({ description: 'whether it signs in without the password' }),
  created_at: Time(),
  used_at: Nullable(Type.String(), 'at a login; null: never'),
});
export type Passkey = Static<typeof Passkey>;

const replaced = Type.Object({
  'If-Match': Type.Optional(Text('with keys: the ETag of the keys that are replaced')),
});

export const passkeyRoutes = routeTable('Accounts', 'full', {
  passkeyChallenge: {
    at: 'POST /api/auth/passkeys/challenge',
    summary: 'A challenge for a login with a passkey alone',
    access: 'open',
    changes: false,
    responses: { 200: PasskeyRequest, ...errors(404) },
  },
  passkeyLogin: {
    at: 'POST /api/auth/passkeys/login',
    summary: 'Log in with a passkey that opens the key bag',
    access: 'open',
    changes: false,
    body: PasskeyEntry,
    responses: { 200: Session, ...errors(400, 401, 403, 404, 409, 429) },
  },
  newPasskey: {
    at: 'POST /api/auth/passkeys/new',
    summary: 'The options for creating a passkey',
    changes: false,
    responses: { 200: NewPasskeyRequest, ...errors(404) },
  },
  addPasskey: {
    at: 'POST /api/auth/passkeys',
    summary: 'Add a passkey; from now on a login with the password needs a second factor',
    changes: true,
    headers: replaced,
    body: NewPasskeyBody,
    responses: { 200: Type.Object({ ok, id: Type.String() }), ...errors(400, 404, 409, 412, 428, 429) },
  },
  removePasskey: {
    at: 'DELETE /api/auth/passkeys/{passkey_id}',
    summary: 'Remove a passkey; other sessions that were opened with it end',
    changes: true,
    headers: replaced,
    body: RemovePasskeyBody,
    responses: { 200: Ok, ...errors(400, 404, 412, 428, 429) },
  },
});
