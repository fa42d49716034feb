/** Commands for files and folders on the server. */
import type { CommandTable } from '../../command.ts';

export const PATHS =
  "PATH is a file or folder on the server, as photos/2026/a.jpg; / is everything. In a pattern * and ? match letters of a name and ** any number of folders: 'photos/**/*.jpg'. Quote patterns, so that the shell leaves them alone. An ID, as in ls -l, names one version of a file.";

export const fileCommands = {
  ls: {
    usage: '[PATH…]',
    summary: 'list folders and files',
    details: [PATHS, 'Names that this account did not seal are marked: the server could have made them up.'],
    options: ['long', 'recursive'],
    shorts: { recursive: 'R' },
    examples: [
      'szafa ls  # the root folder',
      'szafa ls -l photos/2026  # with sizes, times and IDs',
      'szafa ls -R  # everything',
      'szafa ls --json -R | jq -r "select(.type == \\"file\\") | .path"',
    ],
    completes: 'path',
    load: () => import('./list.ts').then((file) => file.ls),
  },
  find: {
    usage: 'TEXT [FOLDER]',
    summary: 'find files and folders by name',
    details:
      'TEXT is a part of the name, or a pattern with * and ? for the whole name. Letter case and accents do not matter.',
    options: ['long'],
    examples: ['szafa find invoice', "szafa find '*.jpg' photos/2026 -l"],
    load: () => import('./list.ts').then((file) => file.find),
  },
  du: {
    usage: '[PATH…]',
    summary: 'show how much space folders take',
    details: [PATHS, 'Older versions of files are shown separately.'],
    options: ['recursive'],
    shorts: { recursive: 'R' },
    examples: ['szafa du', 'szafa du -R photos  # every folder in it'],
    completes: 'path',
    load: () => import('./list.ts').then((file) => file.du),
  },
  mkdir: {
    usage: 'FOLDER…',
    summary: 'create folders',
    options: ['parents', 'plain-names'],
    examples: ['szafa mkdir photos', 'szafa mkdir -p photos/2026/summer  # with the folders above it'],
    completes: 'path-folder',
    load: () => import('./move.ts').then((file) => file.mkdir),
  },
  mv: {
    usage: 'PATH… PATH',
    summary: 'move or rename files and folders',
    details: [
      PATHS,
      'The last PATH is the new path, or the folder to move into: if it is a folder, ends in /, or several are moved. Nothing is uploaded again. All files are moved at once, or none, with their versions.',
      'An existing file is an error; with --yes it becomes an older version, and two folders are merged.',
    ],
    examples: [
      'szafa mv a.jpg b.jpg photos  # into the folder photos',
      'szafa mv photos/2026 archive/  # the folder, into archive',
      'szafa mv draft.txt letters/2026-01-31.txt  # to another folder and name',
    ],
    completes: 'path',
    load: () => import('./move.ts').then((file) => file.mv),
  },
  rename: {
    usage: 'PATH NAME',
    summary: 'rename a file or a folder',
    examples: ['szafa rename photos/DSC001.jpg cat.jpg'],
    completes: 'path',
    load: () => import('./move.ts').then((file) => file.rename),
  },
  cp: {
    usage: 'PATH… PATH',
    summary: 'copy files and folders on the server',
    details: [
      PATHS,
      'The last PATH is used as with mv. The newest version of each file is copied, and copies take space of their own.',
    ],
    options: ['recursive'],
    examples: ['szafa cp film.mkv archive/', 'szafa cp -r photos/2026 photos/best'],
    completes: 'path',
    load: () => import('./move.ts').then((file) => file.cp),
  },
  rm: {
    usage: 'PATH…',
    summary: 'move files and folders to the trash, or delete them permanently',
    details: [
      PATHS,
      'Files in the trash can be restored until the server deletes them, after 30 days by default; until then they count in the quota. A file goes with all its versions; an ID names one of them. With --now files are deleted permanently, after a question, or without one with --yes.',
    ],
    options: ['recursive', 'now', 'dry-run'],
    examples: [
      'szafa rm film.mkv',
      'szafa rm -r photos/2019  # the folder with everything in it',
      "szafa rm '**/*.tmp' --dry-run  # only show what would be removed",
      'szafa rm --now --yes secret.txt  # permanently, without a question',
    ],
    completes: 'path',
    load: () => import('./rm.ts').then((file) => file.rm),
  },
  trash: {
    usage: '[empty [PATH…]]',
    summary: 'show the trash, or delete what is in it permanently',
    details: 'PATH is where a file was. Asks first on a terminal; without one --yes is needed.',
    options: ['dry-run'],
    examples: ['szafa trash', 'szafa trash empty'],
    completes: ['empty'],
    load: () => import('./trash.ts').then((file) => file.trash),
  },
  restore: {
    usage: 'PATH…',
    summary: 'restore files and folders from the trash',
    details:
      'PATH is where a file was, a pattern, or an ID from szafa trash; / is everything. If the path has a new file by now, the two become versions of one file.',
    examples: ['szafa restore film.mkv', 'szafa restore photos/2019'],
    load: () => import('./trash.ts').then((file) => file.restore),
  },
  versions: {
    usage: 'PATH | restore PATH ID',
    summary: 'show the versions of a file, or restore an older one',
    details:
      'Every put of a changed file creates a version. szafa get ID downloads an older one. restore makes it the newest again and keeps those in between; the beginning of an ID is enough.',
    examples: ['szafa versions thesis.odt', 'szafa versions restore thesis.odt 8c1f0e6f'],
    completes: 'path',
    load: () => import('./versions.ts').then((file) => file.versions),
  },
  prune: {
    usage: '[PATH…]',
    summary: 'move older versions of files to the trash',
    details:
      'The newest version of a file always stays. With --keep and --older, a version goes if both say so. Without PATH, all files are pruned. With --now versions are deleted permanently.',
    options: ['keep', 'older', 'now', 'dry-run'],
    examples: ['szafa prune --keep 5 --older 30d --dry-run', 'szafa prune --keep 1 papers'],
    completes: 'path',
    load: () => import('./versions.ts').then((file) => file.prune),
  },
} satisfies CommandTable;
