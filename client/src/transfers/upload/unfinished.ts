import { extentOf } from '@szafa/format';
import { type Api, hasStatus } from '../../call.ts';
import { cancelTransfer, receivedNumbers } from '../calls.ts';
import { type Journal, journalKey, type LoggedUpload, uploadLog } from './journal.ts';
import type { UploadContext } from './options.ts';

/** Identifies an unfinished upload in the journal. @public */
export interface UnfinishedUpload {
  /** `place` of the source. */
  place?: string | undefined;
  path: string;
}

/** An upload that can be resumed. @public */
export interface Unfinished extends UnfinishedUpload {
  place: string;
  size: number;
  /** Bytes that the server has; undefined if the server no longer has the upload, which must then start again. */
  stored?: number;
}

const masterKeys = async ({ keys }: UploadContext, signal?: AbortSignal) =>
  (await keys.allMasters(signal)).map(({ key }) => key);

export async function openLog(
  context: UploadContext,
  journal: Journal,
  { place = '', path }: UnfinishedUpload,
  signal?: AbortSignal,
) {
  const { engine, api, username } = context;
  const key = await journalKey(engine, ['upload', api.server, username, place, path]);
  return uploadLog(journal, key, engine, await masterKeys(context, signal), { place, path });
}

/** Lists the unfinished uploads of this account. Skips entries that its keys do not open: they belong to other accounts. */
export async function listUnfinished(
  context: UploadContext,
  journal: Journal,
  signal?: AbortSignal,
): Promise<Unfinished[]> {
  const masters = await masterKeys(context, signal);
  const found: Unfinished[] = [];
  for (const key of (await journal.keys?.()) ?? []) {
    const logged = await uploadLog(journal, key, context.engine, masters).load({ mend: false });
    if (!logged) continue;
    const { path, place, layout } = logged.state;
    const stored = await storedBytes(context.api, logged, signal);
    found.push({ path, place, size: layout.size, ...(stored !== undefined && { stored }) });
  }
  return found;
}

/** Returns how many bytes of an unfinished upload the server has. */
export async function storedOf(
  context: UploadContext,
  journal: Journal,
  unfinished: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<number> {
  const logged = await (await openLog(context, journal, unfinished, signal)).load();
  return (logged && (await storedBytes(context.api, logged, signal))) ?? 0;
}

/** Returns the bytes of recorded volumes that the server has; undefined if it no longer has the transfer. */
export async function storedBytes(
  api: Api,
  { state: { transferId, layout }, volumes }: LoggedUpload,
  signal?: AbortSignal,
  isGone = (error: unknown) => hasStatus(error, 404),
): Promise<number | undefined> {
  try {
    const here = (await receivedNumbers(api, transferId, { signal })).filter((idx) => volumes.has(idx));
    return here.reduce((sum, idx) => sum + extentOf(layout, idx).length, 0);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Cancels an unfinished upload on the server, then removes it from the journal. */
export async function cancelUpload(
  context: UploadContext,
  journal: Journal,
  unfinished: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<void> {
  const log = await openLog(context, journal, unfinished, signal);
  const logged = await log.load();
  if (logged) await cancelTransfer(context.api, logged.state.transferId, { signal });
  // Removed last: without the entry, a failed cancellation could not be repeated.
  await log.end();
}
