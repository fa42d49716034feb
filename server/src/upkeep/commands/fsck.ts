import { setTimeout as sleep } from 'node:timers/promises';
import type { Volume } from '@szafa/protocol';
import type { FileRow } from '../../files/files-table.ts';
import { findWrongUsage, repairUsage } from '../../files/quota-recount.ts';
import { THUMBNAIL } from '../../files/thumbnails-table.ts';
import { CONTESTED, type Report, UsageError } from '../../operator/commands/report.ts';
import { nameOf } from '../../platform/volumes/names.ts';
import type { OpenVolume, VolumeName } from '../../platform/volumes/store.ts';
import { isStreaming } from '../../transfers/streamed-table.ts';
import type { TransferRow } from '../../transfers/transfers-table.ts';
import { isOver } from '../checks-table.ts';
import { refile } from '../documents.ts';
import { pages, sortOut } from '../orphans.ts';
import { VolumeCheck, type VolumeFault } from '../volume-check.ts';
import { checkAccounts } from './fsck-accounts.ts';
import type { Pair } from './pair.ts';
import { filesOf, uploadsOf } from './rows.ts';

/** A volume that came in is noted by then. */
const NOTED_MS = 1000;
/** At least this long between two notes of how far it is. */
const KEEP_MS = 5_000;

export interface FsckOptions {
  repair: boolean;
  /** Files that were looked at by a run that was cut off are not looked at again. */
  goOn?: boolean;
  bytesPerSecond: number;
  now?: number;
}

const TOLD: Record<VolumeFault, string> = {
  missing: 'missing volumes',
  wrong: 'volumes with wrong bytes',
  unreadable: 'volumes that cannot be read',
};

/**
 * Compares the stores while the service runs: every stored volume against its digest, records
 * without volumes and volumes without a record, documents of accounts, kept sums against sums. Repairs what can be: sums and manifests are
 * written anew, a broken volume of an upload counts as not received. Bytes of files that are lost are
 * told, not mended.
 */
export async function fsck(pair: Pair, options: FsckOptions, report: Report): Promise<void> {
  const { contestedAt } = await pair.metadata.store.get();
  if (contestedAt !== null) {
    if (options.repair) throw new UsageError(CONTESTED);
    report.problem('contested stores', { since: new Date(contestedAt).toISOString() });
  }
  const check = new Check(pair, options, report);
  // In this order: an upload that is completed meanwhile is among the files.
  for await (const upload of uploadsOf(pair.sql)) await check.upload(upload);
  await checkFiles(pair, check, options, report);
  await checkAccounts(pair, options.repair, report);
  await noteOrphans(pair, options.now ?? Date.now(), report);
  for await (const owner of findWrongUsage(pair.sql)) {
    if (options.repair) await repairUsage(pair.sql, owner);
    report.problem('accounts with wrong totals', { owner }, options.repair);
  }
  if (report.problems === 0) await pair.metadata.timestamps.set('fsck', options.now ?? Date.now());
}

/** In the order of their numbers, and how far it is stands in the database: reading them all may take weeks. */
async function checkFiles(
  { metadata, sql }: Pair,
  check: Check,
  { goOn = false, now = Date.now() }: FsckOptions,
  report: Report,
): Promise<void> {
  const { checks } = metadata;
  let round = await checks.round('fsck');
  const continues = goOn && !isOver(round);
  if (!continues) round = await checks.begin('fsck', now);
  if (round.faults > 0) report.problem('problems of the files before', { problems: round.faults });
  const before = report.problems - round.faults;
  let keptAt = performance.now();
  for await (const file of filesOf(sql, round.seq)) {
    await check.file(file);
    if (performance.now() - keptAt < KEEP_MS) continue;
    keptAt = performance.now();
    const reached = { ...round, seq: file.seq, faults: report.problems - before };
    await checks.keep('fsck', round, reached);
    round = reached;
  }
  await checks.keep('fsck', round, { ...round, endedAt: Math.max(now, round.beganAt) });
}

/** The server deletes them, or a person decides about them; here they are only noted and reported. */
async function noteOrphans({ metadata, volumes }: Pair, now: number, report: Report): Promise<void> {
  for await (const groups of pages(volumes.groups())) {
    const { unknown } = await sortOut(metadata, groups, now);
    await metadata.orphans.note(unknown, now);
    for (const id of unknown) {
      if (await volumes.hasManifest(id)) report.problem('files without a record', { file: id });
      else report.count('volume groups without a record');
    }
  }
}

class Check {
  readonly #pair: Pair;
  readonly #repair: boolean;
  readonly #volumes: VolumeCheck;
  readonly #report: Report;

  constructor(pair: Pair, options: FsckOptions, report: Report) {
    this.#pair = pair;
    this.#repair = options.repair;
    this.#report = report;
    this.#volumes = new VolumeCheck(pair.volumes, {
      bytesPerSecond: options.bytesPerSecond,
      onVolume: () => report.count('volumes'),
      onBytes: (bytes) => report.count('bytes', bytes),
    });
  }

  async file(file: FileRow): Promise<void> {
    const { metadata, volumes } = this.#pair;
    const id = file.file_id;
    const specs = await metadata.files.volumes(id);
    const faults: [what: string, volume: number][] = [];
    if (specs.length !== file.chunk_count)
      faults.push(['files with an incomplete specification', specs.length]);
    for (const spec of specs) {
      const fault = await this.#volumes.faultOf(id, spec);
      if (fault) faults.push([TOLD[fault], spec.idx]);
    }
    await this.#thumbnail(file);
    const lacks = !(await volumes.manifest(id));
    const known = new Set(specs.map(nameOf));
    const strays = (await volumes.list(id)).filter(
      (volume) => volume.idx !== THUMBNAIL && !known.has(nameOf(volume)),
    );
    const isFaulty = faults.length > 0 || strays.length > 0 || lacks;
    // It may have been deleted while we looked; then nothing is wrong.
    if (isFaulty && !(await metadata.files.get(id))) return;
    for (const [what, volume] of faults) this.#report.problem(what, { file: id, owner: file.owner, volume });
    if (lacks) {
      const mended = this.#repair && specs.length === file.chunk_count;
      if (mended) {
        await metadata.documents.outdate(id);
        await refile(this.#pair, id);
      }
      this.#report.problem('files without a manifest', { file: id }, mended);
    }
    for (const stray of strays) {
      // A crash left it, of a streamed upload: what a file is made of does not change any more.
      const mended = this.#repair && specs.length === file.chunk_count;
      if (mended) await volumes.withdraw(id, stray, async () => false);
      this.#report.problem('volumes that belong to no file', { file: id, volume: stray.idx }, mended);
    }
    this.#report.count('files');
  }

  /** One that is lost can be made again, once the record does not name it any more. Others in its place are of no use. */
  async #thumbnail({ file_id: id, owner }: FileRow): Promise<void> {
    const { metadata, volumes } = this.#pair;
    // It may have come since the row was read.
    const now = () => metadata.files.thumbnail(id);
    const spec = await now();
    const fault = spec && (await this.#volumes.faultOf(id, spec));
    if (fault && (await now())?.sha256 === spec.sha256) {
      const mended = this.#repair && (await metadata.thumbnails.forget(id, spec));
      this.#report.problem(TOLD[fault], { file: id, owner, volume: THUMBNAIL }, mended);
    }
    const isKnown = async ({ sha256 }: VolumeName) => (await now())?.sha256 === sha256;
    const thumbnails = (await volumes.list(id)).filter(({ idx }) => idx === THUMBNAIL);
    for (const stray of thumbnails) {
      if (await isKnown(stray)) continue;
      // Its record follows its bytes.
      await sleep(NOTED_MS);
      if ((await isKnown(stray)) || !(await metadata.files.get(id))) continue;
      const mended = this.#repair && (await volumes.withdraw(id, stray, () => isKnown(stray)));
      this.#report.problem('volumes that belong to no file', { file: id, volume: THUMBNAIL }, mended);
    }
  }

  /** What has been received of an upload under way. Each of its volumes may come in, again too, while we look. */
  async upload(upload: TransferRow): Promise<void> {
    const { metadata, volumes } = this.#pair;
    const id = upload.file_id;
    const specs = await metadata.streamed.volumes(upload);
    const streaming = isStreaming(upload);
    // A note is written after its volume: read before them, none is ahead of what is listed.
    const noted = await metadata.arrivals.numbers(id);
    const here = new Set(await volumes.received(id));
    const withdrawn: Volume[] = [];
    for (const spec of specs) {
      const expected = streaming || noted.has(spec.idx) || upload.status === 'storing';
      if (!here.has(spec.idx) && !expected) continue;
      // Twice: what was sent again between the list and the end of reading is right at the second look.
      const look = () => this.#volumes.faultOf(id, spec);
      const fault = (await look()) && (await look());
      if (!fault) continue;
      const withdraws = this.#repair && (await metadata.transfers.isOpen(id));
      // It came in again at this moment.
      if (withdraws && !(await this.#withdraw(upload, spec))) continue;
      const now = await metadata.transfers.get(upload.transfer_id);
      // Cancelled, or one of the files, which come next.
      if (!now || now.status === 'done') break;
      if (withdraws) withdrawn.push(spec);
      const mended = withdraws && now.status !== 'storing';
      this.#report.problem(TOLD[fault], { upload: id, owner: upload.creator, volume: spec.idx }, mended);
    }
    if (withdrawn.length > 0) {
      // Whoever sent one again at the moment of its withdrawal may have noted it only now.
      await sleep(NOTED_MS);
      await metadata.arrivals.remove(
        id,
        withdrawn.map(({ idx }) => idx),
      );
      for (const spec of streaming ? withdrawn : []) {
        // It may have a row again, although its bytes are gone.
        if ((await this.#volumes.faultOf(id, spec)) === 'missing')
          await metadata.streamed.withdraw(upload.transfer_id, spec);
      }
    }
    this.#report.count('unfinished uploads');
  }

  /** Has the client send it again. */
  async #withdraw(upload: TransferRow, spec: Volume): Promise<boolean> {
    const { metadata, volumes } = this.#pair;
    const { transfer_id: transferId, file_id: fileId, streamed } = upload;
    const streaming = isStreaming(upload);
    if (streaming && !(await metadata.streamed.withdraw(transferId, spec))) return false;
    const isRight = (volume: OpenVolume) => this.#volumes.isRight(volume, spec);
    if (await volumes.withdraw(fileId, spec, isRight)) {
      await metadata.arrivals.remove(fileId, [spec.idx]);
      return true;
    }
    // Whoever sent it again may have been told that it is there, by the row that is gone now.
    if (streaming) await metadata.streamed.arrive({ transferId, fileId, streamed }, spec, false);
    return false;
  }
}
