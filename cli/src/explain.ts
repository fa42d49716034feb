import type { ApiError, ContactChangedError, NetworkError, SzafaError, TamperedError } from '@szafa/client';
import { CliError, type Exit, exits } from './errors.ts';
import { oneLine } from './lib/print/text.ts';

/** An error for the user: one line, what to do next, and the exit code. */
export interface Explanation {
  code: string;
  message: string;
  hint: string;
  exit: Exit;
}

const FROM_COPY =
  'If you have a copy, put it with --force; and tell the operator, whose szafa-server fsck finds such files';
const ANOTHER_PLACE = 'choose another place with --output';
const FREE_SPACE = 'free some space, then run the same command again';

const QUOTA_HINT = 'free some space: szafa trash empty, or szafa rm --now; szafa quota shows what is left';

/** Hints for exact error messages from the server. */
const messageHints = new Map([
  ['this account is disabled', 'ask the operator of the server; none of your files were deleted'],
  ['no such volume', `the server has lost a part of this file. ${FROM_COPY}`],
  ['the server is read-only for now', 'the server is being maintained; try again later'],
]);

/** Messages and hints for operating system errors, by code. */
const system: Record<string, [message: string, hint: string]> = {
  ENOENT: ['no such file or folder on this machine', 'check the path'],
  EACCES: ['no permission', 'check its permissions'],
  EPERM: ['not permitted', 'check its permissions'],
  ENOSPC: ['no space left on the disk', FREE_SPACE],
  EDQUOT: ['your quota on this disk is used up', FREE_SPACE],
  EROFS: ['the disk is read-only', ANOTHER_PLACE],
  EISDIR: ['is a folder', 'choose another name with --output'],
  ENOTDIR: ['a part of the path is not a folder', ANOTHER_PLACE],
  ENAMETOOLONG: ['the path is too long', 'choose a shorter one with --output'],
  EMFILE: ['too many open files', 'use fewer --transfers, or raise the limit (ulimit -n)'],
  EIO: ['the disk reported an error', 'check the disk'],
  ELOOP: ['too many symbolic links', 'check the path'],
  EXDEV: ['the folder is on another disk', ANOTHER_PLACE],
  EFBIG: ['the file is too large for this disk', ANOTHER_PLACE],
};

function isSystemError(error: Error): error is NodeJS.ErrnoException & { code: string } {
  return typeof (error as NodeJS.ErrnoException).syscall === 'string' && 'code' in error;
}

/** Checks the shape instead of using `instanceof`, so that a usage error does not load the SDK. */
function isSzafaError(error: Error): error is SzafaError {
  const { code } = error as Partial<SzafaError>;
  return typeof code === 'string' && !isSystemError(error) && !code.startsWith('ERR_');
}

const apiHints: Record<ApiError['kind'], string> = {
  unauthorized: 'log in again: szafa login',
  forbidden:
    'it belongs to another account, or the token or the server does not allow this; szafa whoami shows who you are',
  'out-of-scope': 'szafa token list, in a session with full access, shows what this token may do',
  'not-found': 'it may have been deleted in the meantime; szafa ls shows what is there',
  conflict: 'check with szafa ls, then try again',
  'too-large': 'use fewer, larger volumes: --volume-size 64M',
  'rate-limited': 'wait and try again',
  'no-space': "the server's disk is full: tell its operator, then run the same command again",
  server: 'the server has a problem; its log says more. Run the same command again',
  'bad-request': 'a name may be too long, or not allowed by the server: choose another one',
  unexpected: 'is the address right, and is it a szafa server?',
};

function apiHint({ kind, message, retryAfter }: ApiError): string {
  if (kind === 'rate-limited') return `wait ${Math.ceil(retryAfter ?? 60)} s and try again`;
  if (kind === 'no-space' && message.includes('quota')) return QUOTA_HINT;
  return messageHints.get(message) ?? apiHints[kind];
}

const causeCode = ({ cause }: Error) => (cause as NodeJS.ErrnoException | undefined)?.code ?? '';

function networkHint(error: NetworkError): string {
  const code = causeCode(error);
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

/** The hint if the answer does not come from a szafa server; often only http and https are mixed up. */
function otherServerHint(error: SzafaError): string {
  const code = causeCode(error);
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return 'there is no TLS there: should it be http:// instead of https://, or another port?';
  }
  if (code.startsWith('HPE_')) return 'should it be https:// instead of http://, or another port?';
  return 'check the address (--server, SZ_SERVER): there may be a proxy or a login page in between';
}

/** Hints for errors that exit with `wrongPassword`. */
const secretHints: Record<string, string> = {
  'wrong-passphrase': 'ask the person who gave you the link for its passphrase',
  'wrong-password':
    'check it; if the password was changed, log in again: szafa login; the files may be under a separate passphrase: szafa login --passphrase',
  'wrong-code':
    'each code is valid once: wait for the next one; if none is accepted, check the clock of the device that shows it',
  'factor-needed':
    'this account has only passkeys, which work in the web app: sign in there, turn on codes as well (Account and devices), and log in with one',
};

const hints: Record<string, string> = {
  link: 'copy the whole link, with the part after the #, and quote it',
  'link-over': 'ask its owner for another one',
  'passphrase-needed': 'set SZ_LINK_PASSPHRASE, or SZ_LINK_PASSPHRASE_FILE',
  locked: 'log in with the password that opens the files, or with --passphrase: szafa login',
  address: 'give an address like https://szafa.example',
  tampered: 'do not use this file: the server, or someone in between, changed it',
  unsupported: 'another client made it; open it there, or look for a newer szafa',
  'file-changed': 'wait until nothing writes to it, then run the same command again',
  'file-removed': 'nothing of it was stored',
  name: 'choose another name, or another folder',
  'bad-description': 'its name or its time cannot be stored: choose another name, or set its time with touch',
  'same-secret': 'choose another passphrase',
  journal: 'check its permissions, or choose another folder with --config or SZ_CONFIG',
  'in-the-way': 'move it away or delete it, then run the same command again',
  pins: 'it holds the server and the keys that were seen before, so nothing was sent. If you know why it is damaged, delete it and run the same command again',
  'recovery-key': 'compare it with your copy; case, spaces and hyphens do not matter',
  'known-account':
    'log in to it: szafa login. If it was deleted and you want to create it again, delete keys-*.json in the configuration folder first',
  'recovery-needed': 'omit --no-recovery to create a new one',
  'keys-changed': 'log in again, with the password that was set there: szafa login',
  unchanged: 'nothing has changed, and the old one is still valid; run the same command again',
  unsettled: 'run the same command again once the server answers: it finds out which of the two is valid',
  exists: 'choose another name; with --yes the existing file becomes an older version',
  'target-exists': `overwrite it with --yes, or ${ANOTHER_PLACE}`,
  'not-a-file': 'name files or folders',
  'not-own': `find out who made it, then delete it, or ${ANOTHER_PLACE}`,
  'pull-address': 'give an address of this machine with --pull-address, or omit --pull',
  'other-upload': 'another szafa may be uploading the same file; run the same command again later',
  'input-too-long': 'split it, or use larger volumes with --volume-size',
  'no-contact': 'ask for the exact name; an account gets its keys at the first login with szafa',
  'not-seen':
    'szafa contact NAME shows their fingerprint: compare it with the one that the owner sees, then use --verify',
  'own-account': 'give the name of another account with --with',
  fingerprint: 'szafa contact shows its form; spaces do not matter',
  'other-fingerprint':
    'do not share anything with this account until you know why: someone, perhaps the server, may impersonate its owner',
  conflict: 'szafa ls shows what is there now; then run the command again',
  incomplete: 'the server has a problem; run the same command again later',
};

const UNTRUSTED = 'do not use this server until you know why, and ask its operator';
const FORGET = 'delete keys-*.json in the configuration folder';

/** Hints for unexpected keys from the server, by stage. Nothing has been sent, and the user should stop here. */
const keyHints: Partial<Record<TamperedError['stage'], string>> = {
  service: `${UNTRUSTED}. If it was really set up again, with new accounts, ${FORGET}`,
  rollback: `${UNTRUSTED}: it may have been restored from a backup that is older than your last change of password or keys. If so, ${FORGET}, log in with the password of that time, and change it again`,
  profile: `${UNTRUSTED}: it asks for a secret that is easier to guess than the one that you use`,
  owner: `${UNTRUSTED}: it gave the keys of another account`,
  'no-bag': `${UNTRUSTED}: only these keys open your files. It may have lost its database (szafa-server rescue brings the keys back), or your account was deleted and created again; only then ${FORGET}`,
};
const DAMAGED_KEYS = `${UNTRUSTED}: the keys that it gave are damaged or were changed. It may have them in a backup`;

/** Leaves the fingerprint out on purpose: the user must get it from the account's owner instead of pasting ours. */
export const acceptHint = (username: string) =>
  `with the fingerprint from ${username}: szafa contact ${username} --accept FINGERPRINT`;

export function explain(error: unknown): Explanation {
  if (error instanceof CliError) return error;
  if (!(error instanceof Error)) return internalError(String(error));
  const { message } = error;
  if (isSystemError(error)) {
    const [text, hint] = system[error.code] ?? [message, 'look up this message of the system'];
    return { code: error.code, message: text, hint, exit: exits.failed };
  }
  if (error.name === 'RuleError') {
    return { code: 'rule', message, hint: 'choose another one', exit: exits.usage };
  }
  if (error.name === 'RangeError' && /volume/.test(message)) {
    return { code: 'usage', message, hint: 'try --volume-size 8M', exit: exits.usage };
  }
  if (!isSzafaError(error)) return internalError(message);
  const { code } = error;
  const wrong = secretHints[code];
  if (wrong !== undefined) return { code, message, hint: wrong, exit: exits.wrongPassword };
  const isOfKeys = code === 'tampered' && (error as TamperedError).aboutKeys;
  const shownCode = code === 'api' ? (error as ApiError).kind : isOfKeys ? 'keys' : code;
  const exit = code === 'name' ? exits.usage : exits.failed;
  return { code: shownCode, message, hint: hintFor(error, isOfKeys), exit };
}

function hintFor(error: SzafaError, isOfKeys: boolean): string {
  const { code } = error;
  if (code === 'api') return apiHint(error as ApiError);
  if (code === 'network') return networkHint(error as NetworkError);
  if (code === 'not-the-service') return otherServerHint(error);
  if (code === 'contact-changed') {
    const name = oneLine((error as ContactChangedError).username);
    return `the account was created again, or someone, perhaps the server, impersonates ${name}. Ask ${name} for the fingerprint by another channel than this server, then ${acceptHint(name)}`;
  }
  if (isOfKeys) return keyHints[(error as TamperedError).stage] ?? DAMAGED_KEYS;
  if (error.name === 'RetiredKeyError') {
    return 'if you know that it is yours: szafa rekey --accept-retired, with its ID. Otherwise someone with your old key made it: delete it';
  }
  if (code === 'tampered' && (error as TamperedError).stage === 'volume') {
    return `do not use this file: it was damaged or changed on the server. ${FROM_COPY}`;
  }
  return hints[code] ?? 'try again';
}

function internalError(message: string): Explanation {
  const hint = 'this should not happen; please report it together with the command you ran';
  return { code: 'internal', message, hint, exit: exits.failed };
}

const TRANSIENT = new Set([
  ...['network', 'server', 'rate-limited', 'no-space', 'file-changed', 'incomplete', 'other-upload'],
  ...['unauthorized', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EIO'],
]);

/** Whether running the same command again may succeed. */
export const isTransient = (error: unknown) => TRANSIENT.has(explain(error).code);

const FATAL = new Set([
  ...['interrupted', 'network', 'unauthorized', 'out-of-scope', 'not-the-service', 'locked', 'keys'],
  ...['wrong-password', 'no-space', 'rate-limited', 'pull-address', 'ENOSPC', 'EDQUOT', 'EROFS'],
]);

/** Whether the remaining items of the command would fail too. */
export const isFatal = (error: unknown) => FATAL.has(explain(error).code);
