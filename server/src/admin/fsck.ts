import { setTimeout as sleep } from 'node:timers/promises';
import type { Volume } from '@szafa/protocol';
import { refile } from '../domain/documents.ts';
import { pages, sortOut } from '../domain/orphans.ts';
import type { FileRow } from '../metadata/files.ts';
import { isStreaming } from '../metadata/streamed.ts';
import type { TransferRow } from '../metadata/transfers.ts';
import { mendUsage, wrongUsage } from '../metadata/usage.ts';
import { nameOf } from '../volumes/names.ts';
import type { OpenVolume } from '../volumes/store.ts';
import { checkAccounts } from './fsck-accounts.ts';
import type { Pair } from './pair.ts';
import { CONTESTED, type Report, UsageError } from './report.ts';
import { filesOf, uploadsOf } from './rows.ts';
import { digestOf, Throttle } from './volume-body.ts';

/** A volume that came in is noted by then. */
const NOTED_MS = 1000;
/** What a disk says of bytes that it has lost; all other errors end the check. */
const UNREADABLE = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

export interface FsckOptions {
  repair: boolean;
  bytesPerSecond: number;
  now?: number;
}

type Fault = 'missing volumes' | 'volumes with wrong bytes' | 'volumes that cannot be read';

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
  for await (const file of filesOf(pair.sql)) await check.file(file);
  await checkAccounts(pair, options.repair, report);
  await noteOrphans(pair, options.now ?? Date.now(), report);
  for await (const owner of wrongUsage(pair.sql)) {
    if (options.repair) await mendUsage(pair.sql, owner);
    report.problem('accounts with wrong totals', { owner }, options.repair);
  }
  if (report.problems === 0) await pair.metadata.times.set('fsck', options.now ?? Date.now());
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
  readonly #throttle: Throttle;
  readonly #report: Report;

  constructor(pair: Pair, options: FsckOptions, report: Report) {
    this.#pair = pair;
    this.#repair = options.repair;
    this.#throttle = new Throttle(options.bytesPerSecond);
    this.#report = report;
  }

  async file(file: FileRow): Promise<void> {
    const { metadata, volumes } = this.#pair;
    const id = file.file_id;
    const specs = await metadata.files.volumes(id);
    const faults: [what: string, volume: number][] = [];
    if (specs.length !== file.chunk_count)
      faults.push(['files with an incomplete specification', specs.length]);
    for (const spec of specs) {
      const fault = await this.#look(id, spec);
      if (fault) faults.push([fault, spec.idx]);
    }
    const lacks = !(await volumes.manifest(id));
    const known = new Set(specs.map(nameOf));
    const strays = (await volumes.list(id)).filter((volume) => !known.has(nameOf(volume)));
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
      const fault = (await this.#look(id, spec)) && (await this.#look(id, spec));
      if (!fault) continue;
      const withdraws = this.#repair && (await metadata.transfers.isOpen(id));
      // It came in again at this moment.
      if (withdraws && !(await this.#withdraw(upload, spec))) continue;
      const now = await metadata.transfers.get(upload.transfer_id);
      // Cancelled, or one of the files, which come next.
      if (!now || now.status === 'done') break;
      if (withdraws) withdrawn.push(spec);
      const mended = withdraws && now.status !== 'storing';
      this.#report.problem(fault, { upload: id, owner: upload.creator, volume: spec.idx }, mended);
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
        if ((await this.#look(id, spec)) === 'missing volumes')
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
    const isRight = async (volume: OpenVolume) => !(await this.#faultOf(volume, spec).catch(unreadable));
    if (await volumes.withdraw(fileId, spec, isRight)) {
      await metadata.arrivals.remove(fileId, [spec.idx]);
      return true;
    }
    // Whoever sent it again may have been told that it is there, by the row that is gone now.
    if (streaming) await metadata.streamed.arrive({ transferId, fileId, streamed }, spec, false);
    return false;
  }

  async #look(id: string, spec: Volume): Promise<Fault | undefined> {
    const look = async () => {
      const volume = await this.#pair.volumes.open(id, spec);
      if (!volume) return 'missing volumes';
      this.#report.count('volumes');
      return this.#faultOf(volume, spec).finally(() => volume.close());
    };
    return look().catch(unreadable);
  }

  async #faultOf(volume: OpenVolume, spec: Volume): Promise<Fault | undefined> {
    if (volume.size !== spec.size) return 'volumes with wrong bytes';
    const digest = await digestOf(volume, async (bytes) => {
      this.#report.count('bytes', bytes);
      await this.#throttle.pass(bytes);
    });
    return digest === spec.sha256 ? undefined : 'volumes with wrong bytes';
  }
}

function unreadable(error: NodeJS.ErrnoException): Fault {
  if (!UNREADABLE.has(error.code ?? '')) throw error;
  return 'volumes that cannot be read';
}
