import { extentOf } from '@szafa/format';
import { ApiError } from '../../errors.ts';
import { cancelTransfer } from '../calls.ts';
import { type Journal, journalKey, type Remembered, UploadLog } from './journal.ts';
import type { UploadContext } from './options.ts';

/** What finds an unfinished upload in the journal. @public */
export interface UnfinishedUpload {
  /** Source.place */
  place?: string | undefined;
  path: string;
}

/** It will clear the rest away by itself. */
const NOT_OURS = new Set([403, 404, 409]);

export async function logOf(
  { engine, api, username, keys }: UploadContext,
  journal: Journal,
  { place = '', path }: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<UploadLog> {
  const about = ['upload', api.server, username, place, path];
  const masters = (await keys.allMasters(signal)).map(({ key }) => key);
  return new UploadLog(journal, await journalKey(engine, about), engine, masters, { place, path });
}

/** Frees what the service holds of an upload. It may have done so by itself, or have the file, or take that from another token only. */
export async function cancel(
  { api }: UploadContext,
  transferId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await cancelTransfer(api, transferId, { signal });
  } catch (error) {
    if (!(error instanceof ApiError && NOT_OURS.has(error.status))) throw error;
  }
}

/** An upload that can go on, as a journal remembers it. @public */
export interface Unfinished extends UnfinishedUpload {
  place: string;
  size: number;
  /** Bytes that the service has; undefined where the upload is gone there, and begins anew. */
  stored?: number;
}

/** All of this account that a journal has. What its keys do not open is of another one. */
export async function listUnfinished(
  context: UploadContext,
  journal: Journal,
  signal?: AbortSignal,
): Promise<Unfinished[]> {
  const masters = (await context.keys.allMasters(signal)).map(({ key }) => key);
  const found: Unfinished[] = [];
  for (const key of (await journal.keys?.()) ?? []) {
    const remembered = await new UploadLog(journal, key, context.engine, masters).load({ mend: false });
    if (!remembered) continue;
    const { path, place, layout } = remembered.state;
    const stored = await storedBytes(context, remembered, signal);
    found.push({ path, place, size: layout.size, ...(stored !== undefined && { stored }) });
  }
  return found;
}

/** Bytes of an unfinished upload's file that the service has; 0 where there is none, or none that is known here. */
export async function storedOf(
  context: UploadContext,
  journal: Journal,
  unfinished: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<number> {
  const remembered = await (await logOf(context, journal, unfinished, signal)).load();
  return (remembered && (await storedBytes(context, remembered, signal))) ?? 0;
}

async function storedBytes(
  { api }: UploadContext,
  { state, volumes }: Remembered,
  signal?: AbortSignal,
): Promise<number | undefined> {
  try {
    const here = (
      await api.call('received', { params: { transfer_id: state.transferId }, signal })
    ).received.filter((idx) => volumes.has(idx));
    return here.reduce((sum, idx) => sum + extentOf(state.layout, idx).length, 0);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Forgets an upload that will not go on, and frees what the service holds of it. */
export async function abandon(
  context: UploadContext,
  journal: Journal,
  unfinished: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<void> {
  const log = await logOf(context, journal, unfinished, signal);
  const remembered = await log.load();
  if (remembered) await cancel(context, remembered.state.transferId, signal);
  // Not before: without it nobody can give the upload up once more.
  await log.end();
}
