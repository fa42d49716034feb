import { randomBytes } from 'node:crypto';
import { readConfig } from '../../../server/src/config.ts';
import { insertFile } from '../../../server/src/files/file-changes-table.ts';
import type { FileRow } from '../../../server/src/files/files-table.ts';
import { SqliteStore } from '../../../server/src/platform/sql/sqlite.ts';
import { paths } from '../../../server/src/stores.ts';
import { insertVolumes } from '../../../server/src/transfers/volumes-table.ts';
import { patternSha256 } from '../load/pattern.ts';
import type { LoadPool } from '../load/pool.ts';
import type { Szafa } from '../peers/szafa.ts';

const VOLUME_BYTES = 1;
const AT_ONCE = 8;

/** Uploads files of one tiny volume each through the API. */
export async function fillByApi(pool: LoadPool, szafa: Szafa, files: number): Promise<void> {
  let left = files;
  const transfers: string[] = [];
  const begin = async () => {
    while (left-- > 0) transfers.push(await szafa.init(1, VOLUME_BYTES));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, begin));
  const puts = transfers.map((id) => szafa.put(id, 1, VOLUME_BYTES));
  const completes = transfers.map((id) => szafa.request('complete', { transfer_id: id }));
  await pool.run(szafa.port, AT_ONCE, puts);
  await pool.run(szafa.port, AT_ONCE, completes);
}

type Filled = Pick<FileRow, 'file_name' | 'size' | 'created_at'>;

function anyFile(index: number): Filled {
  return { file_name: `file ${index}`, size: VOLUME_BYTES, created_at: Date.now() };
}

/** Writes only the file records, with the server's own code, into the database of a running server. */
export async function fillDatabase(
  data: string,
  owner: string,
  files: number,
  fileOf: (index: number, sha256: string) => Filled | Promise<Filled> = anyFile,
): Promise<void> {
  const store = new SqliteStore(paths.database(readConfig({ SZ_DATA: data })));
  const sha256 = patternSha256(VOLUME_BYTES);
  await store.transaction(async (tx) => {
    for (let i = 0; i < files; i++) {
      const file_id = randomBytes(16).toString('hex');
      const { file_name, size, created_at } = await fileOf(i, sha256);
      await insertVolumes(tx, file_id, [{ idx: 1, size, sha256 }]);
      await insertFile(tx, {
        file_id,
        owner,
        dir_id: 0,
        file_name,
        size,
        stored_size: size,
        sha256,
        chunk_count: 1,
        created_at,
        cloned_from: null,
        enc_params: '{}',
        rev: 0,
        trashed_at: 0,
        thumbnail: null,
      });
    }
  });
  await store.close();
}
