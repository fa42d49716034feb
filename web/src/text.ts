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
    repeat: 'Password, once more',
    usernameRule: '3 to 32 letters, digits or underscores',
    passwordRule: `At least ${SECRET_CHARS.min} characters, and hard to guess. A few unrelated words are good.`,
    show: 'Show the password',
    hide: 'Hide the password',
    noReset:
      'The password never leaves this page, and the service cannot reset it. Without it nobody can open your files, not even you.',
    understood: 'I have a safe place for my password',
    toRegister: 'New here? Create an account',
    toSignIn: 'Have an account? Sign in',
    working: 'Deriving your keys…',
    wrong: 'Wrong username or password.',
    taken: 'That username is taken already.',
    different: 'The two passwords differ.',
    weak: {
      short: `Use at least ${SECRET_CHARS.min} characters.`,
      long: `Use at most ${SECRET_CHARS.max} characters.`,
      guessable:
        'This password is too easy to guess. Take a few unrelated words, or a dozen random characters.',
    },
    points: ['Encrypted in this page', 'Names are sealed, too', 'Nobody else has the key'],
  },

  insecure: {
    title: 'This address is not secure',
    why: 'Your browser offers encryption only to pages that reach you over HTTPS or from this very machine. This page came over plain HTTP, so it cannot encrypt, and will not ask for your password.',
    what: 'What to do',
    steps: [
      'Open the same service with https:// in front, if it has a certificate.',
      'Whoever runs it: set SZ_TLS_CERT and SZ_TLS_KEY, or put it behind a proxy with TLS.',
      'On the machine itself, http://localhost works.',
    ],
  },
  unsupported: {
    title: 'This browser is too old',
    why: 'szafa needs a browser of this year or the last: a current Chrome, Edge, Firefox or Safari.',
    what: 'Update this browser, or open this address in another one.',
    lacks: (names: string[]) => `It lacks: ${names.join(', ')}.`,
  },

  bar: {
    filter: 'Filter by name',
    clearFilter: 'Clear the filter',
    account: 'Account',
    signOut: 'Sign out',
    menu: 'Directories',
    about: 'About szafa',
  },

  places: {
    title: 'Directories',
    all: 'All files',
    root: 'Not in a directory',
    make: 'New directory',
    makeName: 'Name of the directory',
    makeDo: 'Create',
    taken: 'That is taken already.',
    unverifiedHint: 'Made by another program: its name is not sealed and could have been changed.',
    remove: (name: string) => `Delete the directory ${name}`,
    removeTitle: 'Delete the directory?',
    removeBody: (count: number) =>
      count === 0
        ? 'It is empty.'
        : `${plural(count, 'file', 'files')} in it will stay, outside of any directory.`,
    removeDo: 'Delete the directory',
  },

  quota: {
    label: 'Space used',
    of: (used: string, all: string) => `${used} of ${all}`,
    over: 'The quota is used up',
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
    unverifiedHint: 'Uploaded by another program: its name is not sealed and could have been changed.',
    problem: 'Does not fit',
    problemHint: 'This record was changed or mixed up by the service. Do not trust it.',
    more: (name: string) => `More for ${name}`,
    loading: 'Opening your files…',
    emptyTitle: 'Nothing here yet',
    emptyBody: 'Drop files or folders anywhere on this page. They are encrypted before they are sent.',
    emptyDir: 'This directory is empty',
    noMatch: (filter: string) => `No name contains “${filter}”`,
    noMatchBody: 'The filter looks at names in this place only.',
    failedTitle: 'The list could not be read',
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
    body: 'There is no bin: the encrypted volumes are removed from the service and cannot be brought back.',
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
      const stopped = `${counts.filter(Boolean).join(' and ')} will be broken off.`;
      if (uploads === 0) return stopped;
      return `${stopped} Signing out removes all that this browser keeps, so after the next sign-in an unfinished upload begins from its start.`;
    },
  },

  preview: {
    none: 'There is no preview for this kind of file.',
    cut: 'Only the beginning is shown. Download the file to see all of it.',
    opening: 'Opening…',
    failed: 'The preview could not be shown.',
    ahead: 'added at a time that has not come yet: is a clock wrong?',
    previous: 'Previous file',
    next: 'Next file',
  },

  transfers: {
    title: 'Transfers',
    hide: 'Fold the list of transfers',
    show: 'Unfold the list of transfers',
    clear: 'Clear finished',
    pauseAll: 'Pause all',
    resumeAll: 'Go on with all',
    pause: (name: string) => `Pause ${name}`,
    resume: (name: string) => `Go on with ${name}`,
    retry: (name: string) => `Try ${name} again`,
    cancel: (name: string) => `Cancel ${name}`,
    dismiss: (name: string) => `Take ${name} off the list`,
    choose: (name: string) => `Choose ${name} again`,
    waiting: 'Waiting',
    stalled: 'Waiting for the service',
    prepare: 'Encrypting',
    send: 'Sending',
    receive: 'Receiving',
    paused: 'Paused',
    doneUpload: 'Uploaded',
    doneDownload: 'Downloaded',
    interrupted: 'Interrupted: choose the file again to go on',
    interruptedHandle: 'Interrupted',
    rate: (rate: string) => `${rate}/s`,
    left: (time: string) => `${time} left`,
    otherFile: 'That is another file: its name, size or time differs.',
    noWorker: 'This browser cannot stream downloads to disk here. A private window may be the reason.',
  },

  drop: { title: 'Drop to upload', into: (place: string) => `into ${place}` },

  state: {
    offline: 'You are offline. Uploads go on when the connection is back.',
    unreachable: 'The service does not answer.',
    back: 'The service is back.',
    expired: 'You were signed out: the session has ended.',
    elsewhere: 'You signed out in another tab.',
    starting: 'Opening szafa…',
    leaving: 'Signing out…',
  },

  about: {
    title: 'About szafa',
    lines: [
      'Files are encrypted here, in this page, and cut into volumes. The service stores the volumes and has no key.',
      'Names of files and directories are sealed, too. What the service can see: sizes, times, how many files there are, and which lie together.',
      'Files cannot be renamed: a name is sealed together with the contents, so that nobody can swap two names. To rename a file, upload it again under the new name.',
      'Directories are flat. A folder that you drop becomes a directory; the folders inside it become part of the names.',
      'Keys stay in this browser until you sign out, in a form whose bytes it gives to nobody. A page that this service changed could still use them.',
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
    docs: 'The interface for programs',
  },
} as const;

const STATUS: Record<number, string> = {
  400: 'The service did not accept this.',
  401: text.state.expired,
  403: 'The service does not allow this.',
  404: 'This is not there any more.',
  413: 'The file has too many volumes.',
  429: 'Too many attempts. Wait a minute and try again.',
  500: 'The service had an error. Try again.',
  503: 'The service is busy. Try again.',
  507: 'There is no space left for this.',
};

const CODES: Record<string, string> = {
  network: 'The service cannot be reached.',
  'not-the-service': 'Something else than szafa answered at this address.',
  'wrong-password': 'The password does not open the files of this account.',
  locked: 'You are signed out.',
  gone: 'This is not there any more.',
  tampered: 'This was changed since it was uploaded, and is refused.',
  unsupported: 'This was made by another program or a newer version, and can only be opened there.',
  'file-changed': 'The file changed while it was being uploaded.',
  'too-long': 'The service answered more than it should.',
  stopped: 'Stopped.',
  refused: 'The browser refused this download or broke it off.',
  'part-missing': 'A part of this page could not be loaded. Reload the page.',
};

/** What a person reads about a failure; `here` is what a status means where it came up. */
export function explain(fault: Fault, here: Record<number, string> = {}): string {
  const { status = 0 } = fault;
  if (fault.code === 'api') return here[status] ?? STATUS[status] ?? `The service refused: ${fault.message}`;
  if (fault.code === 'rule' || fault.code === 'name') return sentence(fault.message);
  return CODES[fault.code] ?? sentence(fault.message);
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`;
}
