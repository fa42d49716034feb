/** Second factors, which a login may need besides the password. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { routeTable } from '../basics/route.ts';
import { errors, Named, Ok, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { entering } from './accounts.ts';
import { Passkey, PasskeyAnswer, PasskeyRequest } from './passkeys.ts';

const { digits, secretChars, stepSeconds } = limits.totp;

export const Code = Type.String({
  pattern: `^[0-9]{${digits}}$`,
  description: `of the second factor: ${digits} digits, TOTP (RFC 6238) with SHA-1 and steps of ${stepSeconds} s; each is accepted once`,
});

export const Credentials = Named('Credentials', {
  ...entering,
  code: Type.Optional(Code),
  passkey: Type.Optional(PasskeyAnswer),
});
export type Credentials = Static<typeof Credentials>;

export const Factor = Type.Union([Type.Literal('totp'), Type.Literal('passkey')]);
export type Factor = Static<typeof Factor>;

/** Names the missing factors. The server lists them only if the password was right. */
export const FactorError = Named('FactorError', {
  error: Type.String(),
  factors: Type.Optional(
    Type.Array(Factor, {
      description: 'the password is right, but the second factor is missing or wrong; one of these is needed',
    }),
  ),
  passkey: Type.Optional(PasskeyRequest),
});

const Password = Text('as at login');

export const TotpBody = Named('Totp', {
  password: Password,
  secret: Type.String({
    pattern: `^[A-Z2-7]{${secretChars}}$`,
    description: `made by the client: 20 random bytes in base32, ${secretChars} characters`,
  }),
  code: Code,
});
export type TotpBody = Static<typeof TotpBody>;

/** Needs a code or a passkey. Without either, the answer names the factors and contains a passkey challenge. */
export const TotpOffBody = Named('TotpOff', {
  password: Password,
  code: Type.Optional(Code),
  passkey: Type.Optional(PasskeyAnswer),
});
export type TotpOffBody = Static<typeof TotpOffBody>;

export const Factors = Named('Factors', {
  totp: Type.Boolean({ description: 'whether a login needs a code' }),
  passkeys: Type.Array(Passkey, { description: 'the passkeys of the account' }),
  passkeys_offered: Type.Boolean({ description: 'whether passkeys can be added and used at this server' }),
});
export type Factors = Static<typeof Factors>;

export const factorRoutes = routeTable('Accounts', 'full', {
  factors: {
    at: 'GET /api/auth/factors',
    summary: 'The second factors of the account',
    responses: { 200: Factors },
  },
  setTotp: {
    at: 'PUT /api/auth/factors/totp',
    summary: 'Turn on codes: logins need one from now on',
    changes: true,
    body: TotpBody,
    responses: { 200: Ok, 403: FactorError, ...errors(400, 409, 429) },
  },
  removeTotp: {
    at: 'DELETE /api/auth/factors/totp',
    summary: 'Turn off codes',
    changes: true,
    body: TotpOffBody,
    responses: { 200: Ok, 403: FactorError, ...errors(400, 404, 429) },
  },
});
