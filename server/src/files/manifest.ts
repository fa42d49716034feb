import type { Volume } from '@szafa/protocol';
import type { Metadata } from '../metadata.ts';
import type { Manifest } from '../platform/volumes/store.ts';
import type { FileRow } from './files-table.ts';
import { thumbnailOf } from './thumbnails-table.ts';

type ManifestFile = Omit<FileRow, 'seq' | 'stored_size' | 'cloned_from'>;

export function toManifest(file: ManifestFile, accountId: string, volumes: Volume[]): Manifest {
  const thumbnail = thumbnailOf(file);
  return {
    file_id: file.file_id,
    file_name: file.file_name,
    size: file.size,
    sha256: file.sha256,
    account_id: accountId,
    owner: file.owner,
    dir_id: file.dir_id,
    chunk_count: file.chunk_count,
    created_at: new Date(file.created_at).toISOString(),
    enc_params: file.enc_params,
    rev: file.rev,
    ...(file.trashed_at > 0 && { trashed_at: new Date(file.trashed_at).toISOString() }),
    ...(thumbnail && { thumbnail: { size: thumbnail.size, sha256: thumbnail.sha256 } }),
    volumes,
  };
}

/** Builds a file's manifest from the database. `volumesOf` names another file with the same volumes, for a clone. */
export async function readManifest(
  { accounts, files }: Pick<Metadata, 'accounts' | 'files'>,
  file: ManifestFile,
  volumesOf = file.file_id,
): Promise<Manifest> {
  const [accountId, volumes] = await Promise.all([accounts.idOf(file.owner), files.volumes(volumesOf)]);
  if (accountId === undefined) throw new Error(`the owner of file ${file.file_id} is unknown`);
  return toManifest(file, accountId, volumes);
}
