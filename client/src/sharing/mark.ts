/** Marks files as shared in their headers. Once others have the file key, a single segment no longer proves that the owner wrote it. */
import { describeFile, parseHeader } from '@szafa/format';
import { deliveredBy, type FileRecord, limits } from '@szafa/protocol';
import { ApiError, ConflictError, SzafaError, TamperedError } from '../errors.ts';
import type { EncParams } from '../files/calls.ts';
import {
  allFiles,
  type ResealedFile,
  readStoredHeader,
  resealFile,
  type StoredFile,
  storeResealed,
} from '../files/reseal-files.ts';
import { forEach } from '../pool.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord, requireRev } from '../transfers/download/open-file.ts';

const PARALLEL = 8;
/** Attempts to mark files that another device keeps changing. */
const MOST_ROUNDS = 3;

/**
 * Marks files and all their copies, which have the same file key, including those in the trash. Marks that remain after an interruption
 * do no harm.
 * @param heads headers without the mark, by file id; all other files of `items` already have it
 * @throws ConflictError if another device keeps changing a file
 */
export async function markShared(
  context: OpenContext,
  items: readonly { record: FileRecord; path: string }[],
  heads: ReadonlyMap<string, EncParams>,
  signal?: AbortSignal,
): Promise<void> {
  const paths = new Map(items.map(({ record, path }) => [record.file_id, path]));
  const totals = new Set(items.map(({ record }) => record.sha256));
  const marked = new Set(paths.keys().filter((id) => !heads.has(id)));
  const unreadable = new Set<string>();
  const findUnmarked = () =>
    allFiles(
      context,
      signal,
      ({ file_id, file_name, sha256 }) =>
        totals.has(sha256) &&
        !marked.has(file_id) &&
        !unreadable.has(file_id) &&
        deliveredBy(file_name) === undefined,
    );
  let left = await findUnmarked();
  for (let round = 1; left.length > 0 && round <= MOST_ROUNDS; round++) {
    for (let at = 0; at < left.length; at += limits.filesPerBatch) {
      const batch = left.slice(at, at + limits.filesPerBatch);
      const sealed: ResealedFile[] = [];
      await forEach(batch, PARALLEL, async (file) => {
        signal?.throwIfAborted();
        const { file_id: id } = file.record;
        try {
          const next = await markFile(context, file, round === 1 ? heads.get(id) : undefined, signal);
          if (next === 'done') marked.add(id);
          else if (next !== 'changed') sealed.push(next);
        } catch (error) {
          if (error instanceof ApiError && error.kind === 'not-found') return;
          if (paths.has(id) || !isAboutFile(error)) throw error;
          // A copy that does not open cannot be read anyway.
          unreadable.add(id);
        }
      });
      const refused = await storeResealed(context, sealed, signal);
      for (const { renamed } of sealed) if (!refused.has(renamed.file_id)) marked.add(renamed.file_id);
    }
    // Finds files that another device changed, and copies that it made before the file was marked.
    left = await findUnmarked();
  }
  const others = left.map(({ record }) => paths.get(record.file_id) ?? record.file_id);
  const missing = [...paths].filter(([id]) => !marked.has(id)).map(([, path]) => path);
  if (others.length + missing.length > 0) throw new ConflictError([...new Set([...missing, ...others])]);
}

const isAboutFile = (error: unknown) =>
  error instanceof SzafaError &&
  /^(tampered|unsupported)$/.test(error.code) &&
  !(error instanceof TamperedError && error.aboutKeys);

/** Returns `changed` if another device renamed the file after it was listed. */
async function markFile(
  context: OpenContext,
  file: StoredFile,
  head: EncParams | undefined,
  signal?: AbortSignal,
): Promise<ResealedFile | 'done' | 'changed'> {
  const { engine, keys } = context;
  const { record } = file;
  const before = head ?? (await readStoredHeader(context, file, signal));
  const parsed = parseHeader(before.encParams);
  const master = await keys.master(parsed.epoch, signal);
  const described = await describeFile(engine, parsed, master);
  checkRecord(record, described);
  await requireRev(context, record.file_id, described);
  if (described.metadata.shared) return 'done';
  const current = await keys.current(signal);
  const change = () => ({ shared: true as const });
  const next = await resealFile(context, file, before, { parsed, master, current, change });
  return 'otherRev' in next ? 'changed' : next;
}
