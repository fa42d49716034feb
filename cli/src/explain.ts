import type { ApiError, ContactChangedError, NetworkError, SzafaError, TamperedError } from '@szafa/client';
import { CliError, type Exit, exits } from './errors.ts';
import { oneLine } from './lib/print/text.ts';

export interface Explained {
  code: string;
  message: string;
  hint: string;
  exit: Exit;
}

/** What the server says, word for word. */
const DISABLED = 'this account is disabled';
const READ_ONLY = 'the server is read-only for now';
const LOST = 'no such volume';

const FROM_COPY =
  'If you have a copy, put it with --force; and tell the operator, whose szafa-server fsck finds such files';
const LOGIN = 'log in again: szafa login';

/** Errors of the system, in words. */
const system: Record<string, [message: string, hint: string]> = {
  ENOENT: ['no such file or folder on this machine', 'check the path'],
  EACCES: ['no permission', 'check its permissions'],
  EPERM: ['not permitted', 'check its permissions'],
  ENOSPC: ['no space left on the disk', 'free some space, then run the same command again'],
  EDQUOT: ['your quota on this disk is used up', 'free some space, then run the same command again'],
  EROFS: ['the disk is read-only', 'choose another place with --output'],
  EISDIR: ['is a folder', 'choose another name with --output'],
  ENOTDIR: ['a part of the path is not a folder', 'choose another place with --output'],
  ENAMETOOLONG: ['the path is too long', 'choose a shorter one with --output'],
  EMFILE: ['too many open files', 'use fewer --transfers, or raise the limit (ulimit -n)'],
  EIO: ['the disk reported an error', 'check the disk'],
  ELOOP: ['too many symbolic links', 'check the path'],
  EXDEV: ['the folder is on another disk', 'choose another place with --output'],
  EFBIG: ['the file is too large for this disk', 'choose another place with --output'],
};

function isSystemError(error: Error): error is NodeJS.ErrnoException & { code: string } {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string' && 'code' in error;
}

/** Told apart by what every error of the SDK has, so that a wrong argument need not load the SDK. */
function isSzafaError(error: Error): error is SzafaError {
  const { code } = error as Partial<SzafaError>;
  return typeof code === 'string' && !isSystemError(error) && !code.startsWith('ERR_');
}

function explainApi(error: ApiError): [hint: string, exit?: Exit] {
  switch (error.kind) {
    case 'unauthorized':
      return [LOGIN];
    case 'forbidden':
      if (error.message === DISABLED) return ['ask the operator of the server; nothing of yours was deleted'];
      return [
        'it belongs to another account, or the token or the server does not allow this; szafa whoami shows who you are',
      ];
    case 'out-of-scope':
      return ['szafa token list, in a session that may do everything, shows what this token is for'];
    case 'not-found':
      if (error.message === LOST) return [`the server has lost a part of this file. ${FROM_COPY}`];
      return ['it may have been deleted in the meantime; szafa ls shows what is there'];
    case 'conflict':
      return ['check with szafa ls, then try again'];
    case 'too-large':
      return ['use fewer, larger volumes: --volume-size 64M'];
    case 'rate-limited':
      return [`wait ${Math.ceil(error.retryAfter ?? 60)} s and try again`];
    case 'no-space':
      if (error.message.includes('quota')) {
        return ['free some space: szafa trash empty, or szafa rm --now; szafa quota shows what is left'];
      }
      return ["the server's disk is full: tell its operator, then run the same command again"];
    case 'server':
      if (error.message === READ_ONLY) return ['the server is being maintained; try again later'];
      return ['the server has a problem; its log says more. Run the same command again'];
    case 'bad-request':
      return ['a name may be too long, or not allowed by the server: choose another one'];
    default:
      return ['is the address right, and is it a szafa server?'];
  }
}

function explainNetwork(error: NetworkError): string {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const now = new Date().toISOString().slice(0, 16).replace('T', ' ');
    return `this machine's clock says ${now} UTC; if that is right, the certificate must be renewed`;
  }
  if (error.certificate) {
    return 'check the address; for a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate';
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return 'the other side closed the connection: does it need https:// instead of http://? Otherwise check the network, then run the same command again';
  }
  if (code === 'ENOTFOUND') return 'check the address (--server, SZ_SERVER)';
  return 'check the network and the address, then run the same command again';
}

/** Something answered, but not this service: perhaps only over the wrong protocol. */
function explainOther({ cause }: SzafaError): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return 'there is no TLS there: should it be http:// instead of https://, or another port?';
  }
  if (code.startsWith('HPE_')) return 'should it be https:// instead of http://, or another port?';
  return 'check the address (--server, SZ_SERVER): there may be a proxy or a login page in between';
}

/** Of what somebody typed, or did not, and the service or the key bag did not take. */
const wrongSecret: Record<string, string> = {
  'wrong-passphrase': 'ask whoever gave you the link for its passphrase',
  'wrong-password':
    'check it; if the password was changed, log in again: szafa login; the files may be under a separate passphrase: szafa login --passphrase',
  'wrong-code':
    'each code counts once: wait for the next one; if none is taken, the clock of the device that shows it may be wrong',
  'factor-needed':
    'the second factor of this account is a passkey, which works in the page only: sign in there, turn on codes as well (Account and devices), and log in with one',
};

const hints: Record<string, string> = {
  link: 'copy all of it, the part behind the # as well, and put it in quotes',
  'link-over': 'ask whoever gave it to you for another one',
  'passphrase-needed': 'set SZ_LINK_PASSPHRASE, or SZ_LINK_PASSPHRASE_FILE',
  locked: 'log in with the password that opens the files, or with --passphrase: szafa login',
  address: 'give an address like https://szafa.example',
  tampered: 'do not use this file: the server, or someone in between, changed it',
  unsupported: 'another client made it; open it there, or look for a newer szafa',
  'file-changed': 'wait until nothing writes to it, then run the same command again',
  'file-removed': 'nothing of it was stored',
  name: 'choose another name, or another folder',
  'bad-description': 'its name or its time cannot be kept: choose another name, or set its time with touch',
  'same-secret': 'choose another passphrase',
  journal: 'check its permissions, or choose another folder with --config or SZ_CONFIG',
  'in-the-way': 'move it away or delete it, then run the same command again',
  pins: 'it says which server and which keys were seen before, so nothing was sent. If you know why it is damaged, delete it and run the same command again',
  'recovery-key': 'compare it with what you wrote down; blanks, hyphens and letter case do not matter',
  'known-account':
    'log in to it: szafa login. If it was deleted, and is to be made anew, delete keys-*.json in the configuration folder first',
  'recovery-needed': 'have a new one made: omit --no-recovery',
  'keys-changed': 'log in again, with the password that was set there: szafa login',
  unchanged: 'everything is as before, and the old one still counts; run the same command again',
  unsettled:
    'run the same command again, as soon as the server answers: it finds out which of the two counts',
  exists: 'choose another name; with --yes what is there becomes an older version',
  'target-exists': 'overwrite it with --yes, or choose another place with --output',
  'not-a-file': 'name files or folders',
  'not-own': 'find out who made it, then delete it, or choose another place with --output',
  'pull-address': 'give an address of this machine with --pull-address, or omit --pull',
  'other-upload': 'another szafa may be uploading the same file; run the same command again later',
  'input-too-long': 'split it, or give larger volumes with --volume-size',
  'no-contact': 'ask for the exact name; an account needs keys, which a first login with szafa makes',
  'not-seen':
    'szafa contact NAME shows their fingerprint: compare it with what its owner sees, then use --verify',
  'own-account': 'give the name of another account with --with',
  fingerprint: 'szafa contact shows how it looks; blanks do not matter',
  'other-fingerprint':
    'do not share anything with this account until you know why: somebody, perhaps the server, may pretend to be its owner',
  conflict: 'szafa ls shows what is there now; then run the command again',
  incomplete: 'the server has a problem; run the same command again later',
};

const DAMAGED_FILE = `do not use this file: it was damaged or changed on the server. ${FROM_COPY}`;

const UNTRUSTED = 'do not use this server until you know why, and ask whoever runs it';
const FORGET = 'delete keys-*.json in the configuration folder';

/** What may be behind keys that are not those of before, and what to do then. All begin in the same way: nothing was sent, and nothing should be. */
const untrusted: Partial<Record<TamperedError['stage'], string>> = {
  service: `${UNTRUSTED}. If it was really set up anew, with new accounts, ${FORGET}`,
  rollback: `${UNTRUSTED}: it may have been restored from a backup of before your last change of password or keys. If so, ${FORGET}, log in with the password of that time, and change it again`,
  profile: `${UNTRUSTED}: it wants a secret that is easier to guess than the one that you use`,
  owner: `${UNTRUSTED}: it gave the keys of somebody else`,
  'no-bag': `${UNTRUSTED}: your files open with these keys alone. It may have lost its database (szafa-server rescue brings the keys back), or your account was deleted and made anew; only then ${FORGET}`,
};
const DAMAGED = `${UNTRUSTED}: the keys that it gave are damaged or were changed. It may have them in a backup`;

/** Nothing that could be pasted without a look: the fingerprint comes from the account's owner. */
export const acceptHint = (username: string) =>
  `with what ${username} told you: szafa contact ${username} --accept FINGERPRINT`;

/** Any error as one line, what to do next, and the exit code. */
export function explain(error: unknown): Explained {
  if (error instanceof CliError) return error;
  if (!(error instanceof Error)) return unknown(String(error));
  if (isSystemError(error)) {
    const [message, hint] = system[error.code] ?? [error.message, 'look up what the system says'];
    return { code: error.code, message, hint, exit: exits.failed };
  }
  if (error.name === 'RuleError') {
    return { code: 'rule', message: error.message, hint: 'choose another one', exit: exits.usage };
  }
  if (error.name === 'RangeError' && /volume/.test(error.message)) {
    return { code: 'usage', message: error.message, hint: 'try --volume-size 8M', exit: exits.usage };
  }
  if (!isSzafaError(error)) return unknown(error.message);
  const { code, message } = error;
  const wrong = wrongSecret[code];
  if (wrong !== undefined) return { code, message, hint: wrong, exit: exits.wrongPassword };
  if (code === 'api') {
    const [hint, exit = exits.failed] = explainApi(error as ApiError);
    return { code: (error as ApiError).kind, message, hint, exit };
  }
  if (code === 'contact-changed') {
    const username = oneLine((error as ContactChangedError).username);
    const hint = `the account was made anew, or somebody, perhaps the server, pretends to be ${username}. Ask ${username} for the fingerprint in another way than by this server, then ${acceptHint(username)}`;
    return { code, message, hint, exit: exits.failed };
  }
  if (code === 'network') {
    return { code, message, hint: explainNetwork(error as NetworkError), exit: exits.failed };
  }
  if (code === 'not-the-service') return { code, message, hint: explainOther(error), exit: exits.failed };
  if (code === 'tampered' && (error as TamperedError).aboutKeys) {
    const hint = untrusted[(error as TamperedError).stage] ?? DAMAGED;
    return { code: 'keys', message, hint, exit: exits.failed };
  }
  if (error.name === 'RetiredKeyError') {
    const hint =
      'if you know that it is yours: szafa rekey --accept-retired, with its ID. Otherwise somebody who has your old key made it: delete it';
    return { code, message, hint, exit: exits.failed };
  }
  if (code === 'tampered' && (error as TamperedError).stage === 'volume') {
    return { code, message, hint: DAMAGED_FILE, exit: exits.failed };
  }
  const exit = code === 'name' ? exits.usage : exits.failed;
  return { code, message, hint: hints[code] ?? 'try again', exit };
}

function unknown(message: string): Explained {
  const hint = 'this should not happen; please report it together with the command you ran';
  return { code: 'internal', message, hint, exit: exits.failed };
}

/** Errors after which the other items of the same command would fail as well. */
export function isFatal(error: unknown): boolean {
  const { code } = explain(error);
  return FATAL.has(code);
}

/** Errors that may be gone when the same command is given again. */
export const PASSING: ReadonlySet<string> = new Set([
  'network',
  'server',
  'rate-limited',
  'no-space',
  'file-changed',
  'incomplete',
  'other-upload',
  'unauthorized',
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'EIO',
]);

const FATAL = new Set([
  'interrupted',
  'network',
  'unauthorized',
  'out-of-scope',
  'not-the-service',
  'locked',
  'keys',
  'wrong-password',
  'no-space',
  'rate-limited',
  'pull-address',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
]);
