/**
 * Passkeys of an account: a second factor, and with the PRF extension also an unlocker of the keys. A worker cannot use WebAuthn, so each
 * operation is two calls with the browser's answer in between.
 */
import { type Bytes, changeBag, defined, derivePasskeyKek, toBase64Url } from '@szafa/format';
import {
  type AccountContext,
  deriveProof,
  findUnlocker,
  type Proof,
  replaceBag,
  requireBag,
  settle,
} from './changes.ts';

/** A passkey that the browser has just created. @public */
export interface MadePasskey {
  id: string;
  /** Its name in the list of passkeys. */
  name: string;
  client_data: string;
  attestation: string;
  /** The authenticator's PRF output for `PRF_INPUT`. Without it the passkey is only a second factor. */
  secret?: Bytes | undefined;
}

const PASSKEYS = 'the list of passkeys';

/** Returns the ids of the passkeys that the server knows. Callers drop the bag's entries of all others, which can no longer log in. */
async function readPasskeys({ api, signal }: AccountContext): Promise<Set<string>> {
  return new Set((await api.call('factors', { signal })).passkeys.map(({ id }) => id));
}

/** See `Szafa.addPasskey`. */
export async function addPasskey(context: AccountContext, proof: Proof, made: MadePasskey): Promise<void> {
  const { api, engine, signal } = context;
  const { id, secret, ...rest } = made;
  if (!secret) {
    const { authSecret: password } = await deriveProof(context, proof);
    await settle(context, {
      ...{ what: PASSKEYS, before: undefined, after: undefined },
      send: () => api.call('addPasskey', { body: { password, ...rest }, signal }),
      isDone: async () => (await readPasskeys(context)).has(id),
    });
    return;
  }
  const before = await requireBag(context);
  const now = await deriveProof(context, proof, before);
  const { authSecret } = now;
  const kek = await derivePasskeyKek(engine, await context.account(), secret);
  const change = { passkey: { id, kek }, keep: await readPasskeys(context) };
  await replaceBag(context, {
    ...{ what: PASSKEYS, before, next: { authSecret } },
    bag: await changeBag(engine, before.bag, await findUnlocker(context, before, now), change),
    send: (keys, call) => api.call('addPasskey', { body: { password: authSecret, ...rest, keys }, ...call }),
  });
}

/** See `Szafa.removePasskey`. */
export async function removePasskey(context: AccountContext, proof: Proof, id: string): Promise<void> {
  const { api, engine, keys, signal } = context;
  const before = await keys.fetchBag(signal);
  const now = await deriveProof(context, proof, before);
  let next: string | undefined;
  if (before?.bag.passkeys.has(id)) {
    const keep = await readPasskeys(context);
    keep.delete(id);
    const unlocker = await findUnlocker(context, before, now);
    next = toBase64Url(await changeBag(engine, before.bag, unlocker, { keep }));
  }
  const request = {
    params: { passkey_id: id },
    body: defined({ password: now.authSecret, keys: next }),
    headers: { 'If-Match': next && before!.tag },
    signal,
  };
  await settle(context, {
    ...{ what: PASSKEYS, before, after: next ?? before?.text },
    send: () => api.call('removePasskey', request),
    isDone: async () => !(await readPasskeys(context)).has(id),
  });
  if (!next) return;
  // A session that was opened with this passkey continues with the password.
  const unlocker = keys.unlocked ? keys.unlocker : undefined;
  const kek = unlocker?.type === 'passkey' && unlocker.id === id ? now.kek : undefined;
  await keys.adopt(next, { kek, authSecret: now.authSecret });
}
