import { ADMIN, limits } from '@szafa/protocol';
import { ADMIN_ACCOUNT } from '../../accounts/account-rows.ts';
import { insertFile } from '../../files/file-changes-table.ts';
import { unclaim } from '../../files/garbage-table.ts';
import { THUMBNAIL } from '../../files/thumbnails-table.ts';
import { Service } from '../../platform/service.ts';
import type { Sql } from '../../platform/sql/sql.ts';
import { BrokenDocument, isAccountId } from '../../platform/volumes/documents.ts';
import { newName } from '../../platform/volumes/names.ts';
import type { Manifest } from '../../platform/volumes/store.ts';
import { completionDigest } from '../../transfers/streamed-table.ts';
import { entryOf, forgetVolumes, insertVolumes } from '../../transfers/volumes-table.ts';
import { markAccountStale, markStale } from '../documents-table.ts';
import { claimOrphan } from '../orphans-table.ts';
import { AccountRescue, isAbsentOr, isTime, type RescueParts } from './rescue-accounts.ts';

/** How many files of the same millisecond can get different numbers. */
const IN_A_MILLISECOND = 1000;

/** Rebuilds files from their manifests. */
export class FileRescue extends Service<RescueParts> {
  readonly accounts = new AccountRescue(this.deps);
  /** Numbers reserved for files that are about to be inserted. */
  readonly #numbers = new Set<number>();

  /** Creates a file from a group that is not a file in the database yet. */
  async take(id: string): Promise<void> {
    const { volumes } = this.deps.pair;
    const manifest = await volumes.manifest(id);
    if (!manifest) {
      this.deps.report.count('groups that are not files');
      return;
    }
    check(manifest, id);
    const here = new Set((await volumes.list(id)).map(newName));
    const missing = manifest.volumes.find((volume) => !here.has(newName(volume)));
    if (missing) {
      const volume = missing.idx;
      this.deps.report.problem('files that lack volumes', { file: id, owner: manifest.owner, volume });
      return;
    }
    const owner = await this.accounts.ownerOf(manifest);
    if (owner === undefined) {
      const { account_id: account, owner: name } = manifest;
      this.deps.report.problem('files of an unknown account', { file: id, account, owner: name });
      return;
    }
    const { thumbnail } = manifest;
    const isLost = thumbnail !== undefined && !here.has(newName({ idx: THUMBNAIL, ...thumbnail }));
    if (isLost) this.deps.report.count('thumbnails that are lost');
    if (this.deps.mode !== 'nothing' && !(await this.#insert(manifest, owner, isLost))) {
      this.deps.report.problem('groups that are not orphans', { group: id });
      return;
    }
    this.deps.report.count('files');
    if (this.deps.mode !== 'all') this.deps.report.line({ file: id, owner });
  }

  /** Inserts a file. False if a record refers to the group by now. */
  async #insert(
    { volumes, thumbnail, ...manifest }: Manifest,
    owner: string,
    lacksThumbnail: boolean,
  ): Promise<boolean> {
    const created_at = Date.parse(manifest.created_at);
    const seq = this.deps.mode === 'all' ? await this.#numberFor(created_at) : undefined;
    const { file_id, chunk_count } = manifest;
    const stored_size = volumes.reduce((sum, { size }) => sum + size, 0);
    // In a database in use, another directory may have the number.
    const byName = this.deps.mode !== 'all' && manifest.dir_id !== 0;
    const dir = byName ? await this.accounts.nameOfDir(manifest.account_id, manifest.dir_id) : undefined;
    const inserted = await this.deps.pair.sql.transaction(async (tx) => {
      // The group may be an upload that was open when the backup was made and was completed later.
      const { file_name, size, sha256, enc_params } = manifest;
      const names = { fileName: file_name, totalSha256: sha256, encParams: enc_params };
      const digest = completionDigest({ ...names, fileSize: size, chunkCount: chunk_count });
      const [upload] = await tx.execute(
        `UPDATE transfers SET status = 'done', enc_params = '', owner = ?, file_name = ?, file_size = ?,
           stored_size = ?, total_sha256 = ?, chunk_count = ?, completion_digest = ?
         WHERE file_id = ? AND status <> 'done' RETURNING transfer_id`,
        ...[owner, file_name, size, stored_size, sha256, chunk_count, digest, file_id],
      );
      if (!upload && this.deps.mode === 'missing') {
        await unclaim(tx, file_id);
        if (!(await claimOrphan(tx, file_id))) return false;
      }
      // The backup may know only some volumes of a streamed upload.
      if (upload) await forgetVolumes(tx, file_id);
      await insertVolumes(tx, file_id, volumes);
      const dir_id = await this.#dirOf(tx, manifest, owner, dir);
      const differs = dir_id !== manifest.dir_id || lacksThumbnail;
      const rev = manifest.rev + (differs ? 1 : 0);
      await insertFile(tx, {
        ...manifest,
        ...{ seq, owner, dir_id, stored_size, created_at, cloned_from: null, rev },
        thumbnail: thumbnail && !lacksThumbnail ? entryOf(thumbnail) : null,
        trashed_at: manifest.trashed_at === undefined ? 0 : Date.parse(manifest.trashed_at),
      });
      if (differs) await markStale(tx, file_id, rev);
      return true;
    });
    if (seq !== undefined) this.#numbers.delete(seq);
    return inserted;
  }

  /**
   * Reserves a number based on the creation time: groups come in any order, and lists must show the files in their old order.
   * New files get higher numbers.
   */
  async #numberFor(createdAt: number): Promise<number> {
    for (let seq = createdAt * IN_A_MILLISECOND; ; seq++) {
      if (this.#numbers.has(seq)) continue;
      this.#numbers.add(seq);
      const taken = await this.deps.pair.sql.query('SELECT 1 FROM files WHERE seq = ?', seq);
      if (taken.length === 0) return seq;
      this.#numbers.delete(seq);
    }
  }

  /** Finds the file's directory; returns the root if it is missing or belongs to another owner. */
  async #dirOf(
    tx: Sql,
    manifest: Pick<Manifest, 'dir_id' | 'account_id'>,
    owner: string,
    name: string | undefined,
  ): Promise<number> {
    const { dir_id: dirId, account_id } = manifest;
    if (dirId === 0) return 0;
    // Files without an owner belong to the administrator.
    const keeper = owner === '' ? ADMIN : owner;
    if (this.deps.mode === 'all')
      await this.#createDir(tx, keeper === ADMIN ? ADMIN_ACCOUNT : account_id, keeper, dirId);
    const [condition, value] = name === undefined ? ['dir_id = ?', dirId] : ['name = ?', name];
    const text = `SELECT dir_id FROM dirs WHERE owner = ? AND ${condition}`;
    const [dir] = await tx.query<{ dir_id: number }>(text, keeper, value);
    return dir?.dir_id ?? 0;
  }

  /** Creates the directory of an account without a document, of which only the number is known. */
  async #createDir(tx: Sql, accountId: string, owner: string, dirId: number): Promise<void> {
    const documented = 'SELECT 1 FROM account_documents WHERE account_id = ? AND written_rev > 0';
    if ((await tx.query(documented, accountId)).length > 0) return;
    const text = `INSERT INTO dirs (dir_id, owner, name, created_at) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING RETURNING dir_id`;
    const made = await tx.execute(text, dirId, owner, `rescued ${dirId}`, Date.now());
    if (made.length > 0) await markAccountStale(tx, owner);
  }
}

/** Returns the groups that are neither files nor deleted files. */
export async function findUnknown(sql: Sql, groups: { id: string }[]): Promise<string[]> {
  const among = (table: string) => `SELECT file_id FROM ${table} WHERE file_id IN (${sql.dialect.jsonList})`;
  // A clone in progress when the backup was made may be a file by now. Manifests of deleted files are about to be removed.
  const text = `${among('files')} UNION ${among('garbage')} AND clone_key IS NULL UNION ${among('stale_manifests')}`;
  const unknown = new Set(groups.map(({ id }) => id));
  const list = JSON.stringify([...unknown]);
  const known = await sql.query<{ file_id: string }>(text, list, list, list);
  for (const { file_id } of known) unknown.delete(file_id);
  return [...unknown];
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isDigest = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

const isThumbnail = ({ size, sha256 }: NonNullable<Manifest['thumbnail']>) =>
  isCount(size) && size <= limits.thumbnailBytes && isDigest(sha256);

/** Refuses malformed manifests. */
function check(manifest: Manifest, id: string): void {
  const { size, dir_id, rev, chunk_count } = manifest;
  const texts = [manifest.file_name, manifest.owner, manifest.enc_params];
  const right =
    manifest.file_id === id &&
    texts.every((text) => typeof text === 'string') &&
    isAccountId(manifest.account_id) &&
    isDigest(manifest.sha256) &&
    [size, dir_id, rev, chunk_count].every(isCount) &&
    chunk_count <= limits.volumesPerFile &&
    chunk_count === manifest.volumes.length &&
    manifest.volumes.every((volume) => isCount(volume.size)) &&
    isAbsentOr(isThumbnail, manifest.thumbnail) &&
    isTime(manifest.created_at) &&
    isAbsentOr((time) => isTime(time) && Date.parse(time) > 0, manifest.trashed_at);
  if (!right) throw new BrokenDocument(`the manifest of file ${id} is malformed`);
}
