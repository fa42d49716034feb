/** The end of a rekey: everything is under the new master key, and the earlier ones are retired. */

import { RetiredKeyError } from '../errors.ts';
import { type Resealed, type ResealOptions, reseal } from '../files/reseal.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { type AccountContext, type Proof, raiseFloor } from './changes.ts';

/** @public */
export interface FinishRekeyOptions extends ResealOptions {
  /** Retires the earlier master keys although something could not be resealed: readers refuse it from then on, and it can be accepted later. */
  leaveRest?: boolean | undefined;
}

/** What `Szafa.finishRekey` did. @public */
export interface FinishedRekey extends Resealed {
  /** Master keys of earlier epochs open no header and no name any more. */
  retired: boolean;
}

/** A process that still seals under the key before is noticed by the second look, or the third. */
const MOST_LOOKS = 3;

/** Number of resealed items. @public */
export const countResealed = ({ files, dirs, shares, requests }: Resealed) =>
  files + dirs + shares + requests;

/** Looks until nothing more is found under an earlier master key, and only then retires those. */
export async function finishRekey(
  context: OpenContext,
  account: AccountContext,
  proof: Proof,
  { leaveRest = false, ...options }: FinishRekeyOptions,
): Promise<FinishedRekey> {
  const total = await reseal(context, options);
  let last = total;
  for (let look = 1; look < MOST_LOOKS && countResealed(last) > 0; look++) {
    last = await reseal(context, options);
    for (const what of ['files', 'dirs', 'shares', 'requests'] as const) total[what] += last[what];
  }
  const { epoch, failed } = last;
  const isDone = countResealed(last) === 0 && failed.every(({ error }) => error instanceof RetiredKeyError);
  const retired = isDone || leaveRest;
  if (retired) await raiseFloor(account, proof, epoch);
  return { ...total, epoch, failed, retired };
}
