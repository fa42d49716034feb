/** Replaces the master key: creates a new one, reseals everything under it, and retires the earlier ones. */
import { type Bytes, changeBag, defined, deriveRecoveryKeys, rekeyBag } from '@szafa/format';
import { KeysChangedError, RetiredKeyError, SzafaError, WrongPasswordError } from '../errors.ts';
import { type Resealed, type ResealOptions, reseal } from '../files/reseal.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import {
  type AccountContext,
  deriveProof,
  findUnlocker,
  isOpenedBy,
  type Proof,
  type ProofKeys,
  replaceBag,
  requireAccount,
  requireBag,
} from './changes.ts';
import type { StoredBag } from './keys.ts';

/** @public */
export interface FinishRekeyOptions extends ResealOptions {
  /** Retire the earlier master keys even if some items could not be resealed. Readers refuse those items until the owner accepts them. */
  leaveRest?: boolean | undefined;
}

/** @public */
export interface FinishedRekey extends Resealed {
  /** Whether readers now refuse items under earlier master keys. */
  retired: boolean;
}

/** Another process may still seal under the earlier key; later runs find those items. */
const MOST_RUNS = 3;

/** Returns the number of resealed items. @public */
export const countResealed = ({ files, dirs, shares, requests }: Resealed) =>
  files + dirs + shares + requests;

/** See `Szafa.finishRekey`. Retires the earlier master keys only after a run that finds nothing under them. */
export async function finishRekey(
  context: OpenContext,
  account: AccountContext,
  proof: Proof,
  { leaveRest = false, ...options }: FinishRekeyOptions,
): Promise<FinishedRekey> {
  const total = await reseal(context, options);
  let last = total;
  for (let run = 1; run < MOST_RUNS && countResealed(last) > 0; run++) {
    last = await reseal(context, options);
    for (const what of ['files', 'dirs', 'shares', 'requests'] as const) total[what] += last[what];
  }
  const { epoch, failed } = last;
  const isDone = countResealed(last) === 0 && failed.every(({ error }) => error instanceof RetiredKeyError);
  const retired = isDone || leaveRest;
  if (retired) await raiseFloor(account, proof, epoch);
  return { ...total, epoch, failed, retired };
}

/** Retires the master keys of earlier epochs. */
async function raiseFloor(context: AccountContext, proof: Proof, epoch: number): Promise<void> {
  const { api, engine } = context;
  const before = await requireBag(context);
  const now = await deriveProof(context, proof, before);
  const unlocker = await findUnlocker(context, before, now);
  // Another device has created a newer master key, and this run has not resealed anything under that key.
  if (before.bag.epoch !== epoch) throw new KeysChangedError();
  if (before.bag.floor === epoch) return;
  const { authSecret } = now;
  await replaceBag(context, {
    ...{ what: 'the key bag', before, next: { authSecret } },
    bag: await changeBag(engine, before.bag, unlocker, { floor: epoch }),
    send: (keys, call) => api.call('writeKeys', { body: { password: authSecret, keys }, ...call }),
  });
}

/** See `Szafa.replaceMaster`. */
export async function replaceMaster(
  context: AccountContext,
  proof: Proof,
  key: Bytes | undefined,
): Promise<void> {
  const { api, engine } = context;
  const before = await requireBag(context);
  if (!key && before.bag.recovery) {
    throw new SzafaError('recovery-needed', 'this account has a recovery key, and needs a new one');
  }
  const now = await deriveProof(context, proof, before);
  const recovery = key && (await deriveRecoveryKeys(engine, await requireAccount(context, before), key));
  const kek = await findPasswordKek(context, before, now);
  const { authSecret } = now;
  await replaceBag(context, {
    ...{ what: 'the master key', before, next: { kek, authSecret } },
    bag: await rekeyBag(
      engine,
      before.bag,
      { type: 'password', kek },
      { password: kek, recovery: recovery?.kek },
    ),
    send: (keys, call) =>
      api.call('changePassword', {
        body: {
          ...{ current: authSecret, next: authSecret, keys },
          // The new bag has no passkey entries, so passkeys are only a second factor from now on.
          passkeys: 'second' as const,
          ...defined({ recovery: recovery?.authSecret }),
        },
        ...call,
      }),
  });
}

/** Returns the KEK that opens the bag's password entry: the password's, or the passphrase's if there is one. */
async function findPasswordKek(
  { engine, keys }: AccountContext,
  { bag }: StoredBag,
  now: ProofKeys,
): Promise<Bytes> {
  const own = keys.unlocked && keys.unlocker.type === 'password' ? keys.kek : undefined;
  for (const kek of [own, now.kek])
    if (kek && (await isOpenedBy(engine, bag, { type: 'password', kek }))) return kek;
  throw new WrongPasswordError();
}
