/** The second factor of an account: codes from an authenticator app, which a login needs beside the password. It guards the login; keys it opens none. */
import type { Credentials, Session } from '@szafa/protocol';
import { type AccountContext, derived, type Proof } from './account.ts';
import type { Api } from './api/api.ts';
import { ApiError, CodeError, WrongPasswordError } from './errors.ts';
import type { Bytes } from './format/bytes.ts';
import type { Engine } from './format/engine.ts';

const SECRET = 20;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** What an authenticator app makes codes from; `Szafa.setTotp` turns it on. @public */
export function newTotpSecret(engine: Engine): string {
  return base32(engine.random(SECRET));
}

function base32(bytes: Bytes): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  const fives = bits.match(/.{5}/g) ?? [];
  return fives.map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

/** The secret as authenticator apps read it from a QR code. @public */
export function totpUri(secret: string, { server, username }: { server: string; username: string }): string {
  const issuer = encodeURIComponent(`szafa ${new URL(server).host}`);
  return `otpauth://totp/${issuer}:${encodeURIComponent(username)}?secret=${secret}&issuer=${issuer}`;
}

/** The password was right, says the service, and it wants a code, or another one. */
export const wantsCode = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.body['factor'] === 'totp';

/** As a person copies it from an app. */
const bare = (code: string) => code.replace(/\s/g, '');

/** `ask` is called at most once, if the service wants a code and none is given. */
export async function logIn(
  api: Api,
  credentials: Credentials,
  ask: (() => Promise<string>) | undefined,
  signal: AbortSignal | undefined,
): Promise<Session> {
  const { code } = credentials;
  try {
    return await api.login(code === undefined ? credentials : { ...credentials, code: bare(code) }, {
      signal,
    });
  } catch (error) {
    if (!wantsCode(error)) throw error;
    if (code !== undefined || !ask) throw new CodeError(code !== undefined, { cause: error });
  }
  return logIn(api, { ...credentials, code: await ask() }, undefined, signal);
}

const refused = (error: unknown): never => {
  if (wantsCode(error)) throw new CodeError(true, { cause: error });
  if (error instanceof ApiError && error.status === 403)
    throw new WrongPasswordError('the password is wrong', { cause: error });
  throw error;
};

export async function setTotp(
  context: AccountContext,
  proof: Proof,
  secret: string,
  code: string,
): Promise<void> {
  const { authSecret: password } = await derived(context, proof);
  const { api, signal } = context;
  await api.setTotp({ password, secret, code: bare(code) }, { signal }).catch(refused);
}

export async function removeTotp(context: AccountContext, proof: Proof, code: string): Promise<void> {
  const { authSecret: password } = await derived(context, proof);
  const { api, signal } = context;
  await api.removeTotp({ password, code: bare(code) }, { signal }).catch(refused);
}
