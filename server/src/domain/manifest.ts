import type { FileRow } from '../metadata/files.ts';
import type { Manifest } from '../volumes/store.ts';

export function manifestOf(file: Omit<FileRow, 'seq' | 'stored_size' | 'cloned_from'>): Manifest {
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
  };
}
