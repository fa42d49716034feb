import type { Mutant } from '../../scripts/mutants.ts';

const SQLITE = 'server/test/metadata.sqlite.test.ts';
const TRASH = 'tests/blackbox/trash.test.ts';
const THUMBNAILS = 'tests/blackbox/thumbnails.test.ts';

/** The trash, thumbnails, and the state of changes. */
export const mutants: Mutant[] = [
  {
    name: 'what is in the trash counts in its directory',
    file: 'server/src/files/quota.ts',
    find: '  trashed_at > 0 ? TRASH : dir_id;',
    replace: '  dir_id;',
    tests: [SQLITE],
  },
  {
    name: 'the time of a file ends although it was restored',
    file: 'server/src/files/trash-table.ts',
    find: '({ trashed_at }) => trashed_at > 0 && trashed_at <= before,',
    replace: '() => true,',
    tests: [SQLITE],
    only: 'only one comes about',
  },
  {
    name: 'emptying the trash takes files that are not in it',
    file: 'server/src/files/trash-table.ts',
    find: 'isOwn(caller, file) && file.trashed_at > 0',
    replace: 'isOwn(caller, file)',
    tests: [TRASH],
  },
  {
    name: "emptying the trash takes others' files",
    file: 'server/src/files/trash-table.ts',
    find: 'isOwn(caller, file) && file.trashed_at > 0',
    replace: 'file.trashed_at > 0',
    tests: [TRASH],
  },
  {
    name: 'a file in the trash can be downloaded',
    file: 'server/src/files/files-table.ts',
    find: 'LEFT JOIN files f ON f.file_id = ? AND f.trashed_at = 0 ',
    replace: 'LEFT JOIN files f ON f.file_id = ? ',
    tests: [TRASH],
  },
  {
    name: 'the trash is emptied at once',
    file: 'server/src/upkeep/sweeper.ts',
    find: 'now - config.trashMs',
    replace: 'now',
    tests: ['server/test/sweeper.test.ts'],
  },
  {
    name: 'a file that was renamed to another directory is counted in the old one',
    file: 'server/src/files/file-changes-table.ts',
    find: 'from, to: dirId ?? from',
    replace: 'from, to: from',
    tests: [SQLITE],
  },
  {
    name: 'names that are for files in the trash change others',
    file: 'server/src/files/file-changes-table.ts',
    find: 'file.trashed_at > 0 === inTrash',
    replace: '(inTrash || file.trashed_at === 0)',
    tests: ['tests/blackbox/trash.test.ts'],
  },
  {
    name: 'what is kept beside a share is replaced whatever is there',
    file: 'server/src/sharing/shares-table.ts',
    find: "if (createHash('sha256').update(share.own).digest('hex') !== match) return 'changed';",
    replace: '',
    tests: ['tests/blackbox/shares.test.ts'],
  },
  {
    name: 'a rekey leaves the trash under the key of before',
    file: 'client/src/files/stored-files.ts',
    find: "  await look(eachFile(api, 'listFiles', { signal }), false);\n  await look(eachFile(api, 'listTrash', { signal }), true);",
    replace:
      "  await look(eachFile(api, 'listFiles', { signal }), false);\n  found.forEach((one, id) => one.inTrash && found.delete(id));",
    tests: ['client/test/reseal.test.ts'],
  },
  {
    name: 'names move files to directories of others',
    file: 'server/src/files/file-changes-table.ts',
    find: 'if (!(await lockDir(tx, caller, dirId))) return false;',
    replace: 'await lockDir(tx, caller, dirId);',
    tests: ['tests/blackbox/names.test.ts'],
  },
  {
    name: 'nobody is told of a change of names',
    file: 'server/src/files/quota.ts',
    find: 'async function addTo(tx: Sql, owner: string, changes: UsageChanges, rev = 1)',
    replace: 'async function addTo(tx: Sql, owner: string, changes: UsageChanges, rev = 0)',
    tests: [SQLITE],
    only: 'makes another state',
  },
  {
    name: 'a thumbnail is taken whatever its digest says',
    file: 'server/src/files/thumbnails.ts',
    find: "if (createHash('sha256').update(bytes).digest('hex') !== sha256) {",
    replace: 'if (bytes.length < 0) {',
    tests: [THUMBNAILS],
  },
  {
    name: 'a second thumbnail takes the place of the first',
    file: 'server/src/files/thumbnails-table.ts',
    find: "'thumbnail IS NULL AND trashed_at = 0'",
    replace: "'trashed_at = 0'",
    tests: [THUMBNAILS],
  },
  {
    name: 'a copy has the name of a thumbnail without its bytes',
    file: 'server/src/files/thumbnails-table.ts',
    find: 'return thumbnail ? [...volumes, thumbnail] : volumes;',
    replace: 'return thumbnail ? volumes : volumes;',
    tests: [THUMBNAILS],
  },
  {
    name: 'the thumbnails of several files are those of anybody',
    file: 'server/src/files/thumbnails.ts',
    find: 'rows.filter((row) => isOwn(caller.username, row)).map(',
    replace: 'rows.map(',
    tests: [THUMBNAILS],
  },
  {
    name: 'the thumbnails of several files come out of the trash as well',
    file: 'server/src/files/files-table.ts',
    find: 'WHERE trashed_at = 0 AND file_id ${this.sql.dialect.inJsonList}',
    replace: 'WHERE file_id ${this.sql.dialect.inJsonList}',
    tests: [THUMBNAILS],
  },
  {
    name: 'a header that comes with a thumbnail may be of another file',
    file: 'client/src/transfers/download/open-file.ts',
    find: '  checkRecord(record, header);\n  await requireRev(context, record.file_id',
    replace: '  await requireRev(context, record.file_id',
    tests: ['client/test/tree-operations.test.ts'],
  },
  {
    name: 'a longer header costs nothing',
    file: 'server/src/files/file-changes-table.ts',
    find: 'if (bytes !== 0) await addExtra(tx, owner, bytes);',
    replace: '',
    tests: ['server/test/metadata.sqlite.test.ts'],
  },
  {
    name: 'enc_params have no limit',
    file: 'server/src/files/quota.ts',
    find: 'return extra + BigInt(more.extra) > BigInt(extraAllowance(quota ?? usual));',
    replace: 'return false;',
    tests: ['tests/attacks/allowance.test.ts'],
  },
];
