/** API calls about the account and its keys that need more than their route. */

import { BAGLESS_PROFILE } from '@szafa/format';
import type { KeysBody, RecoverBody, ServiceInfo } from '@szafa/protocol';
import { type Api, type CallOptions, hasStatus, isUnknownRoute } from '../call.ts';
import { UnexpectedAnswerError } from '../errors.ts';
import type { TransportResponse } from '../http/transport.ts';

/** A key bag, and the ETag needed to replace it. */
export interface TaggedKeys {
  keys: string;
  tag: string;
}

/** Identifies the server. @throws UnexpectedAnswerError if it is not a szafa server */
export async function readServerInfo(api: Api, { signal }: CallOptions = {}): Promise<ServiceInfo> {
  try {
    return await api.call('service', { signal });
  } catch (error) {
    if (!isUnknownRoute(error)) throw error;
    throw new UnexpectedAnswerError(api.server, error.status, 'no service id', { cause: error });
  }
}

/** Returns the KDF profile of an account; the profile of an account without a bag if the server lacks the route. */
export async function readProfile(api: Api, username: string, { signal }: CallOptions = {}): Promise<number> {
  try {
    return (await api.call('readProfile', { body: { username }, signal })).profile;
  } catch (error) {
    if (isUnknownRoute(error)) return BAGLESS_PROFILE;
    throw error;
  }
}

/** Returns the account's key bag; undefined if it has none. */
export async function readKeys(api: Api, options?: CallOptions): Promise<string | undefined> {
  const response = await sendReadKeys(api, options);
  return response && api.parse('readKeys', response).keys;
}

export async function readTaggedKeys(api: Api, options?: CallOptions): Promise<TaggedKeys | undefined> {
  const response = await sendReadKeys(api, options);
  return response && { keys: api.parse('readKeys', response).keys, tag: tagOf(api, response) };
}

async function sendReadKeys(api: Api, { signal }: CallOptions = {}): Promise<TransportResponse | undefined> {
  try {
    return await api.send('readKeys', { signal });
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** Returns false if the account already has a key bag, possibly stored by an earlier attempt whose answer was lost. */
export async function writeFirstKeys(
  api: Api,
  body: KeysBody,
  { signal }: CallOptions = {},
): Promise<boolean> {
  try {
    await api.call('writeKeys', { body, headers: { 'If-None-Match': '*' }, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 412)) return false;
    throw error;
  }
}

/**
 * Starts a recovery: returns the key bag with its tag, and a token for the second step. The server answers 401 for a wrong name or
 * recovery key.
 */
export async function readKeysForRecovery(
  api: Api,
  body: RecoverBody,
  { signal }: CallOptions = {},
): Promise<TaggedKeys & { token: string }> {
  const response = await api.send('recover', { body, signal });
  const { keys, token } = api.parse('recover', response);
  return { keys, token, tag: tagOf(api, response) };
}

/** Validates the ETag, since it is sent back in a header. */
function tagOf(api: Api, response: TransportResponse): string {
  const tag = response.header('etag');
  if (tag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(tag)) return tag;
  throw api.unexpected(response, 'keys without a tag');
}
