import { SECRET_CHARS } from '@szafa/client/strength';
import type { Command } from './command.ts';
import type { OwnName } from './options.ts';

export interface CommandEntry {
  /** What follows the command's name. */
  usage: string;
  summary: string;
  /** Paragraphs below the summary. */
  details?: string[];
  options: OwnName[];
  /** Positional arguments: at least, at most. */
  args: [least: number, most: number];
  examples: [line: string, what: string][];
  /** What a shell completes arguments with; names on the service are not asked for. */
  completes?: 'file' | string[];
  /** False where the configuration folder is not needed. */
  keeps?: false;
  load: () => Promise<{ command: Command }>;
}

const MANY = Number.POSITIVE_INFINITY;
const NAMES =
  'NAME is a file in any directory, DIRECTORY/NAME one in that directory, ID what ls shows beside it.';

/** All commands; only the one that is asked for is loaded. */
export const commands: Record<string, CommandEntry> = {
  register: {
    usage: '[USERNAME]',
    summary: 'create an account and log in',
    details: [
      `The password is asked for twice, or taken from SZ_PASSWORD or SZ_PASSWORD_FILE. It must have at least ${SECRET_CHARS.min} characters and be hard to guess: a few unrelated words are good. It never leaves this machine: the server gets a secret derived from it. Nobody can recover a lost password, nor the files under it.`,
    ],
    options: ['passphrase', 'raw-password'],
    args: [0, 1],
    examples: [
      ['szafa register ewa --server https://szafa.example', 'create the account ewa'],
      ['SZ_PASSWORD_FILE=pw szafa register ewa', 'without questions'],
    ],
    load: () => import('./commands/enter.ts').then(({ register }) => ({ command: register })),
  },
  login: {
    usage: '[USERNAME]',
    summary: 'log in, and keep token and keys for later commands',
    details: [
      'Another device needs only server, username and password. The session is in the configuration folder, where only you can read it; logout deletes it.',
    ],
    options: ['passphrase', 'raw-password'],
    args: [0, 1],
    examples: [
      ['szafa login ewa --server https://szafa.example', ''],
      ['szafa login --passphrase', 'files are under a separate passphrase'],
      ['szafa login --raw-password', 'an account made by another client'],
    ],
    load: () => import('./commands/enter.ts').then(({ login }) => ({ command: login })),
  },
  logout: {
    usage: '',
    summary: 'end the session and remove its token and keys from this machine',
    options: [],
    args: [0, 0],
    examples: [['szafa logout', '']],
    load: () => import('./commands/logout.ts'),
  },
  whoami: {
    usage: '',
    summary: 'show the account and the server',
    options: [],
    args: [0, 0],
    examples: [['szafa whoami', '']],
    load: () => import('./commands/whoami.ts'),
  },
  token: {
    usage: '',
    summary: 'print the bearer token, for other programs',
    options: [],
    args: [0, 0],
    examples: [['curl -H "Authorization: Bearer $(szafa token)" $SZ_SERVER/api/quota', '']],
    load: () => import('./commands/token.ts'),
  },
  quota: {
    usage: '',
    summary: 'show space used and space left',
    options: [],
    args: [0, 0],
    examples: [['szafa quota', '']],
    load: () => import('./commands/quota.ts'),
  },
  ls: {
    usage: '[DIRECTORY]',
    summary: 'list directories and the files in the root, or the files in a directory',
    details: ['Names that this account did not seal are marked: the server could have made them up.'],
    options: [],
    args: [0, 1],
    examples: [
      ['szafa ls', ''],
      ['szafa ls photos', ''],
      ['szafa ls --json | jq -r "select(.type == \\"file\\") | .name"', ''],
    ],
    load: () => import('./commands/ls.ts'),
  },
  mkdir: {
    usage: 'NAME',
    summary: 'create a directory',
    options: ['plain-names'],
    args: [1, 1],
    examples: [['szafa mkdir photos', '']],
    load: () => import('./commands/mkdir.ts'),
  },
  rmdir: {
    usage: 'NAME',
    summary: 'remove a directory; files in it move to the root',
    details: ['A directory that holds files is removed after a question, or with --yes. No file is lost.'],
    options: [],
    args: [1, 1],
    examples: [['szafa rmdir photos', '']],
    load: () => import('./commands/rmdir.ts'),
  },
  put: {
    usage: 'PATH…',
    summary: 'upload files, folders, or standard input (-)',
    details: [
      'A folder becomes a directory of the same name, with the path below it in the sealed names of the files. With --dir everything goes into that directory, which is created if it does not exist; the names then begin with the name of the folder.',
      'After Ctrl-C, a crash, or a lost connection, run the same command again: it sends the volumes that are missing. A file that is already there is skipped: one of the same name and directory, whose size, time and source (its path, which is sealed with it) are the same, or that came from elsewhere with the same size and time and has the same content. A file that has changed is uploaded beside the earlier one.',
      'Modes are kept. If a folder of the same name from another place goes into the same directory, a note says so.',
    ],
    options: [
      'dir',
      'name',
      'checksum',
      'force',
      'pull',
      'pull-address',
      'transfers',
      'volume-size',
      'bwlimit',
      'plain-names',
    ],
    args: [1, MANY],
    examples: [
      ['szafa put film.mkv', ''],
      ['szafa put photos', 'the folder, as the directory photos'],
      ['szafa put *.pdf --dir papers', ''],
      ['szafa put photos --checksum', 'skip what has the same content, whatever its time'],
      ['tar c src | szafa put - --name src.tar', 'standard input'],
      ['szafa put film.mkv --pull-address http://192.0.2.7:9000', 'the server fetches it'],
    ],
    completes: 'file',
    load: () => import('./commands/put.ts'),
  },
  get: {
    usage: '[NAME|ID…]',
    summary: 'download files, or a whole directory with --dir',
    details: [
      NAMES,
      'Files are written below the current folder, or below --output, under cleaned names, and get their names only when every byte is verified. Of several files with one name the newest is taken. A file that already exists with the same size and time (with --checksum: the same content) is skipped; any other is overwritten only with --yes. Modes are restored; a file without one gets what the umask says. To resume after an interruption, run the same command again.',
    ],
    options: ['dir', 'output', 'checksum', 'transfers', 'bwlimit'],
    args: [0, MANY],
    examples: [
      ['szafa get film.mkv', ''],
      ['szafa get film.mkv --output copy.mkv', ''],
      ['szafa get src.tar --output - | tar x', 'standard output'],
      ['szafa get --dir photos', 'the directory, as the folder photos'],
      ['szafa get a.jpg b.jpg --dir photos --output /tmp', 'two files from a directory'],
    ],
    load: () => import('./commands/get.ts'),
  },
  mv: {
    usage: 'NAME|ID… --dir NAME',
    summary: 'move files to another directory',
    details: [NAMES],
    options: ['dir'],
    args: [1, MANY],
    examples: [
      ['szafa mv a.jpg b.jpg --dir photos', ''],
      ['szafa mv photos/a.jpg --dir /', 'to the root'],
    ],
    load: () => import('./commands/mv.ts'),
  },
  cp: {
    usage: 'NAME|ID [--dir NAME]',
    summary: 'copy a file on the server',
    details: [NAMES, 'Without --dir the copy goes to the root.'],
    options: ['dir'],
    args: [1, 1],
    examples: [['szafa cp film.mkv --dir archive', '']],
    load: () => import('./commands/cp.ts'),
  },
  rm: {
    usage: 'NAME|ID…',
    summary: 'delete files for good',
    details: [
      NAMES,
      'Asks first on a terminal; elsewhere --yes is needed. If several files have the name, none is deleted: use the ID.',
    ],
    options: ['dir'],
    args: [1, MANY],
    examples: [
      ['szafa rm film.mkv', ''],
      ['szafa rm --yes a.jpg b.jpg --dir photos', ''],
    ],
    load: () => import('./commands/rm.ts'),
  },
  check: {
    usage: '[NAME|ID…]',
    summary: 'download and verify files, but write nothing; without a name, all files',
    details: [NAMES],
    options: ['dir', 'transfers', 'bwlimit'],
    args: [0, MANY],
    examples: [
      ['szafa check', 'everything'],
      ['szafa check --dir photos', ''],
      ['szafa check film.mkv', ''],
    ],
    load: () => import('./commands/check.ts'),
  },
  completion: {
    usage: 'bash|zsh|fish',
    summary: 'print a completion script for a shell',
    options: [],
    args: [1, 1],
    examples: [
      ['source <(szafa completion bash)', 'in ~/.bashrc'],
      ['szafa completion zsh > ~/.zfunc/_szafa', 'in a folder of $fpath'],
      ['szafa completion fish > ~/.config/fish/completions/szafa.fish', ''],
    ],
    completes: ['bash', 'zsh', 'fish'],
    keeps: false,
    load: () => import('./commands/completion.ts'),
  },
};
