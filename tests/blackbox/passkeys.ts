/** A service that has passkeys, and what accounts do with them there. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { NewPasskeyRequest, Passkey, PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  Authenticator,
  assertError,
  assertOk,
  freshName,
  User,
  useService,
} from '../harness/index.ts';

export const ORIGIN = 'https://files.szafa.test';
export const service = useService({ env: { SZ_ORIGIN: ORIGIN } });

export const post = (path: string, json?: object, headers = {}) =>
  service.call({ method: 'POST', path, ...(json && { json }), headers });
export const logIn = ({ username, password }: User, more: object = {}) =>
  post(pathOf('login'), { username, password, ...more });
export const enter = (passkey: PasskeyAnswer, more: object = {}) =>
  post(pathOf('passkeyLogin'), { passkey, ...more });

export async function challenge(): Promise<PasskeyRequest> {
  const answer = await post(pathOf('passkeyChallenge'));
  assertOk(answer);
  return answer.json as unknown as PasskeyRequest;
}

/** What a login with the password asks for. */
export async function asked(user: User): Promise<PasskeyRequest> {
  const answer = await logIn(user);
  assertAsked(answer, ['passkey']);
  return answer.json['passkey'] as PasskeyRequest;
}

export function assertAsked(answer: Answer, factors: string[]): void {
  assertError(answer, 401);
  assert.deepEqual(Object.keys(answer.json).sort(), ['error', 'factors', 'passkey']);
  assert.deepEqual(answer.json['factors'], factors);
}

/** An account with a key bag, as the server sees one. */
export async function withKeys(): Promise<User> {
  const [username, password] = [freshName(), randomBytes(12).toString('base64url')];
  const answer = await post(pathOf('register'), { username, password, keys: 'first' });
  assertOk(answer);
  return new User(service, username, password, String(answer.json['token']));
}

export const requested = async (user: User) => {
  const answer = await user.post(pathOf('newPasskey'));
  assertOk(answer);
  return answer.json as unknown as NewPasskeyRequest;
};
export const tagOf = async (user: User) => String((await user.get(pathOf('readKeys'))).headers['etag']);
export const addWith = async (user: User, json: object, headers = {}) =>
  user.call('POST', pathOf('addPasskey'), {
    json: { password: user.password, name: 'key', ...json },
    headers,
  });
export const remove = (user: User, id: string, json: object = {}, headers = {}) => {
  const body = { password: user.password, ...json };
  return user.call('DELETE', pathOf('removePasskey', { passkey_id: id }), { json: body, headers });
};

/** `alone`: with an entry in the key bag, which nobody here can read. */
export async function added(
  user: User,
  { alone = false, counter = 1, name = 'key' } = {},
): Promise<Authenticator> {
  const key = new Authenticator(ORIGIN, counter);
  const made = { name, ...key.make(await requested(user)) };
  const answer = alone
    ? await addWith(user, { ...made, keys: `bag${key.name.slice(0, 8)}` }, { 'if-match': await tagOf(user) })
    : await addWith(user, made);
  assertOk(answer, { ok: true, id: key.name });
  return key;
}

export const passkeysOf = async (user: User) => {
  const answer = await user.get(pathOf('factors'));
  assertOk(answer);
  return answer.json['passkeys'] as Passkey[];
};
