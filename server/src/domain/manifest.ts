import type { Volume } from '@szafa/protocol';
import type { FileRow, Files } from '../metadata/files.ts';
import { LISTED_IN_MANIFEST, type Manifest } from '../volumes/store.ts';

type Described = Omit<FileRow, 'seq' | 'stored_size' | 'cloned_from'>;

export function manifestOf(file: Described, volumes: Volume[] | undefined): Manifest {
  return {
    file_id: file.file_id,
    file_name: file.file_name,
    size: file.size,
    sha256: file.sha256,
    owner: file.owner,
    dir_id: file.dir_id,
    chunk_count: file.chunk_count,
    created_at: new Date(file.created_at).toISOString(),
    enc_params: JSON.parse(file.enc_params),
    ...(file.chunk_count <= LISTED_IN_MANIFEST && { volumes }),
  };
}

/** The specification, where the manifest needs it. */
export async function listedVolumes(
  files: Files,
  { file_id, chunk_count }: Pick<Described, 'file_id' | 'chunk_count'>,
): Promise<Volume[] | undefined> {
  return chunk_count <= LISTED_IN_MANIFEST ? files.volumes(file_id) : undefined;
}
