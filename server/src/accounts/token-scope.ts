/**
 * Limits restricted tokens to their directory and to files they have uploaded. Access to the route was checked before
 * (`whyDenied`); existence and ownership are checked afterwards by each feature.
 */
import { isRestricted } from '@szafa/protocol';
import type { Metadata } from '../metadata.ts';
import { OutOfScope } from '../platform/http/api-error.ts';
import type { TransferState } from '../transfers/transfers-table.ts';
import type { Caller } from './sessions.ts';

type Tables = Pick<Metadata, 'files' | 'transfers'>;

/** With `own`, a token without the scope full may only add to files that it has uploaded. */
export async function requireFileInScope(
  { files, transfers }: Tables,
  { username, onlyDir, scope, sessionId }: Caller,
  fileId: string,
  own: boolean,
): Promise<void> {
  const ownOnly = own && scope !== 'full';
  if (onlyDir === null && !ownOnly) return;
  const [file] = await files.locations([fileId]);
  if (file?.owner !== username) return;
  if (onlyDir !== null && file.dir_id !== onlyDir) throw otherDirectory();
  if (ownOnly && (await transfers.creatorSession(fileId)) !== sessionId)
    throw new OutOfScope('this token can only add to files it has uploaded; this needs the scope full');
}

export async function requireFilesInScope({ files }: Tables, { username, onlyDir }: Caller, ids: string[]) {
  if (onlyDir === null) return;
  const found = await files.locations(ids);
  if (found.some(({ owner, dir_id }) => owner === username && dir_id !== onlyDir)) throw otherDirectory();
}

/**
 * "Any authenticated caller who knows the id can use them" holds for unrestricted tokens. Restricted tokens can use only
 * transfers of their account and, with `own`, only those they created.
 */
export function requireTransferInScope(
  caller: Caller,
  transfer: TransferState | undefined,
  { own = false } = {},
): void {
  if (!isRestricted(caller) || !transfer) return;
  const { username, onlyDir, scope, sessionId } = caller;
  if (transfer.creator !== username)
    throw new OutOfScope('this token can only use uploads of its own account');
  if (onlyDir !== null && transfer.dir_id !== onlyDir) throw otherDirectory();
  if (own && scope !== 'full' && transfer.creator_session !== sessionId)
    throw new OutOfScope('this token can only cancel uploads it has begun; this needs the scope full');
}

/** Checks the directory that a request writes to or lists; 0 is the root. */
export function requireDirInScope({ onlyDir }: Caller, target: number): void {
  if (onlyDir !== null && target !== onlyDir) throw otherDirectory();
}

const otherDirectory = () =>
  new OutOfScope('this token is for another directory; this needs one for the whole account');
