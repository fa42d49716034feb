import { isRestricted } from '@szafa/protocol';
import type { Metadata } from '../metadata.ts';
import { OutOfScope } from '../platform/http/api-error.ts';
import type { TransferState } from '../transfers/transfers-table.ts';
import type { Caller } from './sessions.ts';

/**
 * What a token that may do less than its account may touch. Which requests it may make at all was checked when it was found out whose it is.
 * That a thing is there, and belongs to the account, is checked by whoever works on it; a login reaches whatever that allows.
 */
export class Reach {
  readonly #metadata: Pick<Metadata, 'files' | 'transfers'>;

  constructor(metadata: Pick<Metadata, 'files' | 'transfers'>) {
    this.#metadata = metadata;
  }

  /** `own`: a token that is not full adds only to what it has uploaded itself. */
  async requireFile(
    { username, onlyDir, scope, sessionId }: Caller,
    fileId: string,
    { own = false } = {},
  ): Promise<void> {
    const ownOnly = own && scope !== 'full';
    if (onlyDir === null && !ownOnly) return;
    const file = await this.#metadata.files.place(fileId);
    if (file?.owner !== username) return;
    if (onlyDir !== null && file.dir_id !== onlyDir) throw outOfReach();
    if (ownOnly && (await this.#metadata.transfers.makerOf(fileId)) !== sessionId) {
      throw new OutOfScope('this token adds only to files that it has uploaded; this needs the scope full');
    }
  }

  async requireFiles({ username, onlyDir }: Caller, ids: string[]): Promise<void> {
    if (onlyDir === null) return;
    const files = await this.#metadata.files.places(ids);
    if (files.some(({ owner, dir_id }) => owner === username && dir_id !== onlyDir)) throw outOfReach();
  }

  /**
   * "Any authenticated caller who knows the id can use them" is for tokens that may do everything. The others know only what their account
   * has begun, and may cancel only what they have.
   */
  async requireTransfer(caller: Caller, transferId: string, { own = false } = {}): Promise<void> {
    if (!isRestricted(caller)) return;
    requireFound(caller, await this.#metadata.transfers.state(transferId), { own });
  }
}

/** The same for a transfer that was looked for already. */
export function requireFound(
  caller: Caller,
  transfer: TransferState | undefined,
  { own = false } = {},
): void {
  if (!isRestricted(caller) || !transfer) return;
  const { username, onlyDir, scope, sessionId } = caller;
  if (transfer.creator !== username) throw new OutOfScope('this token uses only uploads of its own account');
  if (onlyDir !== null && transfer.dir_id !== onlyDir) throw outOfReach();
  if (own && scope !== 'full' && transfer.made_by !== sessionId) {
    throw new OutOfScope('this token cancels only uploads that it has begun; this needs the scope full');
  }
}

/** A directory in which something is about to be put, or whose files are asked for; 0 is the root. */
export function requireDir({ onlyDir }: Caller, target: number): void {
  if (onlyDir !== null && target !== onlyDir) throw outOfReach();
}

const outOfReach = () =>
  new OutOfScope('this token is for another directory; this needs one for the whole account');
