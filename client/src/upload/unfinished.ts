import { ApiError } from '../errors.ts';
import { type Journal, journalKey, openState } from './journal.ts';
import type { UploadContext } from './options.ts';

/** What finds an unfinished upload in the journal. @public */
export interface UnfinishedUpload {
  /** Source.place */
  place?: string | undefined;
  name: string;
  dirId?: number | null | undefined;
}

export function keyOf(
  { engine, api, username }: UploadContext,
  { place, name, dirId }: UnfinishedUpload,
): Promise<string> {
  return journalKey(engine, ['upload', api.server, username, place ?? '', name, dirId || null]);
}

/** Forgets an upload that will not go on, and frees what the service holds of it. */
export async function abandon(
  context: UploadContext,
  journal: Journal,
  unfinished: UnfinishedUpload,
  signal?: AbortSignal,
): Promise<void> {
  const key = await keyOf(context, unfinished);
  const entry = await journal.load(key);
  if (!entry) return;
  const { key: master } = await context.keys.current(signal);
  const state = await openState(context.engine, master, entry.slice());
  await journal.remove(key);
  try {
    if (state) await context.api.cancel(state.transferId, { signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error; // 404: cleared away meanwhile
  }
}
