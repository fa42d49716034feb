/** Notes in the headers of files that others have their keys: from then on a single segment of theirs proves nothing. */

import { describeFile, parseHeader, resealHeader } from '@szafa/format';
import { deliveredBy, type FileRecord, limits } from '@szafa/protocol';
import { ApiError, ConflictError, SzafaError, TamperedError } from '../errors.ts';
import { readTrashed } from '../files/calls.ts';
import { allFiles, type ResealedFile, renameAll, replacing, type StoredFile } from '../files/stored-files.ts';
import { forEach } from '../pool.ts';
import type { VolumeAnswer } from '../transfers/calls.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import { checkRecord, readHead } from '../transfers/download/open-file.ts';
import { nameKind } from '../transfers/download/record-name.ts';

/** A header that was read a moment ago. */
export type ReadHead = Pick<VolumeAnswer, 'encParams' | 'encParamsText'>;

const PARALLEL = 8;
/** Looks at a file that another device changes at the same moments. */
const MOST_ROUNDS = 3;

/**
 * Marks these files as shared, and all their copies, which have the same file key, in the trash or not. `heads`: by the ids of files, headers
 * that lack the mark; the files of `items` that are not among them have it. What was marked stays so if this is cut off, and harms nothing.
 */
export async function markShared(
  context: OpenContext,
  items: readonly { record: FileRecord; path: string }[],
  heads: ReadonlyMap<string, ReadHead>,
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
          // A copy that does not open is read by nobody.
          unreadable.add(id);
        }
      });
      const refused = await renameAll(context, sealed, signal);
      const taken = sealed.filter(({ renamed }) => !refused.has(renamed.file_id));
      await context.revs?.note(new Map(taken.map(({ renamed, rev }) => [renamed.file_id, rev])));
      for (const { renamed } of taken) marked.add(renamed.file_id);
    }
    // Those that another device changed, and copies that it made of a file before that was marked.
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

/** `changed`: by another device, since it was listed. */
async function markFile(
  context: OpenContext,
  file: StoredFile,
  head: ReadHead | undefined,
  signal?: AbortSignal,
): Promise<ResealedFile | 'done' | 'changed'> {
  const { engine, api, keys, revs } = context;
  const { record, inTrash } = file;
  const answer =
    head ??
    (inTrash
      ? await readTrashed(api, record.file_id, { signal })
      : await readHead(api, record.file_id, signal));
  const parsed = parseHeader(answer.encParams);
  const master = await keys.master(parsed.epoch, signal);
  const before = await describeFile(engine, parsed, master);
  checkRecord(record, before);
  const older = await revs?.check(record.file_id, before.metadata.rev);
  if (older) throw older;
  if (before.metadata.shared) return 'done';
  const kind = await nameKind(context, record, before);
  if (kind === 'other') return 'changed';
  const current = await keys.current(signal);
  const header = await resealHeader(engine, parsed, master, current, () => ({ shared: true }));
  return replacing(context, file, answer.encParamsText, header, { kind, master: current.key });
}
