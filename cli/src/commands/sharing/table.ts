import type { CommandTable } from '../../command.ts';

const MANY = Number.POSITIVE_INFINITY;

/** Commands of what is shared; part of the table of all. */
export const shareCommands: CommandTable = {
  share: {
    usage: 'PATH…',
    summary: 'give others files or folders: by a link, or with --with to an account of this server',
    details: [
      'Whoever has the link has the files, as they are now: a file that is uploaded anew later is another one. The server learns neither their names nor what opens them; what stands behind the # is never sent to it. A hostile server could serve a page that takes it, when somebody opens the link in a browser; szafa get LINK cannot be fooled so.',
      'A passphrase, told in another way, protects against somebody who only gets hold of the link. The link outlives renames and a new password, and ends with the files.',
      'With --with nobody but that account gets them: what opens them is sealed for its key, and signed with yours. The first time, the key that the server gives for the name is believed and kept; from then on another key stops the command. To be sure from the beginning, compare fingerprints: szafa contact NAME.',
    ],
    options: ['with', 'expires', 'downloads', 'passphrase', 'note'],
    args: [1, MANY],
    examples: [
      ['szafa share film.mkv', 'prints the link'],
      ['szafa share photos --expires 7d', 'a folder, for a week'],
      ['szafa share a.pdf b.pdf --downloads 3 --passphrase', ''],
      ['szafa share photos --with bob', 'bob finds them with: szafa shared'],
    ],
    completes: 'path',
    load: () => import('./share.ts'),
  },
  shares: {
    usage: '[ID]',
    summary: 'show what you share; with an ID, its link again',
    options: [],
    args: [0, 1],
    examples: [
      ['szafa shares', ''],
      ['szafa shares Zk3pQ0aB', 'the link and its QR code'],
    ],
    load: () => import('./shares.ts'),
  },
  unshare: {
    usage: 'ID|LINK…',
    summary: 'end what you share: nobody gets it any more; or put away what is shared with you',
    options: [],
    args: [1, MANY],
    examples: [['szafa unshare Zk3pQ0aB', '']],
    load: () => import('./unshare.ts'),
  },
  shared: {
    usage: '[ID]',
    summary: 'show what others share with you; with an ID, the files in it',
    details: [
      'Each is signed by whoever shares it; what is not, or by other keys than before, is shown as such and not opened. szafa get --from NAME downloads it.',
    ],
    options: [],
    args: [0, 1],
    examples: [
      ['szafa shared', ''],
      ['szafa shared Zk3pQ0aB', ''],
    ],
    load: () => import('./shared.ts'),
  },
  contact: {
    usage: '[NAME]',
    summary: 'show the fingerprint of your keys, and of those of another account, to compare them',
    details: [
      'A server could give its own key for the name of somebody else, and read what you share. Both of you see the same two fingerprints if it does not: compare them in another way than by this server, on the phone for instance, then tell with --verify.',
      'Keys that are not those of before stop whatever would use them: the account was made anew, or somebody pretends to be its owner. Ask the owner for the fingerprint, and only if it is the one that is shown: --accept.',
    ],
    options: ['verify', 'accept'],
    args: [0, 1],
    examples: [
      ['szafa contact', 'your own'],
      ['szafa contact bob', ''],
      ['szafa contact bob --verify', ''],
    ],
    load: () => import('./contact.ts'),
  },
  request: {
    usage: 'FOLDER',
    summary: 'make a link by which others upload into a folder of yours, without an account',
    details: [
      'Whoever has the link can upload, within the number of files, their size together, and the time; what comes counts for your quota. It is sealed for you alone: neither the server nor another visitor can read it. What stands behind the # of the link is never sent to the server.',
      'What came is in no list before you take it over: szafa deliveries shows it, and with --take makes it files of your own in FOLDER, each with a number behind its name if that is taken.',
    ],
    options: ['expires', 'files', 'size', 'note'],
    args: [1, 1],
    examples: [
      ['szafa request homework', 'prints the link'],
      ['szafa request photos/wedding --expires 14d --files 500 --size 20G', ''],
    ],
    completes: 'path-folder',
    load: () => import('./request.ts'),
  },
  requests: {
    usage: '[ID]',
    summary: 'show what you ask for by links, and how much has come; with an ID, its link again',
    options: [],
    args: [0, 1],
    examples: [['szafa requests', '']],
    load: () => import('./requests.ts'),
  },
  unrequest: {
    usage: 'ID|LINK…',
    summary: 'end requests: nobody uploads by these links any more; what came stays',
    options: [],
    args: [1, MANY],
    examples: [['szafa unrequest Zk3pQ0aB', '']],
    load: () => import('./unrequest.ts'),
  },
  deliveries: {
    usage: '[ID…]',
    summary:
      'show what came by your requests; with --take, make it files of your own, with --drop, delete it',
    details: [
      'What came counts for your quota until it is dropped. --drop needs IDs, or --all, and asks before it deletes.',
    ],
    options: ['take', 'dir', 'drop', 'all'],
    args: [0, MANY],
    examples: [
      ['szafa deliveries', ''],
      ['szafa deliveries --take', 'each into the folder of its request'],
      ['szafa deliveries --drop 4f1c09ab', ''],
    ],
    load: () => import('./deliveries.ts'),
  },
};
