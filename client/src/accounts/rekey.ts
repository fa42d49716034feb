/** A new master key: it is made, everything is sealed under it, and the earlier ones are retired. */
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
  /** Retire the earlier master keys although something could not be resealed: readers then refuse it, until it is accepted. */
  leaveRest?: boolean | undefined;
}

/** @public */
export interface FinishedRekey extends Resealed {
  /** Whether readers now refuse what is under earlier master keys. */
  retired: boolean;
}

/** Another process may still seal under the earlier key; the second or third run finds that. */
const MOST_RUNS = 3;

/** Returns the number of resealed items. @public */
export const countResealed = ({ files, dirs, shares, requests }: Resealed) =>
  files + dirs + shares + requests;

/** See `Szafa.finishRekey`: reseals until nothing is found under an earlier master key, and only then retires those. */
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

/** Retires the master keys before this epoch. */
async function raiseFloor(context: AccountContext, proof: Proof, epoch: number): Promise<void> {
  const { api, engine } = context;
  const before = await requireBag(context);
  const now = await deriveProof(context, proof, before);
  const unlocker = await findUnlocker(context, before, now);
  // Another device has made a newer master key, and files under it were not looked at here.
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
          // The bag has no entries for them any more.
          passkeys: 'second' as const,
          ...defined({ recovery: recovery?.authSecret }),
        },
        ...call,
      }),
  });
}

/** Returns the KEK of the password, or of the passphrase if the files are under one. */
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
