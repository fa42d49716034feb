import { manifestOf } from '../domain/manifest.ts';
import type { FileRow } from '../metadata/files.ts';
import { mendUsage, wrongUsage } from '../metadata/usage.ts';
import type { Pair } from './pair.ts';
import type { Report } from './report.ts';
import { filesOf } from './rows.ts';
import { digestOf, Throttle } from './volume-body.ts';

/** A group that nobody knows may belong to an init under way; after this time it does not. */
const ORPHAN_MS = 3_600_000;

export interface FsckOptions {
  repair: boolean;
  bytesPerSecond: number;
  now?: number;
}

/**
 * Holds the stores against each other while the service runs: every stored volume against its digest, records
 * without volumes and volumes without a record, kept sums against sums. Repairs what can be: orphans go, sums and
 * manifests are written anew. Bytes that are lost are told, not mended.
 */
export async function fsck(pair: Pair, options: FsckOptions, report: Report): Promise<void> {
  const throttle = new Throttle(options.bytesPerSecond);
  for await (const file of filesOf(pair.sql)) await checkFile(pair, file, options, throttle, report);
  for await (const { id, changedAt } of pair.volumes.groups()) {
    if (changedAt > (options.now ?? Date.now()) - ORPHAN_MS || (await pair.metadata.garbage.isKnown(id)))
      continue;
    if (options.repair) await pair.volumes.remove(id);
    report.problem('groups without a record', { group: id }, options.repair);
  }
  for (const owner of await wrongUsage(pair.sql)) {
    if (options.repair) await mendUsage(pair.sql, owner);
    report.problem('accounts with wrong sums', { owner }, options.repair);
  }
  if (report.problems === 0) await pair.metadata.marks.set('fsck', options.now ?? Date.now());
}

async function checkFile(
  { metadata, volumes }: Pair,
  file: FileRow,
  { repair }: FsckOptions,
  throttle: Throttle,
  report: Report,
): Promise<void> {
  const id = file.file_id;
  const specs = await metadata.files.volumes(id);
  const faults: [what: string, volume: number][] = [];
  if (specs.length !== file.chunk_count) faults.push(['files with incomplete specification', specs.length]);
  for (const spec of specs) {
    const volume = await volumes.open(id, spec.idx);
    if (!volume) {
      faults.push(['missing volumes', spec.idx]);
      continue;
    }
    try {
      const right = volume.size === spec.size && (await digestOf(volume, throttle)) === spec.sha256;
      if (!right) faults.push(['volumes with other bytes', spec.idx]);
    } finally {
      await volume.close();
    }
    report.count('volumes');
    report.count('bytes', spec.size);
  }
  const { manifest, volumes: listed } = await volumes.documents(id);
  const lacks = !manifest || !listed;
  // It may have been deleted while we looked; then nothing is wrong.
  if ((faults.length > 0 || lacks) && !(await metadata.files.get(id))) return;
  for (const [what, volume] of faults) report.problem(what, { file: id, owner: file.owner, volume });
  if (lacks) {
    const whole = manifestOf(file, specs);
    const complete = listed ?? (specs.length === file.chunk_count ? whole.volumes : undefined);
    const mended = repair && complete !== undefined;
    if (mended) await volumes.file(whole);
    report.problem('files without their documents', { file: id }, mended);
  }
  report.count('files');
}
