import { UsageError } from './errors.ts';

export interface Option {
  /** Placeholder for the value in the help. Absent for a switch. */
  value?: string;
  short?: string;
  help: string;
  /** The option can be repeated. */
  many?: true;
  /** How the value is completed: as local files, local folders, or folders on the server. */
  completes?: 'file' | 'folder' | 'path-folder';
}

/** Options of every command. */
export const commonOptions = {
  server: { value: 'URL', help: 'address of the server (SZ_SERVER)' },
  user: { value: 'NAME', short: 'u', help: 'account (SZ_USER)' },
  'password-file': {
    value: 'PATH',
    help: 'file with the password (SZ_PASSWORD_FILE; SZ_PASSWORD holds the password itself)',
    completes: 'file',
  },
  config: { value: 'FOLDER', help: 'folder for the session and journals (SZ_CONFIG)', completes: 'folder' },
  retry: {
    value: 'TIME',
    help: 'how long to wait for a server that does not answer (2m for transfers, else 10s)',
  },
  json: { help: 'print JSON lines, each with a "type"; errors too' },
  quiet: { short: 'q', help: 'print only errors and results' },
  yes: { short: 'y', help: 'do not ask; overwrite existing files' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies Record<string, Option>;

export const ownOptions = {
  passphrase: {
    help: 'a separate passphrase, for the files (SZ_PASSPHRASE, SZ_PASSPHRASE_FILE) or for a link (SZ_LINK_PASSPHRASE, SZ_LINK_PASSPHRASE_FILE)',
  },
  invite: { help: 'register with an invitation (SZ_INVITE, SZ_INVITE_FILE)' },
  'raw-password': { help: 'send the password itself, for accounts made by other clients' },
  'new-password-file': {
    value: 'PATH',
    help: 'file with the new password (SZ_NEW_PASSWORD_FILE; SZ_NEW_PASSWORD holds the password itself)',
    completes: 'file',
  },
  'recovery-file': {
    value: 'PATH',
    help: 'write the new recovery key to this file instead of showing it',
    completes: 'file',
  },
  'accept-retired': {
    value: 'ID',
    many: true,
    help: 'take over a file under a retired master key, if you know that it is yours; repeatable',
  },
  'leave-rest': { help: 'retire the earlier master keys even if some files could not be sealed again' },
  'no-recovery': { help: 'create no recovery key: if you lose your password, your files are gone' },
  'key-file': {
    value: 'PATH',
    help: 'file with the recovery key (SZ_RECOVERY_KEY_FILE; SZ_RECOVERY_KEY holds the key itself)',
    completes: 'file',
  },
  device: { value: 'NAME', help: 'name of this machine in the list of sessions (its host name)' },
  all: { help: 'all of them; with sessions end, all others' },
  dir: { value: 'FOLDER', short: 'd', help: 'folder on the server', completes: 'path-folder' },
  name: { value: 'NAME', help: 'name of the file on the server; needed for standard input' },
  long: { short: 'l', help: 'show sizes, times and IDs' },
  recursive: { short: 'r', help: 'include everything in folders' },
  parents: { short: 'p', help: 'create the folders above it too; no error if it exists' },
  now: { help: 'delete permanently, without the trash' },
  keep: { value: 'N', help: 'keep the N newest versions of each file' },
  older: { value: 'TIME', help: 'only versions uploaded longer ago, like 30d' },
  'skip-existing': { help: 'skip every path that exists, even if the file differs' },
  both: { help: 'upload a file that differs under another name: a (2).jpg' },
  checksum: { help: 'compare content instead of time and source; reads every local byte' },
  force: { help: 'upload even what is already there' },
  exclude: { value: 'PATTERN', many: true, help: 'exclude matches, as in a .gitignore; repeatable' },
  'exclude-from': {
    value: 'FILE',
    many: true,
    help: 'exclude matches of the patterns in this file; repeatable',
    completes: 'file',
  },
  'dry-run': { short: 'n', help: 'only show what would be done' },
  pull: { help: 'let the server fetch the volumes from a temporary HTTP server on this machine' },
  'pull-address': {
    value: 'URL',
    help: 'address of this machine as seen from the server, as http://HOST:PORT; implies --pull',
  },
  transfers: { value: 'N', short: 't', help: 'files at once (4 to 64, depending on their size)' },
  'volume-size': { value: 'SIZE', help: 'bytes of a volume (8M)' },
  bwlimit: { value: 'RATE', help: 'bytes per second for all transfers together, like 2M' },
  'plain-names': { help: 'show the names to the server: they are neither sealed nor verified' },
  scope: { value: 'SCOPE', help: 'what the token may do: append, read or full' },
  expires: { value: 'TIME', help: 'when it ends: 90d, 1y, or a date like 2030-01-31' },
  files: { value: 'N', help: 'maximum number of files (100)' },
  size: { value: 'SIZE', help: 'maximum total size, like 1G (10G)' },
  to: { value: 'LINK', help: 'upload by the link of a file request; needs no account' },
  take: { help: 'save deliveries to your files, in the folders of their requests' },
  drop: { help: 'delete deliveries permanently' },
  downloads: { value: 'N', help: 'maximum number of downloads' },
  note: { value: 'TEXT', help: 'message for the people who open the link' },
  with: { value: 'NAME', help: 'share with this account only, without a link' },
  from: { value: 'NAME', help: 'files that this account shares with you' },
  verify: { help: 'mark the keys as verified: you have compared the fingerprint' },
  accept: {
    value: 'FINGERPRINT',
    help: 'accept changed keys with the fingerprint that their owner gave you',
  },
  output: {
    value: 'PATH',
    short: 'o',
    help: 'file or folder to write to; - is standard output',
    completes: 'file',
  },
} as const satisfies Record<string, Option>;

export type CommonName = keyof typeof commonOptions;
export type OwnName = keyof typeof ownOptions;
export type OptionName = CommonName | OwnName;

export const options: Record<OptionName, Option> = { ...commonOptions, ...ownOptions };

type Spec = typeof commonOptions & typeof ownOptions;

/** Parsed options: a string for an option with a value, an array for a repeatable one, true for a switch. */
export type Flags = {
  [K in OptionName]?: Spec[K] extends { many: true }
    ? string[]
    : Spec[K] extends { value: string }
      ? string
      : boolean;
};

/** Throws if more than one of these options is given. */
export function checkExclusive(flags: Flags, ...names: OptionName[]): void {
  const [first, second] = names.filter((name) => flags[name] !== undefined && flags[name] !== false);
  if (first === undefined || second === undefined) return;
  throw new UsageError(`--${first} and --${second} cannot be combined`, 'omit one of them');
}
