/** Rows of the list to disk: a file as it is, folders and several files as one zip in which folders stay folders. */
import type { Zip } from '../core/bridge/calls.ts';
import { text } from '../core/text/index.ts';
import { type Folder, filesBelow, foldersBelow, parentOf } from '../core/tree.ts';
import { here, isFolder, type Row } from '../files/file-list.ts';
import { download, saveZip } from './downloads.ts';

/** A folder's files by their paths from the folder that it is in, and the folders in it that have none. */
function partsOf(folder: Folder): Zip['parts'] {
  const above = parentOf(folder.path);
  const from = (path: string) => path.slice(above === '' ? 0 : above.length + 1);
  const isEmpty = ({ files, folders }: Folder) => files.length + folders.length === 0;
  return [
    ...[...filesBelow(folder)].map(({ fileId, path }) => ({ fileId, path: from(path) })),
    ...[folder, ...foldersBelow(folder)].filter(isEmpty).map(({ path }) => ({ path: `${from(path)}/` })),
  ];
}

export async function downloadRows(rows: readonly Row[]): Promise<void> {
  const [row] = rows;
  if (!row) return;
  if (rows.length === 1 && !isFolder(row)) return download(row);
  const name = rows.length === 1 ? row.name : here.value.name;
  const parts = rows.flatMap((one) =>
    isFolder(one) ? partsOf(one) : [{ fileId: one.fileId, path: one.name }],
  );
  const size = rows.reduce((sum, one) => sum + one.size, 0);
  await saveZip({ name: `${name || text.name}.zip`, parts }, size);
}
