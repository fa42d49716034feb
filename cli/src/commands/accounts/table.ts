/** Commands for the account, its keys and its sessions. */
import { SECRET_CHARS } from '@szafa/client/strength';
import type { CommandTable } from '../../command.ts';

export const accountCommands = {
  register: {
    usage: '[USERNAME]',
    summary: 'create an account and log in',
    details: [
      `The password is asked for twice, or read from SZ_PASSWORD or SZ_PASSWORD_FILE. It must have at least ${SECRET_CHARS.min} characters and be hard to guess: a few unrelated words are good. It never leaves this machine: the server gets a secret derived from it.`,
      'A recovery key is shown once: write it down. It is the only way back in if you lose your password. Without a terminal there is none, unless --recovery-file says where to write it.',
      'Some servers need an invitation for a new account: ask their operator for one.',
    ],
    options: ['passphrase', 'raw-password', 'invite', 'recovery-file', 'no-recovery', 'device'],
    examples: [
      'szafa register ewa --server https://szafa.example  # create the account ewa',
      'SZ_PASSWORD_FILE=pw szafa register ewa --recovery-file key.txt  # without questions',
      'szafa register ewa --invite  # with an invitation, which is asked for',
    ],
    load: () => import('./login.ts').then((file) => file.register),
  },
  login: {
    usage: '[USERNAME]',
    summary: 'log in, and store token and keys for later commands',
    details:
      'Another device needs only server, username and password. The session is stored in the configuration folder, where only you can read it; logout deletes it.',
    options: ['passphrase', 'raw-password', 'device'],
    examples: [
      'szafa login ewa --server https://szafa.example',
      'szafa login --passphrase  # files are under a separate passphrase',
      'szafa login --raw-password  # an account made by another client',
    ],
    load: () => import('./login.ts').then((file) => file.login),
  },
  logout: {
    summary: 'end the session, and delete its token and keys from this machine',
    examples: ['szafa logout'],
    load: () => import('./login.ts').then((file) => file.logout),
  },
  whoami: {
    summary: 'show the account and the server',
    examples: ['szafa whoami'],
    load: () => import('./account.ts').then((file) => file.whoami),
  },
  quota: {
    summary: 'show space used and space left',
    examples: ['szafa quota'],
    load: () => import('./account.ts').then((file) => file.quota),
  },
  passwd: {
    summary: 'change the password, or with --passphrase the passphrase of the files',
    details: [
      'Asks for the current password and twice for the new one, or reads them from SZ_PASSWORD and SZ_NEW_PASSWORD (or files). Nothing is uploaded again. All other sessions end. If it is cut off, run it again with the same passwords: it finds out which of them is valid.',
      'Someone with the old password and a copy of your keys from that time can still open the files of that time; szafa rekey protects later ones.',
    ],
    options: ['passphrase', 'raw-password', 'new-password-file'],
    examples: [
      'szafa passwd',
      'szafa passwd --password-file old --new-password-file new  # without questions',
      'szafa passwd --passphrase  # another passphrase for the files',
    ],
    load: () => import('./passwords.ts').then((file) => file.passwd),
  },
  recovery: {
    summary: 'create a new recovery key; earlier ones open nothing any more',
    details:
      'The key is shown once, and is valid once two groups of it were typed; or it is written to a file.',
    options: ['recovery-file', 'raw-password'],
    examples: ['szafa recovery', 'szafa recovery --recovery-file key.txt  # a page to print'],
    load: () => import('./passwords.ts').then((file) => file.recovery),
  },
  recover: {
    usage: '[USERNAME]',
    summary: 'get back in with the recovery key: set a new password and log in',
    details:
      'Asks for the recovery key and a new password, and shows a new recovery key, which replaces the used one. All sessions end, and two-factor authentication is turned off.',
    options: ['key-file', 'new-password-file', 'passphrase', 'recovery-file', 'device'],
    examples: [
      'szafa recover ewa --server https://szafa.example',
      'SZ_NEW_PASSWORD_FILE=pw szafa recover ewa --key-file key.txt --recovery-file new-key.txt',
    ],
    load: () => import('./passwords.ts').then((file) => file.recover),
  },
  rekey: {
    summary: 'create a new master key, and seal every file key and name again',
    details: [
      'Use it if someone may have had your old password or your machine: change the password first, then rekey. No file is uploaded again. All other sessions and open file requests end, and a new recovery key is created. Passkeys do not log in by themselves until they are added again.',
      'If it is cut off, all files stay readable; run it again to finish. Once everything is under the new key, the old one is retired: files that someone makes with it are refused.',
      'A command that ran at the same time may have uploaded a file under the old key. rekey reports its ID and name; if it is yours, --accept-retired ID takes it over.',
    ],
    options: ['recovery-file', 'no-recovery', 'raw-password', 'accept-retired', 'leave-rest'],
    examples: ['szafa rekey', 'szafa rekey --password-file pw --recovery-file key.txt  # without questions'],
    load: () => import('./rekey.ts').then((file) => file.rekey),
  },
  sessions: {
    usage: '[end ID | end --all]',
    summary: 'show where the account is logged in; end one session, or all others',
    details: 'The beginning of an ID is enough. The last use is exact to an hour.',
    options: ['all'],
    examples: [
      'szafa sessions',
      'szafa sessions end 8c1f0e6f',
      'szafa sessions end --all  # all but this one',
    ],
    completes: ['end'],
    load: () => import('./sessions.ts').then((file) => file.sessions),
  },
  token: {
    usage: '[create NAME | list | end ID]',
    summary: 'print the token of this session; create, list or end tokens for other machines and programs',
    details: [
      'create makes a token that may do less than a session. append uploads and lists, but cannot delete, replace or download: for backups of a machine that may be taken over. read downloads and changes nothing. --dir limits the token to one top-level folder. Without --expires it ends a month after its last use.',
      'With --output the token is written with the keys of the account, as the session of another machine: put the file into its configuration folder as session.json. Without the password that machine cannot log in, nor do more than its token allows.',
      'list shows all sessions and tokens; end ends one at once.',
    ],
    options: ['scope', 'dir', 'expires', 'output'],
    examples: [
      'curl -H "Authorization: Bearer $(szafa token)" $SZ_SERVER/api/quota',
      'szafa token create web1 --scope append --dir web1 --expires 1y --output session.json',
      'szafa token list',
      'szafa token end 8c1f0e6f',
    ],
    completes: ['create', 'list', 'end'],
    load: () => import('./sessions.ts').then((file) => file.token),
  },
  factor: {
    usage: 'status | totp on|off|status',
    summary: 'turn two-factor authentication by an authenticator app on or off',
    details: [
      'on shows a secret for the app, as a QR code and as text, and asks for the password and a first code. off asks for the password and a code. Every login then asks for a code, or reads it from SZ_CODE; each code is valid once. Open sessions stay open.',
      'There are no backup codes: if you lose the device, the recovery key brings you back (szafa recover) and turns two-factor authentication off. The code protects the login alone: files open with the password, as before.',
      'Passkeys are added, removed and used in the web app only: this command cannot log in to an account that has passkeys but no codes.',
    ],
    options: ['raw-password'],
    examples: ['szafa factor totp on', 'szafa factor status', 'SZ_CODE=123456 szafa factor totp off'],
    completes: ['status', 'totp'],
    load: () => import('./factor.ts').then((file) => file.factor),
  },
  account: {
    usage: 'delete',
    summary: 'delete the account with all its files, permanently',
    details:
      'Asks for the name of the account, or needs --yes, and for the password. Nobody can restore the files.',
    options: ['raw-password'],
    examples: ['szafa account delete'],
    completes: ['delete'],
    load: () => import('./account.ts').then((file) => file.account),
  },
} satisfies CommandTable;
