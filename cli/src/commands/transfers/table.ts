/** Commands that upload and download. */
import type { CommandTable } from '../../command.ts';
import { PATHS } from '../files/table.ts';

export const transferCommands = {
  put: {
    usage: 'PATH…',
    summary: 'upload files, folders, or standard input (-)',
    details: [
      'A folder is uploaded with everything in it, under its own name. With --dir everything goes into that folder on the server, which is created if needed.',
      'After Ctrl-C, a crash, or a lost connection, run the same command again: it sends only what is missing. A file that is already there is skipped. A changed file becomes a new version. put never deletes anything on the server.',
      'A file is already there if path, size, time and source (its local path, which is sealed with it) are the same. If the source differs, the content is compared.',
      'Patterns of --exclude, --exclude-from and of .szafaignore files in the folders work as in a .gitignore. Symbolic links in folders, empty folders, modes and times are kept.',
    ],
    options: [
      ...(['dir', 'to', 'name', 'exclude', 'exclude-from', 'dry-run', 'skip-existing', 'both'] as const),
      ...(['checksum', 'force', 'pull', 'pull-address', 'transfers', 'volume-size'] as const),
      ...(['bwlimit', 'plain-names'] as const),
    ],
    examples: [
      'szafa put film.mkv',
      'szafa put photos  # the folder, as photos',
      'szafa put *.pdf --dir papers/2026',
      "szafa put src --exclude node_modules --exclude '*.tmp' --dry-run",
      'szafa put photos --checksum  # skip what has the same content, whatever its time',
      'tar c src | szafa put - --name src.tar  # standard input',
      "szafa put film.mkv --to 'https://…/r/…#…'  # by the link of a file request",
      'szafa put film.mkv --pull-address http://192.0.2.7:9000  # the server fetches it',
    ],
    completes: 'file',
    load: () => import('./put.ts').then((file) => file.put),
  },
  get: {
    usage: 'PATH… | LINK',
    summary: 'download files and folders, or the files of a link',
    details: [
      PATHS,
      'Files and folders are written under their own names below the current folder, or below --output. A pattern keeps the folders after its first * or ?. Of several versions the newest is downloaded. A file gets its name once every byte is verified.',
      'An existing file with the same size and time is skipped (with --checksum: with the same content); any other is overwritten only with --yes. After an interruption, run the same command again.',
      'LINK comes from szafa share and needs no account; quote it. Its passphrase is asked for, or read from SZ_LINK_PASSPHRASE or SZ_LINK_PASSPHRASE_FILE. Resuming does not count as another download.',
      'With --from, PATH is a path in the files that this account shares with you, or the ID of a share.',
    ],
    options: ['output', 'from', 'dry-run', 'checksum', 'transfers', 'bwlimit'],
    examples: [
      'szafa get film.mkv',
      'szafa get film.mkv --output copy.mkv',
      'szafa get photos/2026 --output /tmp  # as /tmp/2026',
      "szafa get 'photos/**/*.jpg'",
      'szafa get / --output backup  # everything',
      'szafa get src.tar --output - | tar x  # standard output',
      "szafa get 'https://szafa.example/s/…#…'  # the files of a link",
      'szafa get --from alice photos  # files that alice shares with you',
    ],
    completes: 'path',
    load: () => import('./get.ts').then((file) => file.get),
  },
  cat: {
    usage: 'PATH…',
    summary: 'print files to standard output',
    details: [
      PATHS,
      'Each volume is verified before it is printed; only exit code 0 says that the whole file was.',
    ],
    options: ['from', 'bwlimit'],
    examples: ['szafa cat notes/todo.txt'],
    completes: 'path',
    load: () => import('./get.ts').then((file) => file.cat),
  },
  check: {
    usage: '[PATH…]',
    summary: 'download and verify files without writing them; without PATH, all files',
    details: [PATHS, 'All versions of a file are verified.'],
    options: ['transfers', 'bwlimit'],
    examples: ['szafa check  # everything', 'szafa check photos'],
    completes: 'path',
    load: () => import('./check.ts').then((file) => file.check),
  },
  transfers: {
    usage: '[cancel PATH… | cancel --all]',
    summary: 'show interrupted uploads and downloads, or cancel them',
    details:
      'They continue when the command that started them is run again. cancel frees the space they take on the server and on the disk; PATH is one of the two paths shown.',
    options: ['all'],
    examples: ['szafa transfers', 'szafa transfers cancel film.mkv'],
    completes: ['cancel'],
    load: () => import('./transfers.ts').then((file) => file.transfers),
  },
} satisfies CommandTable;
