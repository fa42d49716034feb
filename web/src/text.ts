/** All text of the page. */
import { SECRET_CHARS } from '@szafa/client/strength';
import type { Fault } from './bridge.ts';

const plural = (count: number, one: string, many: string) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
const share = (count: number, all: number) =>
  `${count.toLocaleString('en')} of ${plural(all, 'file', 'files')}`;

export const text = {
  name: 'szafa',
  tagline: 'Your files, locked before they leave this page.',

  enter: {
    signIn: 'Sign in',
    register: 'Create an account',
    username: 'Username',
    password: 'Password',
    repeat: 'Repeat password',
    invite: 'Invitation',
    inviteRule: 'New accounts need one here. Whoever runs this server can give you one.',
    disabled: 'This account is disabled. Ask whoever runs this server.',
    closed: 'This server takes no new accounts.',
    uninvited: 'This invitation is not valid: it may have been used already, or have expired.',
    usernameRule: '3 to 32 letters, digits or underscores',
    passwordRule: `At least ${SECRET_CHARS.min} characters, and hard to guess. A few unrelated words are good.`,
    show: 'Show the password',
    hide: 'Hide the password',
    noReset:
      'The password never leaves this page, and the server cannot reset it. Without it nobody can open your files, not even you.',
    understood: 'I have saved my password somewhere safe',
    toRegister: 'New here? Create an account',
    toSignIn: 'Have an account? Sign in',
    working: 'Unlocking…',
    wrong: 'Wrong username or password.',
    taken: 'This username is already taken.',
    different: 'The passwords do not match.',
    weak: {
      short: `Use at least ${SECRET_CHARS.min} characters.`,
      long: `Use at most ${SECRET_CHARS.max} characters.`,
      guessable:
        'This password is too easy to guess. Use a few unrelated words, or a dozen random characters.',
    },
    points: ['Encrypted in this page', 'File names are encrypted too', 'Nobody else has the key'],
  },

  insecure: {
    title: 'This address is not secure',
    why: 'Your browser allows encryption only on pages that come over HTTPS or from this machine. This page came over plain HTTP, so it cannot encrypt, and does not ask for your password.',
    what: 'What to do',
    steps: [
      'Open the same address with https://, if the server has a certificate.',
      'If you run the server: set SZ_TLS_CERT and SZ_TLS_KEY, or put it behind a TLS proxy.',
      'On the machine itself, http://localhost works.',
    ],
  },
  unsupported: {
    title: 'This browser is too old',
    why: 'szafa needs a browser from this year or last year: a current Chrome, Edge, Firefox or Safari.',
    what: 'Update this browser, or open this address in another one.',
    lacks: (names: string[]) => `It lacks: ${names.join(', ')}.`,
  },

  bar: {
    filter: 'Filter by name',
    clearFilter: 'Clear the filter',
    account: 'Account',
    signOut: 'Sign out',
    menu: 'Folders',
    about: 'About szafa',
  },

  places: {
    title: 'Folders',
    all: 'All files',
    root: 'Unfiled',
    make: 'New folder',
    makeName: 'Name of the folder',
    makeDo: 'Create',
    taken: 'A folder with this name already exists.',
    unverifiedHint: 'Made by another program: its name is not encrypted and could have been changed.',
    remove: (name: string) => `Delete the folder ${name}`,
    removeTitle: 'Delete the folder?',
    removeBody: (count: number) =>
      count === 0 ? 'It is empty.' : `${plural(count, 'file', 'files')} in it will be kept, as unfiled.`,
    removeDo: 'Delete the folder',
  },

  quota: {
    label: 'Space used',
    of: (used: string, all: string) => `${used} of ${all}`,
    over: 'Your space is used up',
  },

  list: {
    label: 'Files',
    count: (count: number) => plural(count, 'file', 'files'),
    found: share,
    name: 'Name',
    size: 'Size',
    date: 'Added',
    acts: 'Actions',
    select: (name: string) => `Select ${name}`,
    selectAll: 'Select all',
    unverified: 'Plain name',
    unverifiedHint: 'Uploaded by another program: its name is not encrypted and could have been changed.',
    problem: 'Failed verification',
    problemHint: 'The server changed or mixed up this record. Do not trust it.',
    more: (name: string) => `More actions for ${name}`,
    loading: 'Opening your files…',
    emptyTitle: 'Nothing here yet',
    emptyBody: 'Drop files or folders anywhere on this page. They are encrypted before they are sent.',
    emptyDir: 'This folder is empty',
    noMatch: (filter: string) => `No name contains “${filter}”`,
    noMatchBody: 'The filter searches only the names in this view.',
    failedTitle: 'The list could not be loaded',
    retry: 'Try again',
  },

  actions: {
    upload: 'Upload files',
    uploadFolder: 'Upload a folder',
    uploadShort: 'Upload',
    preview: 'Preview',
    download: 'Download',
    move: 'Move',
    copy: 'Make a copy',
    remove: 'Delete',
    selected: (count: number) => `${count.toLocaleString('en')} selected`,
    clear: 'Clear the selection',
    cancel: 'Cancel',
    close: 'Close',
  },

  remove: {
    title: (count: number) =>
      count === 1 ? 'Delete this file?' : `Delete ${plural(count, 'file', 'files')}?`,
    body: 'This can’t be undone: the encrypted data is deleted from the server.',
    doing: (count: number, all: number) => `Deleting: ${share(count, all)}`,
    done: (count: number) => (count === 1 ? 'Deleted' : `${plural(count, 'file', 'files')} deleted`),
    failed: (count: number, all: number, why: string) => `${share(count, all)} could not be deleted. ${why}`,
  },
  move: {
    title: (count: number) => (count === 1 ? 'Move to' : `Move ${plural(count, 'file', 'files')} to`),
    do: 'Move',
    doing: (count: number, all: number) => `Moving: ${share(count, all)}`,
    done: (count: number) => (count === 1 ? 'Moved' : `${plural(count, 'file', 'files')} moved`),
    failed: (count: number, all: number, why: string) => `${share(count, all)} could not be moved. ${why}`,
  },
  copy: {
    title: (count: number) => (count === 1 ? 'Copy to' : `Copy ${plural(count, 'file', 'files')} to`),
    do: 'Copy',
    doing: (count: number, all: number) => `Copying: ${share(count, all)}`,
    done: (count: number) => (count === 1 ? 'Copied' : `${plural(count, 'file', 'files')} copied`),
    failed: (count: number, all: number, why: string) => `${share(count, all)} could not be copied. ${why}`,
  },

  leave: {
    title: 'Sign out now?',
    body: (uploads: number, downloads: number) => {
      const counts = [
        uploads > 0 && plural(uploads, 'upload', 'uploads'),
        downloads > 0 && plural(downloads, 'download', 'downloads'),
      ];
      const stopped = `${counts.filter(Boolean).join(' and ')} will be cancelled.`;
      if (uploads === 0) return stopped;
      return `${stopped} Signing out deletes everything that this browser has stored, so an unfinished upload starts again from the beginning after the next sign-in.`;
    },
  },

  preview: {
    none: 'There is no preview for this kind of file.',
    cut: 'This shows only the beginning. Download the file to see all of it.',
    opening: 'Opening…',
    failed: 'The preview could not be shown.',
    ahead: 'added in the future: is a clock wrong?',
    previous: 'Previous file',
    next: 'Next file',
  },

  transfers: {
    title: 'Transfers',
    hide: 'Hide transfers',
    show: 'Show transfers',
    clear: 'Clear finished',
    pauseAll: 'Pause all',
    resumeAll: 'Resume all',
    pause: (name: string) => `Pause ${name}`,
    resume: (name: string) => `Resume ${name}`,
    retry: (name: string) => `Try ${name} again`,
    cancel: (name: string) => `Cancel ${name}`,
    dismiss: (name: string) => `Remove ${name} from the list`,
    choose: (name: string) => `Choose ${name} again`,
    waiting: 'Waiting',
    stalled: 'Waiting for the server',
    upload: 'Sending',
    download: 'Receiving',
    paused: 'Paused',
    doneUpload: 'Uploaded',
    doneDownload: 'Downloaded',
    interrupted: 'Interrupted: choose the file again to resume',
    interruptedHandle: 'Interrupted',
    rate: (rate: string) => `${rate}/s`,
    left: (time: string) => `${time} left`,
    otherFile: 'This is a different file: its name, size or time does not match.',
    noWorker: 'This browser cannot stream downloads to disk here. A private window may be the reason.',
  },

  drop: { title: 'Drop to upload', into: (place: string) => `into ${place}` },

  state: {
    offline: 'You are offline. Uploads resume when the connection is back.',
    unreachable: 'The server does not answer.',
    back: 'The server is back.',
    expired: 'Your session ended. Please sign in again.',
    elsewhere: 'You signed out in another tab.',
    starting: 'Opening szafa…',
    leaving: 'Signing out…',
  },

  about: {
    title: 'About szafa',
    lines: [
      'Files are encrypted here, in this page, and split into volumes. The server stores the volumes and has no key.',
      'Names of files and folders are encrypted too. The server can see sizes, times, how many files there are, and which are in the same folder.',
      'Files cannot be renamed: a name is encrypted together with the contents, so that nobody can swap two names. To rename a file, upload it again under the new name.',
      'Folders here have one level. The folders inside a folder that you drop become part of the file names.',
      'Keys stay in this browser until you sign out, in a form that cannot be exported. If the server changed this page, the page could still use them.',
    ],
    command: 'Command line',
    commandHow: 'On a machine with Node 26:',
    commandDigest: 'SHA-256 of the file:',
    keys: 'Keyboard',
    shortcuts: [
      ['↑ ↓', 'Move through the list'],
      ['Enter', 'Preview'],
      ['Space', 'Select'],
      ['Ctrl A', 'Select all'],
      ['Delete', 'Delete'],
      ['/', 'Filter'],
      ['U', 'Upload'],
      ['Esc', 'Clear the selection, close'],
    ],
    docs: 'API reference',
  },
} as const;

const STATUS: Record<number, string> = {
  400: 'The server did not accept this.',
  401: text.state.expired,
  403: 'The server does not allow this.',
  404: 'This no longer exists.',
  413: 'The file has too many volumes.',
  429: 'Too many attempts. Wait a minute and try again.',
  500: 'The server had an error. Try again.',
  503: 'The server is busy. Try again.',
  507: 'There is not enough space left.',
};

const CODES: Record<string, string> = {
  network: 'The server cannot be reached.',
  'not-the-service': 'This address isn’t answering as szafa.',
  'wrong-password': 'The password does not open the files of this account.',
  locked: 'You are signed out.',
  gone: 'This no longer exists.',
  tampered: 'This was changed since it was uploaded, so it was not opened.',
  keys: 'The server gave other keys than it had before, so nothing was opened. Do not use it until you know why.',
  unsupported: 'This was made by another program or a newer version. Open it there.',
  'file-changed': 'The file changed while it was being uploaded.',
  'too-long': 'The server sent more than it should.',
  stopped: 'Stopped.',
  refused: 'The browser refused or cancelled this download.',
  'part-missing': 'A part of this page could not be loaded. Reload the page.',
};

/** What a person reads about a failure; `here` is what a status means where it came up. */
export function explain(fault: Fault, here: Record<number, string> = {}): string {
  const { status = 0 } = fault;
  if (fault.code === 'api') return here[status] ?? STATUS[status] ?? `The server refused: ${fault.message}`;
  // Rules of the API say directory; on the page that is a folder.
  if (fault.code === 'rule' || fault.code === 'name')
    return sentence(fault.message.replace('directory', 'folder'));
  return CODES[fault.code] ?? sentence(fault.message);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`;
}
