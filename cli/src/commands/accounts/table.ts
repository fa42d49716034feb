import { SECRET_CHARS } from '@szafa/client/strength';
import type { CommandTable } from '../../command.ts';

/** Commands about the account, its keys and its sessions. */
export const accountCommands = {
  register: {
    usage: '[USERNAME]',
    summary: 'create an account and log in',
    details: [
      `The password is asked for twice, or taken from SZ_PASSWORD or SZ_PASSWORD_FILE. It must have at least ${SECRET_CHARS.min} characters and be hard to guess: a few unrelated words are good. It never leaves this machine: the server gets a secret derived from it.`,
      'A recovery key is shown, once: write it down. It is the only way back for somebody who loses the password, and nobody can make another one without the password. Without a terminal there is none, unless --recovery-file says where to write it.',
      'Some servers take new accounts only by invitation: ask their operator for one.',
    ],
    options: ['passphrase', 'raw-password', 'invite', 'recovery-file', 'no-recovery', 'device'],
    args: [0, 1],
    examples: [
      ['szafa register ewa --server https://szafa.example', 'create the account ewa'],
      ['SZ_PASSWORD_FILE=pw szafa register ewa --recovery-file key.txt', 'without questions'],
      ['szafa register ewa --invite', 'with an invitation, which is asked for'],
    ],
    load: () => import('./login.ts').then(({ register }) => ({ command: register })),
  },
  login: {
    usage: '[USERNAME]',
    summary: 'log in, and keep token and keys for later commands',
    details: [
      'Another device needs only server, username and password. The session is in the configuration folder, where only you can read it; logout deletes it.',
    ],
    options: ['passphrase', 'raw-password', 'device'],
    args: [0, 1],
    examples: [
      ['szafa login ewa --server https://szafa.example', ''],
      ['szafa login --passphrase', 'files are under a separate passphrase'],
      ['szafa login --raw-password', 'an account made by another client'],
    ],
    load: () => import('./login.ts').then(({ login }) => ({ command: login })),
  },
  logout: {
    usage: '',
    summary: 'end the session and remove its token and keys from this machine',
    options: [],
    args: [0, 0],
    examples: [['szafa logout', '']],
    load: () => import('./logout.ts'),
  },
  passwd: {
    usage: '',
    summary: 'change the password, or with --passphrase the passphrase of the files',
    details: [
      'Asks for the current password and twice for the new one, or takes them from SZ_PASSWORD and SZ_NEW_PASSWORD (or files). Nothing is uploaded again. All other sessions end. If it is cut off, run it again with the same passwords: it finds out which of the two counts, and says so.',
      'Who had the old password and a copy of the keys of that time can still open the files of that time; szafa rekey protects what comes after.',
    ],
    options: ['passphrase', 'raw-password', 'new-password-file'],
    args: [0, 0],
    examples: [
      ['szafa passwd', ''],
      ['szafa passwd --password-file old --new-password-file new', 'without questions'],
      ['szafa passwd --passphrase', 'another passphrase for the files'],
    ],
    load: () => import('./passwd.ts'),
  },
  recovery: {
    usage: '',
    summary: 'make a new recovery key; one from before opens nothing any more',
    details: [
      'The key is shown once, and counts when two groups of it were typed; or it is written to a file.',
    ],
    options: ['recovery-file', 'raw-password'],
    args: [0, 0],
    examples: [
      ['szafa recovery', ''],
      ['szafa recovery --recovery-file key.txt', 'a page to be printed'],
    ],
    load: () => import('./recovery.ts'),
  },
  recover: {
    usage: '[USERNAME]',
    summary: 'come back with the recovery key: set a new password and log in',
    details: [
      'Asks for the recovery key, for a new password, and shows a new recovery key, which takes the place of the one that was used. All sessions end, and a second factor is turned off.',
    ],
    options: ['key-file', 'new-password-file', 'passphrase', 'recovery-file', 'device'],
    args: [0, 1],
    examples: [
      ['szafa recover ewa --server https://szafa.example', ''],
      ['SZ_NEW_PASSWORD_FILE=pw szafa recover ewa --key-file key.txt --recovery-file new-key.txt', ''],
    ],
    load: () => import('./recover.ts'),
  },
  rekey: {
    usage: '',
    summary: 'make a new master key, and seal every file key and name anew',
    details: [
      'For somebody whose old password, or whose machine, others may have had: change the password first, then rekey. No file is uploaded again; the names and keys of all files, in the trash too, are sealed again. All other sessions end, a new recovery key is made, and passkeys only stand beside the password, until they are added again.',
      'If it is cut off, files are under the old or the new key, and every client opens both; run it again to finish. Once everything is under the new key, the old one is retired: files that somebody makes with it are refused.',
      'A command that was running at the same time may have uploaded a file under the old key. rekey reports it by ID and name; if it is yours, --accept-retired ID takes it over.',
    ],
    options: ['recovery-file', 'no-recovery', 'raw-password', 'accept-retired', 'leave-rest'],
    args: [0, 0],
    examples: [
      ['szafa rekey', ''],
      ['szafa rekey --password-file pw --recovery-file key.txt', 'without questions'],
    ],
    load: () => import('./rekey.ts'),
  },
  sessions: {
    usage: '[end ID | end --all]',
    summary: 'show where the account is logged in; end one session, or all others',
    details: ['ID is what is shown, or as much of it as is needed. The last use is exact to an hour.'],
    options: ['all'],
    args: [0, 2],
    examples: [
      ['szafa sessions', ''],
      ['szafa sessions end 8c1f0e6f', ''],
      ['szafa sessions end --all', 'all but this one'],
    ],
    completes: ['end'],
    load: () => import('./sessions.ts'),
  },
  factor: {
    usage: 'status | totp on|off|status',
    summary: 'ask for a code of an authenticator app at every login, beside the password',
    details: [
      'status says what a login asks for beside the password: a code, a passkey, or nothing. Passkeys are added, removed and used in the page only: where an account has no codes, this command cannot log in to it again.',
      'on shows a secret for the app, as a QR code and as text, and asks for the password and for a first code. off asks for the password and a code. Where a login needs a code it is asked for, or taken from SZ_CODE; each counts once. Machines without a person get a session of their own, which stays.',
      'There are no backup codes: whoever loses the device comes back with the recovery key (szafa recover), which turns the second factor off. The code guards the login alone: files open with the password, as before.',
    ],
    options: ['raw-password'],
    args: [1, 2],
    examples: [
      ['szafa factor totp on', ''],
      ['szafa factor status', ''],
      ['SZ_CODE=123456 szafa factor totp off', ''],
    ],
    completes: ['status', 'totp'],
    load: () => import('./factor.ts'),
  },
  account: {
    usage: 'delete',
    summary: 'delete the account with all its files, for good',
    details: [
      'Asks for the name of the account, or needs --yes, and for the password. Nobody can bring the files back.',
    ],
    options: ['raw-password'],
    args: [1, 1],
    examples: [['szafa account delete', '']],
    completes: ['delete'],
    load: () => import('./account.ts'),
  },
  whoami: {
    usage: '',
    summary: 'show the account and the server',
    options: [],
    args: [0, 0],
    examples: [['szafa whoami', '']],
    load: () => import('./whoami.ts'),
  },
  token: {
    usage: '[create NAME | list | end ID]',
    summary: 'print the bearer token; make, list or end tokens for other machines and programs',
    details: [
      'Alone it prints the token of this session, which may do everything.',
      'create makes a token that may do less. The scope append uploads, but removes, replaces and downloads nothing: it is for the backup of a machine that may be taken over. read downloads and changes nothing. --dir limits it to one folder at the top, --expires ends it at a time; without that it ends when it was not used for a month. NAME is what list shows.',
      'With --output the token is written, with the keys of the account, as the session of another machine: put the file into its configuration folder as session.json. Without the password that machine cannot log in, nor change anything that its token may not.',
      'list shows all sessions and tokens of the account. end ends one of them at once.',
    ],
    options: ['scope', 'dir', 'expires', 'output'],
    args: [0, 2],
    examples: [
      ['curl -H "Authorization: Bearer $(szafa token)" $SZ_SERVER/api/quota', ''],
      ['szafa token create web1 --scope append --dir web1 --expires 1y --output session.json', ''],
      ['szafa token list', ''],
      ['szafa token end 8c1f0e6f', ''],
    ],
    completes: ['create', 'list', 'end'],
    load: () => import('./token.ts'),
  },
  quota: {
    usage: '',
    summary: 'show space used and space left',
    options: [],
    args: [0, 0],
    examples: [['szafa quota', '']],
    load: () => import('./quota.ts'),
  },
} satisfies CommandTable;
