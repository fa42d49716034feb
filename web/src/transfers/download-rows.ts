/** Downloads rows of the list: a single file as it is, folders and several files as one zip. */
import type { Zip } from '../core/bridge/calls.ts';
import { text } from '../core/text/index.ts';
import { type Folder, filesBelow, foldersBelow, parentOf } from '../core/tree.ts';
import { here, isFolder, type Row } from '../files/file-list.ts';
import { download, saveZip } from './downloads.ts';

/** Returns the files and empty folders below a folder, with paths that start with the folder's own name. */
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
