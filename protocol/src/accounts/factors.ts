/** Second factors: what a login needs beside the password. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { ErrorBody, errors } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';
import { entering } from './accounts.ts';
import { Passkey, PasskeyAnswer, PasskeyRequest } from './passkeys.ts';

const { digits, secretChars, stepSeconds } = limits.totp;

export const Code = Type.String({
  pattern: `^[0-9]{${digits}}$`,
  description: `of the second factor: ${digits} digits, TOTP (RFC 6238) with SHA-1 and steps of ${stepSeconds} s; each is accepted once`,
});

export const Credentials = Type.Object(
  { ...entering, code: Type.Optional(Code), passkey: Type.Optional(PasskeyAnswer) },
  { $id: 'Credentials' },
);
export type Credentials = Static<typeof Credentials>;

export const Factor = Type.Union([Type.Literal('totp'), Type.Literal('passkey')]);
export type Factor = Static<typeof Factor>;

/** Names the missing factors, only if the password was right. */
export const FactorError = Type.Object(
  {
    error: Type.String(),
    factors: Type.Optional(
      Type.Array(Factor, {
        description:
          'the password is right, but the second factor is missing or wrong; one of these is needed',
      }),
    ),
    passkey: Type.Optional(PasskeyRequest),
  },
  { $id: 'FactorError' },
);

const Password = Type.String({ description: 'as at login' });

export const TotpBody = Type.Object(
  {
    password: Password,
    secret: Type.String({
      pattern: `^[A-Z2-7]{${secretChars}}$`,
      description: `made by the client: 20 random bytes in base32, ${secretChars} characters`,
    }),
    code: Code,
  },
  { $id: 'Totp' },
);
export type TotpBody = Static<typeof TotpBody>;

/** Code or passkey; without either the answer names the factors and has a challenge for passkeys. */
export const TotpOffBody = Type.Object(
  { password: Password, code: Type.Optional(Code), passkey: Type.Optional(PasskeyAnswer) },
  { $id: 'TotpOff' },
);
export type TotpOffBody = Static<typeof TotpOffBody>;

export const Factors = Type.Object(
  {
    totp: Type.Boolean({ description: 'whether a login needs a code' }),
    passkeys: Type.Array(Passkey, { description: 'the passkeys of the account' }),
    passkeys_offered: Type.Boolean({ description: 'whether passkeys can be added and used at this server' }),
  },
  { $id: 'Factors' },
);
export type Factors = Static<typeof Factors>;

const ok = Type.Literal(true);

export const factorRoutes = {
  factors: {
    method: 'GET',
    path: '/api/auth/factors',
    summary: 'The second factors of the account',
    tag: 'Accounts',
    access: 'full',
    responses: { 200: Factors, 403: ErrorBody },
  },
  setTotp: {
    method: 'PUT',
    path: '/api/auth/factors/totp',
    summary: 'Turn on codes: logins need one from now on',
    tag: 'Accounts',
    access: 'full',
    changes: true,
    body: TotpBody,
    responses: { 200: Type.Object({ ok }), 403: FactorError, ...errors(400, 409, 429) },
  },
  removeTotp: {
    method: 'DELETE',
    path: '/api/auth/factors/totp',
    summary: 'Turn off codes',
    tag: 'Accounts',
    access: 'full',
    changes: true,
    body: TotpOffBody,
    responses: { 200: Type.Object({ ok }), 403: FactorError, ...errors(400, 404, 429) },
  },
} satisfies Record<string, Route>;
