/** The second factor of an account: codes from an authenticator app, which a login needs beside the password. It guards the login; keys it opens none. */
import type { Bytes, Engine } from '@szafa/format';
import {
  type Credentials,
  type Factor,
  findMismatch,
  type PasskeyAnswer,
  PasskeyRequest,
  type Session,
} from '@szafa/protocol';
import type { Api } from '../call.ts';
import { ApiError, FactorError, WrongPasswordError } from '../errors.ts';
import { type AccountContext, derived, type Proof, settle } from './changes.ts';

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

/** The password was right, says the service, and it wants a second factor, or another one: which would do. */
export function wantedFactors(error: unknown): { factors: Factor[]; passkey?: PasskeyRequest } | undefined {
  const body = error instanceof ApiError ? error.body : undefined;
  if (!Array.isArray(body?.['factors'])) return undefined;
  const factors = FACTORS.filter((one) => (body['factors'] as unknown[]).includes(one));
  const passkey = body['passkey'] as PasskeyRequest;
  return { factors, ...(findMismatch(PasskeyRequest, passkey) === undefined && { passkey }) };
}

const FACTORS: Factor[] = ['totp', 'passkey'];

/** As a person copies it from an app. */
const bare = (code: string) => code.replace(/\s/g, '');

/** `ask` is called at most once, if the service would take a code and no second factor is given. */
export async function logIn(
  api: Api,
  credentials: Credentials,
  ask: (() => Promise<string>) | undefined,
  signal: AbortSignal | undefined,
): Promise<Session> {
  const { code, passkey } = credentials;
  try {
    return await api.call('login', {
      body: code === undefined ? credentials : { ...credentials, code: bare(code) },
      signal,
    });
  } catch (error) {
    const wanted = wantedFactors(error);
    if (!wanted) throw error;
    const given = passkey ? 'passkey' : 'code';
    if (passkey || code !== undefined) throw new FactorError(given, wanted, { cause: error });
    if (!ask || !wanted.factors.includes('totp')) throw new FactorError('none', wanted, { cause: error });
  }
  return logIn(api, { ...credentials, code: await ask() }, undefined, signal);
}

/** What is shown beside the password. @public */
export interface Second {
  /** As an app shows it. */
  code?: string | undefined;
  /** What a passkey answered that the service asked for, in a FactorError. */
  passkey?: PasskeyAnswer | undefined;
}

const refused = (given: 'none' | 'code' | 'passkey') => (error: unknown) => {
  const wanted = wantedFactors(error);
  if (wanted) throw new FactorError(given, wanted, { cause: error });
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
  const body = { password, secret, code: bare(code) };
  await settleCodes(context, true, () => api.call('setTotp', { body, signal }).catch(refused('code')));
}

/** Without a second factor the FactorError says which would do, and what a passkey is to sign. */
export async function removeTotp(
  context: AccountContext,
  proof: Proof,
  { code, passkey }: Second,
): Promise<void> {
  const { authSecret: password } = await derived(context, proof);
  const { api, signal } = context;
  const body = { password, ...(code !== undefined && { code: bare(code) }), ...(passkey && { passkey }) };
  const given = passkey ? 'passkey' : code === undefined ? 'none' : 'code';
  await settleCodes(context, false, () => api.call('removeTotp', { body, signal }).catch(refused(given)));
}

/** Only one of two devices that turn codes on at once does: whoever got no answer and finds them on takes them for its own. */
function settleCodes(context: AccountContext, on: boolean, send: () => Promise<unknown>): Promise<void> {
  const { api, signal } = context;
  return settle(context, {
    ...{ what: 'the second factor', before: undefined, after: undefined, send },
    counts: async () => (await api.call('factors', { signal })).totp === on,
  });
}
