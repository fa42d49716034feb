/** Second factors of an account. A login needs one in addition to the password. They open no keys. */
import { type Bytes, defined, type Engine } from '@szafa/format';
import {
  type Credentials,
  type Factor,
  findMismatch,
  type PasskeyAnswer,
  PasskeyRequest,
  type Session,
} from '@szafa/protocol';
import { type Api, hasStatus } from '../call.ts';
import { ApiError, FactorError, WrongPasswordError } from '../errors.ts';
import { type AccountContext, deriveProof, type Proof, settle } from './changes.ts';

const SECRET_BYTES = 20;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const FACTORS: Factor[] = ['totp', 'passkey'];

/** Draws a secret for an authenticator app; `Szafa.setTotp` turns it on. @public */
export function newTotpSecret(engine: Engine): string {
  return base32(engine.random(SECRET_BYTES));
}

function base32(bytes: Bytes): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  const fives = bits.match(/.{5}/g) ?? [];
  return fives.map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

/** Returns the secret as a URI, which authenticator apps read from a QR code. @public */
export function totpUri(secret: string, { server, username }: { server: string; username: string }): string {
  const issuer = encodeURIComponent(`szafa ${new URL(server).host}`);
  return `otpauth://totp/${issuer}:${encodeURIComponent(username)}?secret=${secret}&issuer=${issuer}`;
}

/** Returns a FactorError if the server has accepted the password but asks for a second factor. */
function factorError(error: unknown, given: 'none' | 'code' | 'passkey'): FactorError | undefined {
  const body = error instanceof ApiError ? error.body : undefined;
  if (!Array.isArray(body?.['factors'])) return undefined;
  const factors = FACTORS.filter((one) => (body['factors'] as unknown[]).includes(one));
  const passkey = body['passkey'] as PasskeyRequest;
  const isSound = findMismatch(PasskeyRequest, passkey) === undefined;
  return new FactorError(given, { factors, ...(isSound && { passkey }) }, { cause: error });
}

/** Removes the spaces with which apps display a code. */
const withoutSpaces = (code: string) => code.replace(/\s/g, '');

/** A second factor: a code or a passkey's answer. @public */
export interface Second {
  /** As an app shows it, spaces included. */
  code?: string | undefined;
  /** The answer of a passkey to the challenge in a FactorError. */
  passkey?: PasskeyAnswer | undefined;
}

const kindOf = ({ code, passkey }: Second) => (passkey ? 'passkey' : code === undefined ? 'none' : 'code');

/** Logs in. Calls `ask` at most once, if the server accepts a code and no second factor was given. */
export async function logIn(
  api: Api,
  credentials: Credentials,
  ask: (() => Promise<string>) | undefined,
  signal: AbortSignal | undefined,
): Promise<Session> {
  const { code } = credentials;
  const given = kindOf(credentials);
  try {
    const body = code === undefined ? credentials : { ...credentials, code: withoutSpaces(code) };
    return await api.call('login', { body, signal });
  } catch (error) {
    const refused = factorError(error, given);
    if (!refused) throw error;
    if (given !== 'none' || !ask || !refused.factors.includes('totp')) throw refused;
  }
  return logIn(api, { ...credentials, code: await ask() }, undefined, signal);
}

/** See `Szafa.setTotp`. */
export async function setTotp(
  context: AccountContext,
  proof: Proof,
  secret: string,
  code: string,
): Promise<void> {
  const { authSecret: password } = await deriveProof(context, proof);
  const { api, signal } = context;
  const body = { password, secret, code: withoutSpaces(code) };
  await settleCodes(context, true, 'code', () => api.call('setTotp', { body, signal }));
}

/** See `Szafa.removeTotp`. */
export async function removeTotp(context: AccountContext, proof: Proof, second: Second): Promise<void> {
  const { authSecret: password } = await deriveProof(context, proof);
  const { api, signal } = context;
  const { code, passkey } = second;
  const body = defined({ password, code: code && withoutSpaces(code), passkey });
  await settleCodes(context, false, kindOf(second), () => api.call('removeTotp', { body, signal }));
}

/**
 * Sends a change of codes and finds out whether it was made. If two devices turn codes on at once and one gets no answer, that device
 * mistakes the other's codes for its own.
 */
function settleCodes(
  context: AccountContext,
  on: boolean,
  given: 'none' | 'code' | 'passkey',
  send: () => Promise<unknown>,
): Promise<void> {
  const { api, signal } = context;
  return settle(context, {
    ...{ what: 'the second factor', before: undefined, after: undefined },
    send: () =>
      send().catch((error: unknown) => {
        const cause = factorError(error, given) ?? error;
        throw hasStatus(cause, 403) ? new WrongPasswordError('the password is wrong', { cause }) : cause;
      }),
    isDone: async () => (await api.call('factors', { signal })).totp === on,
  });
}
