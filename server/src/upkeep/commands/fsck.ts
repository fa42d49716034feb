import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Volume } from '@szafa/protocol';
import type { NumberedFile } from '../../files/files-table.ts';
import { findWrongUsage, repairUsage } from '../../files/quota-recount.ts';
import { THUMBNAIL } from '../../files/thumbnails-table.ts';
import { CONTESTED, ignoreBroken, type Report, UsageError } from '../../operator/commands/report.ts';
import { nameOf } from '../../platform/volumes/names.ts';
import type { OpenVolume, VolumeName } from '../../platform/volumes/store.ts';
import { isStreaming } from '../../transfers/streamed-table.ts';
import type { TransferRow } from '../../transfers/transfer-rows.ts';
import { isFinished } from '../checks-table.ts';
import { accountDocument, rewriteManifest, writeAccount } from '../documents.ts';
import { FileWalk } from '../file-walk.ts';
import { pages, splitKnown } from '../orphans.ts';
import { readId } from '../store-identity.ts';
import { VolumeCheck, type VolumeFault } from '../volume-check.ts';
import type { Pair } from './pair.ts';
import { rowsOf, uploadsOf } from './rows.ts';

/** By this time, a volume received by the store is recorded in the database. */
const RECORDED_MS = 1000;

export interface FsckOptions {
  repair: boolean;
  /** Continues the last run if it was interrupted. */
  goOn?: boolean;
  bytesPerSecond: number;
  now?: number;
}

const PROBLEMS: Record<VolumeFault, string> = {
  missing: 'missing volumes',
  wrong: 'volumes with wrong bytes',
  unreadable: 'volumes that cannot be read',
};

/** State shared by the parts of a check. */
interface Fsck {
  pair: Pair;
  repair: boolean;
  check: VolumeCheck;
  report: Report;
}

/**
 * Compares the stores while the server runs: every stored volume with its digest, records with volumes and volumes with
 * records, documents of accounts, and stored totals. With `repair`, totals and manifests are written again, and a damaged
 * volume of an upload counts as not received. Lost bytes of files can only be reported.
 */
export async function fsck(pair: Pair, options: FsckOptions, report: Report): Promise<void> {
  const { repair } = options;
  // Read anew each time, because the check may take weeks.
  const now = () => options.now ?? Date.now();
  const { contestedAt } = await pair.metadata.store.get();
  if (contestedAt !== null) {
    if (repair) throw new UsageError(CONTESTED);
    report.problem('contested stores', { since: new Date(contestedAt).toISOString() });
  }
  const check = new VolumeCheck(pair.volumes, {
    bytesPerSecond: options.bytesPerSecond,
    onVolume: () => report.count('volumes'),
    onBytes: (bytes) => report.count('bytes', bytes),
  });
  const parts: Fsck = { pair, repair, check, report };
  // Uploads first: an upload that completes in the meantime is then among the files.
  for await (const upload of uploadsOf(pair.sql)) await checkUpload(parts, upload);
  await checkFiles(parts, options.goOn ?? false, now());
  await checkAccounts(parts);
  await recordOrphans(pair, now(), report);
  for await (const owner of findWrongUsage(pair.sql)) {
    if (repair) await repairUsage(pair.sql, owner);
    report.problem('accounts with wrong totals', { owner }, repair);
  }
  if (report.problems === 0) await pair.metadata.timestamps.set('fsck', now());
}

/** Checks the received volumes of an unfinished upload. Volumes may arrive, even a second time, during the check. */
async function checkUpload(parts: Fsck, upload: TransferRow): Promise<void> {
  const { pair, repair, check, report } = parts;
  const { metadata, volumes } = pair;
  const id = upload.file_id;
  const specs = await metadata.streamed.volumes(upload);
  const streaming = isStreaming(upload);
  // A volume is recorded after it is stored. Reading the records first means that every recorded volume is also listed.
  const recorded = await metadata.receivedVolumes.numbers(id);
  const stored = new Set(await volumes.received(id));
  const withdrawn: Volume[] = [];
  for (const spec of specs) {
    const expected = streaming || recorded.has(spec.idx) || upload.status === 'storing';
    if (!stored.has(spec.idx) && !expected) continue;
    // Checked twice: a volume that was sent again during the first check is right in the second.
    const findFault = () => check.faultOf(id, spec);
    const fault = (await findFault()) && (await findFault());
    if (!fault) continue;
    const withdraws = repair && (await metadata.transfers.isOpen(id));
    // The volume has just arrived again.
    if (withdraws && !(await withdraw(parts, upload, spec))) continue;
    const now = await metadata.transfers.get(upload.transfer_id);
    // The upload was cancelled, or is a file by now; files are checked next.
    if (!now || now.status === 'done') break;
    if (withdraws) withdrawn.push(spec);
    const mended = withdraws && now.status !== 'storing';
    report.problem(PROBLEMS[fault], { upload: id, owner: upload.creator, volume: spec.idx }, mended);
  }
  if (withdrawn.length > 0) {
    // A volume sent again at the moment of its withdrawal may be recorded only now.
    await sleep(RECORDED_MS);
    const numbers = withdrawn.map(({ idx }) => idx);
    await metadata.receivedVolumes.remove(id, numbers);
    for (const spec of streaming ? withdrawn : []) {
      // The volume may have a row again although its bytes are gone.
      if ((await check.faultOf(id, spec)) === 'missing')
        await metadata.streamed.withdraw(upload.transfer_id, spec);
    }
  }
  report.count('unfinished uploads');
}

/** Makes the client send the volume again. False if it has already arrived again. */
async function withdraw({ pair, check }: Fsck, upload: TransferRow, spec: Volume): Promise<boolean> {
  const { metadata, volumes } = pair;
  const { transfer_id: transferId, file_id: fileId, streamed } = upload;
  const streaming = isStreaming(upload);
  if (streaming && !(await metadata.streamed.withdraw(transferId, spec))) return false;
  const isRight = (volume: OpenVolume) => check.isRight(volume, spec);
  if (await volumes.withdraw(fileId, spec, isRight)) {
    await metadata.receivedVolumes.remove(fileId, [spec.idx]);
    return true;
  }
  // The client that sent it again may have been answered based on the row that was just removed.
  if (streaming) await metadata.streamed.record({ transferId, fileId, streamed }, spec, false);
  return false;
}

async function checkFiles(parts: Fsck, goOn: boolean, now: number): Promise<void> {
  const { checks } = parts.pair.metadata;
  let progress = await checks.progress('fsck');
  if (!goOn || isFinished(progress)) progress = await checks.start('fsck', now);
  if (progress.faults > 0)
    parts.report.problem('problems that the interrupted run found', { problems: progress.faults });
  const { pair, repair, check, report } = parts;
  const { metadata, volumes } = pair;
  const reportFile: ReportFile = async (problem, { file_id, owner }, volume, mends = false, mend) => {
    if (!(await metadata.files.get(file_id))) return;
    if (mends) await mend?.();
    else walk.count('faults');
    const details = { file: file_id, owner, ...(volume !== undefined && { volume }) };
    report.problem(problem, details, mends);
  };
  // Includes files that arrive during the check.
  const all = { ...progress, endSeq: Number.MAX_SAFE_INTEGER };
  const walk = new FileWalk(metadata, 'fsck', all, {
    visitVolume: async (file, volume) => {
      const fault = await check.faultOf(file.file_id, volume);
      if (fault) await reportFile(PROBLEMS[fault], file, volume.idx);
    },
    finishFile: async (file, specs) => {
      const id = file.file_id;
      const isSpecified = specs.length === file.chunk_count;
      if (!isSpecified) await reportFile('files with an incomplete specification', file, specs.length);
      await checkThumbnail(parts, file, reportFile);
      const mends = repair && isSpecified;
      if (!(await volumes.manifest(id))) {
        await reportFile('files without a manifest', file, undefined, mends, async () => {
          await metadata.documents.markStale(id);
          await rewriteManifest(pair, id);
        });
      }
      const known = new Set(specs.map(nameOf));
      for (const stray of await volumes.list(id)) {
        if (stray.idx === THUMBNAIL || known.has(nameOf(stray))) continue;
        // Left by a crash during a streamed upload; the volumes of a file never change.
        await reportFile('volumes that belong to no file', file, stray.idx, mends, () =>
          volumes.withdraw(id, stray, async () => false),
        );
      }
      report.count('files');
    },
  });
  await walk.run(() => now);
}

/** Reports a problem, unless the file was deleted during the check. If `mends` is set, `mend` runs first. */
type ReportFile = (
  problem: string,
  file: NumberedFile,
  volume?: number,
  mends?: boolean,
  mend?: () => Promise<unknown>,
) => Promise<void>;

/** Checks the thumbnail. With repair, forgets a lost one so that clients can create it again, and removes stray ones. */
async function checkThumbnail(
  { pair, repair, check }: Fsck,
  file: NumberedFile,
  reportFile: ReportFile,
): Promise<void> {
  const { metadata, volumes } = pair;
  const id = file.file_id;
  // A thumbnail may have arrived since the row was read.
  const readSpec = () => metadata.files.thumbnail(id);
  const spec = await readSpec();
  const fault = spec && (await check.faultOf(id, spec));
  if (fault && (await readSpec())?.sha256 === spec.sha256) {
    const mended = repair && (await metadata.thumbnails.forget(id, spec));
    await reportFile(PROBLEMS[fault], file, THUMBNAIL, mended);
  }
  const isKnown = async ({ sha256 }: VolumeName) => (await readSpec())?.sha256 === sha256;
  for (const stray of await volumes.list(id)) {
    if (stray.idx !== THUMBNAIL || (await isKnown(stray))) continue;
    // The record is written after the bytes.
    await sleep(RECORDED_MS);
    if ((await isKnown(stray)) || !(await metadata.files.get(id))) continue;
    const mended = repair && (await volumes.withdraw(id, stray, () => isKnown(stray)));
    await reportFile('volumes that belong to no file', file, THUMBNAIL, mended);
  }
}

/** Checks the data that a rescue needs besides files: the service id, and the document of every account with its key bag. */
async function checkAccounts({ pair, repair, report }: Fsck): Promise<void> {
  const { metadata, sql, volumes } = pair;
  const { serviceId } = await metadata.store.get();
  if ((await readId(volumes, 'service-id')) !== serviceId) {
    if (repair) await volumes.writeNote('service-id', serviceId);
    report.problem('stores with a wrong service id', { 'service id': serviceId }, repair);
  }
  for await (const { account_id } of rowsOf(sql, 'account_documents')) {
    const id = String(account_id);
    // Checked twice: the document may have been written during the first check.
    if ((await isDocumented(pair, id)) || (await isDocumented(pair, id))) report.count('accounts');
    else {
      if (repair) await writeAccount(pair, id);
      report.problem('accounts without their documents', { account: id }, repair);
    }
  }
}

/** Whether the document in the store is right. A stale document counts as right: the sweeper will write it. */
async function isDocumented({ metadata, volumes }: Pair, id: string): Promise<boolean> {
  const stored = await volumes.account(id).catch(ignoreBroken);
  const state = await metadata.documents.account(id);
  if (!state || (await metadata.documents.isStaleAccount(id))) return true;
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(accountDocument(id, state))));
}

/** Records and reports orphans; the server or an operator removes them. */
async function recordOrphans({ metadata, volumes }: Pair, now: number, report: Report): Promise<void> {
  for await (const groups of pages(volumes.groups())) {
    const { unknown } = await splitKnown(metadata, groups, now);
    await metadata.orphans.note(unknown, now);
    for (const id of unknown) {
      if (await volumes.hasManifest(id)) report.problem('files without a record', { file: id });
      else report.count('volume groups without a record');
    }
  }
}
