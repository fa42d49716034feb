export interface Option {
  /** Placeholder of the value in the help; a switch has none. */
  value?: string;
  short?: string;
  help: string;
  /** May be given more than once. */
  many?: true;
  /** What a shell completes the value with: files or folders here, or folders on the server. */
  completes?: 'file' | 'folder' | 'path-folder';
}

/** Understood by every command. */
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
  yes: { short: 'y', help: 'do not ask; overwrite files that are in the way' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies Record<string, Option>;

export const ownOptions = {
  passphrase: {
    help: 'a separate passphrase: of the files (asked for, or SZ_PASSPHRASE, SZ_PASSPHRASE_FILE), or of a link (SZ_LINK_PASSPHRASE, SZ_LINK_PASSPHRASE_FILE)',
  },
  invite: { help: 'register with an invitation: asked for, or SZ_INVITE, SZ_INVITE_FILE' },
  'raw-password': { help: 'send the password as it is, for accounts made by other clients' },
  'new-password-file': {
    value: 'PATH',
    help: 'file with the new password (SZ_NEW_PASSWORD_FILE; SZ_NEW_PASSWORD holds the password itself)',
    completes: 'file',
  },
  'recovery-file': {
    value: 'PATH',
    help: 'write the new recovery key to this file, instead of showing it',
    completes: 'file',
  },
  'accept-retired': {
    value: 'ID',
    many: true,
    help: 'with rekey: take over what is under a retired master key, if you know that it is yours',
  },
  'leave-rest': {
    help: 'with rekey: retire the earlier master keys although something could not be sealed again',
  },
  'no-recovery': { help: 'without a recovery key: who loses the password loses the files' },
  'key-file': {
    value: 'PATH',
    help: 'file with the recovery key (SZ_RECOVERY_KEY_FILE; SZ_RECOVERY_KEY holds the key itself)',
    completes: 'file',
  },
  device: { value: 'NAME', help: 'what sessions shows this machine as (its host name)' },
  all: { help: 'all of them; of sessions, all others' },
  dir: { value: 'FOLDER', short: 'd', help: 'folder on the server', completes: 'path-folder' },
  name: { value: 'NAME', help: 'name of the file on the server; needed for standard input' },
  long: { short: 'l', help: 'with sizes, times and IDs' },
  recursive: { short: 'r', help: 'folders with all that is in them' },
  parents: { short: 'p', help: 'make the folders above it, too; no error if it is there' },
  now: { help: 'delete for good, without the trash' },
  keep: { value: 'N', help: 'leave the newest versions of each file, so many' },
  older: { value: 'TIME', help: 'only versions uploaded longer ago, like 30d' },
  'skip-existing': { help: 'leave alone what is there under the same path, whatever it is' },
  both: { help: 'upload what differs under another name: a (2).jpg' },
  checksum: {
    help: 'decide by content, not by time and source, what is already there; reads every byte here',
  },
  force: { help: 'also upload what is already there' },
  exclude: {
    value: 'PATTERN',
    many: true,
    help: 'leave out what fits, as in a .gitignore; may be given more than once',
  },
  'exclude-from': {
    value: 'FILE',
    many: true,
    help: 'leave out what fits a pattern of this file',
    completes: 'file',
  },
  'dry-run': { short: 'n', help: 'only say what would be done' },
  pull: { help: 'let the server fetch the volumes from a temporary HTTP server on this machine' },
  'pull-address': {
    value: 'URL',
    help: 'address at which the server reaches this machine, as http://HOST:PORT; implies --pull',
  },
  transfers: { value: 'N', short: 't', help: 'files at once (4 to 64, depending on their size)' },
  'volume-size': { value: 'SIZE', help: 'bytes of a volume (8M)' },
  bwlimit: { value: 'RATE', help: 'bytes per second, for all transfers together, like 2M' },
  'plain-names': { help: 'show the names to the server: they are neither sealed nor verified' },
  scope: { value: 'SCOPE', help: 'what the token may do: append, read or full' },
  expires: { value: 'TIME', help: 'when the token or the share ends: 90d, 1y, or a date like 2030-01-31' },
  files: { value: 'N', help: 'how many files may be uploaded by the link (100)' },
  size: { value: 'SIZE', help: 'how much they may be together, as 1G (10G)' },
  to: { value: 'LINK', help: 'upload by the link of a request; needs no account' },
  take: { help: 'make what was delivered files of your own, in the folders that they are for' },
  drop: { help: 'delete what was delivered, for good, without making it files of your own' },
  downloads: { value: 'N', help: 'how often it may be downloaded' },
  note: { value: 'TEXT', help: 'what those are told who open the link' },
  with: { value: 'NAME', help: 'the account that gets it, and nobody else: there is no link' },
  from: { value: 'NAME', help: 'of what this account shares with you' },
  verify: { help: 'you have compared the fingerprint' },
  accept: {
    value: 'FINGERPRINT',
    help: 'these keys are the right ones: their owner told you this fingerprint',
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

/** What was given, by its name: text for options with a value, several texts where it may be given more than once, true for switches. */
export type Flags = {
  [K in OptionName]?: Spec[K] extends { many: true }
    ? string[]
    : Spec[K] extends { value: string }
      ? string
      : boolean;
};
