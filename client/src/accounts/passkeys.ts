/**
 * Passkeys of an account: a second factor, and where the authenticator makes a secret for us (PRF) a way to the keys as well. Whoever calls this
 * asks the browser: a page's worker cannot. So each is two calls, with the browser's answer between them.
 */
import {
  type AccountName,
  type Bytes,
  changeBag,
  derivePasskeyKek,
  type Engine,
  toBase64Url,
} from '@szafa/format';
import type { NewPasskeyRequest, PasskeyAnswer } from '@szafa/protocol';
import type { Api } from '../call.ts';
import { ApiError, WrongPasswordError } from '../errors.ts';
import {
  type AccountContext,
  derived,
  type Entered,
  ownWay,
  type Proof,
  presentBag,
  settle,
} from './changes.ts';

/** A passkey that the browser has just made. @public */
export interface MadePasskey {
  id: string;
  /** As it is listed. */
  name: string;
  client_data: string;
  attestation: string;
  /** What its authenticator made of `PRF_INPUT`; without it the passkey is a second factor only. */
  secret?: Bytes | undefined;
}

/** A passkey that comes in by itself. @public */
export interface EnteringPasskey {
  answer: PasskeyAnswer;
  /** What its authenticator made of `PRF_INPUT`. */
  secret: Bytes;
  device?: string | undefined;
}

export function newPasskey({ api, signal }: AccountContext): Promise<NewPasskeyRequest> {
  return api.call('newPasskey', { signal });
}

const PASSKEYS = 'the list of passkeys';

/** Those that the service knows: what is in the bag beside them opens nothing any more, and goes. */
async function known({ api, signal }: AccountContext): Promise<Set<string>> {
  return new Set((await api.call('factors', { signal })).passkeys.map(({ id }) => id));
}

/** From now on a login with the password needs it, or another second factor. */
export async function addPasskey(context: AccountContext, proof: Proof, made: MadePasskey): Promise<void> {
  const { api, engine, keys, signal } = context;
  const { id, secret, ...rest } = made;
  if (!secret) {
    const { authSecret: password } = await derived(context, proof);
    await settle(context, {
      what: PASSKEYS,
      before: undefined,
      after: undefined,
      send: () => api.call('addPasskey', { body: { password, ...rest }, signal }),
      counts: async () => (await known(context)).has(id),
    });
    return;
  }
  const before = await presentBag(context);
  const now = await derived(context, proof, before);
  const kek = await derivePasskeyKek(engine, await context.account(), secret);
  const change = { passkey: { id, kek }, keep: await known(context) };
  const way = await ownWay(context, before, now);
  const after = toBase64Url(await changeBag(engine, before.bag, way, change));
  const body = { password: now.authSecret, ...rest, keys: after };
  const send = () => api.call('addPasskey', { body, headers: { 'If-Match': before.tag }, signal });
  await settle(context, { what: PASSKEYS, before, after, send });
  await keys.replaced(after, { authSecret: now.authSecret });
}

/** It opens nothing any more, and other sessions that were opened with it end. */
export async function removePasskey(context: AccountContext, proof: Proof, id: string): Promise<void> {
  const { api, engine, keys, signal } = context;
  const before = await keys.found(signal);
  const now = await derived(context, proof, before);
  let after = before?.text;
  if (before?.bag.passkeys.has(id)) {
    const keep = await known(context);
    keep.delete(id);
    const way = await ownWay(context, before, now);
    after = toBase64Url(await changeBag(engine, before.bag, way, { keep }));
  }
  const changed = after !== undefined && after !== before?.text;
  const body = { password: now.authSecret, ...(changed && { keys: after! }) };
  await settle(context, {
    what: PASSKEYS,
    before,
    after,
    send: () =>
      api.call('removePasskey', {
        params: { passkey_id: id },
        body,
        headers: { 'If-Match': changed ? before!.tag : undefined },
        signal,
      }),
    counts: async () => !(await known(context)).has(id),
  });
  if (!changed) return;
  // A session that was opened with it goes on with the password.
  const way = keys.unlocked ? keys.way : undefined;
  const kek = way?.type === 'passkey' && way.id === id ? now.kek : undefined;
  await keys.replaced(after, { kek, authSecret: now.authSecret });
}

/** The service says whose the passkey is; the key bag, which only this secret opens for that name, shows it. */
export async function enterWithPasskey(
  { api, engine, signal }: { api: Api; engine: Engine; signal?: AbortSignal | undefined },
  account: (username: string) => Promise<AccountName>,
  { answer, secret, device }: EnteringPasskey,
): Promise<Pick<Entered, 'session' | 'kek'> & { account: AccountName }> {
  const named = device === undefined ? {} : { device };
  const session = await api
    .call('passkeyLogin', { body: { passkey: answer, ...named }, signal })
    .catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      throw new WrongPasswordError('the passkey does not open an account here', { cause: error });
    });
  const whose = await account(session.username);
  return { session, account: whose, kek: await derivePasskeyKek(engine, whose, secret) };
}
