/** Distinguishes an account that never had keys from one whose key bag the server hides. */

import { looksLikeSealedDir, looksSealed } from '@szafa/format';
import type { Api } from '../call.ts';
import { SzafaError, TamperedError } from '../errors.ts';
import { eachFile } from '../files/calls.ts';
import { readVolumeHeaders } from '../transfers/calls.ts';

/** Number of files to check before an account counts as unused. */
const MOST_PROBES = 16;

/** Throws if there are sealed files or directories: the account must have had keys to create them. */
export async function requireUnused(
  api: Api,
  { signal, filesOnly }: { signal?: AbortSignal | undefined; filesOnly?: boolean | undefined },
): Promise<void> {
  const files = await Array.fromAsync(eachFile(api, 'listFiles', { signal }));
  const sealed = files.filter((file) => looksSealed(file.file_name));
  const plain = files.filter((file) => !looksSealed(file.file_name));
  for (const file of [...sealed, ...plain].slice(0, MOST_PROBES)) {
    if (await isOurs(api, file.file_id, signal)) throw missingKeys('there are encrypted files');
  }
  if (filesOnly) return;
  for (const { name } of (await api.call('listDirs', { signal })).dirs) {
    // A typed name of this length rarely mixes upper and lower case.
    if (looksLikeSealedDir(name) && /[A-Z]/.test(name) && /[a-z]/.test(name)) {
      throw missingKeys('there are encrypted directory names');
    }
  }
}

async function isOurs(api: Api, fileId: string, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    return 'szafa' in (await readVolumeHeaders(api, fileId, 1, { signal })).encParams;
  } catch (error) {
    // A file that cannot be read, or was removed, proves nothing.
    if (error instanceof SzafaError && error.code !== 'network') return false;
    throw error;
  }
}

export function missingKeys(why: string): TamperedError {
  return new TamperedError('no-bag', `the server says that this account has no keys, but ${why}`);
}
