/** Commands for sharing with others. */
import type { CommandTable } from '../../command.ts';

export const sharingCommands = {
  share: {
    usage: 'PATH…',
    summary: 'share files and folders by a link, or with an account of this server',
    details: [
      'Anyone with the link gets the files as they are now; a later version is not shared. The server learns neither their names nor their keys: the part after the # is never sent to it. Recipients see the names, but not the folders that the files are in.',
      'Send a passphrase separately from the link: it protects against someone who only gets hold of the link. Renaming files or changing the password does not break a link; deleting the files does.',
      'A hostile server could steal the key when someone opens the link in a browser. szafa get LINK is safe from that.',
      'With --with only that account can open the files. The first time, the key that the server gives for the name is trusted and stored; a different key later stops the command. To be sure from the beginning, compare fingerprints: szafa contact NAME.',
    ],
    options: ['with', 'expires', 'downloads', 'passphrase', 'note'],
    examples: [
      'szafa share film.mkv  # prints the link',
      'szafa share photos --expires 7d  # a folder, for a week',
      'szafa share a.pdf b.pdf --downloads 3 --passphrase',
      'szafa share photos --with bob  # bob finds them with: szafa shared',
    ],
    completes: 'path',
    load: () => import('./share.ts').then((file) => file.share),
  },
  shares: {
    usage: '[ID]',
    summary: 'show what you share; with an ID, its link again',
    examples: ['szafa shares', 'szafa shares Zk3pQ0aB  # the link and its QR code'],
    load: () => import('./shares.ts').then((file) => file.shares),
  },
  unshare: {
    usage: 'ID|LINK…',
    summary: 'stop sharing, or remove a share from the list of those shared with you',
    examples: ['szafa unshare Zk3pQ0aB'],
    load: () => import('./shares.ts').then((file) => file.unshare),
  },
  shared: {
    usage: '[ID]',
    summary: 'show what others share with you; with an ID, its files',
    details:
      'Each share is signed by its sender. One that is not, or that is signed with other keys than before, is marked and not opened. szafa get --from NAME downloads the files.',
    examples: ['szafa shared', 'szafa shared Zk3pQ0aB'],
    load: () => import('./shares.ts').then((file) => file.shared),
  },
  contact: {
    usage: '[NAME]',
    summary: 'show the fingerprint of your keys, or of another account, to compare them',
    details: [
      'A hostile server could give its own key for a name, and read what you share. Compare both fingerprints with the owner of the account by another channel, for instance on the phone; if they are the same, use --verify.',
      'Changed keys stop every command that would use them: the account was created again, or someone impersonates its owner. Ask the owner for the fingerprint, and use --accept only if it is the one shown.',
    ],
    options: ['verify', 'accept'],
    examples: ['szafa contact  # your own', 'szafa contact bob', 'szafa contact bob --verify'],
    load: () => import('./contact.ts').then((file) => file.contact),
  },
  request: {
    usage: 'FOLDER',
    summary: 'create a link by which others upload into a folder of yours, without an account',
    details: [
      'Anyone with the link can upload until a limit is reached: the number of files, their total size, or the time. Uploads count in your quota. They are encrypted for you alone: neither the server nor other visitors can read them.',
      'Uploads are in no list until you save them: szafa deliveries shows them, and --take makes them files of yours in FOLDER.',
    ],
    options: ['expires', 'files', 'size', 'note'],
    examples: [
      'szafa request homework  # prints the link',
      'szafa request photos/wedding --expires 14d --files 500 --size 20G',
    ],
    completes: 'path-folder',
    load: () => import('./requests.ts').then((file) => file.request),
  },
  requests: {
    usage: '[ID]',
    summary: 'show your file requests; with an ID, its link again',
    examples: ['szafa requests'],
    load: () => import('./requests.ts').then((file) => file.requests),
  },
  unrequest: {
    usage: 'ID|LINK…',
    summary: 'end file requests; deliveries stay',
    examples: ['szafa unrequest Zk3pQ0aB'],
    load: () => import('./requests.ts').then((file) => file.unrequest),
  },
  deliveries: {
    usage: '[ID…]',
    summary: 'show, save or delete what others uploaded by your file requests',
    details:
      'Deliveries count in your quota until they are deleted. A name that is taken gets a number. --drop needs IDs, or --all, and asks before it deletes.',
    options: ['take', 'dir', 'drop', 'all'],
    examples: [
      'szafa deliveries',
      'szafa deliveries --take  # each into the folder of its request',
      'szafa deliveries --drop 4f1c09ab',
    ],
    load: () => import('./deliveries.ts').then((file) => file.deliveries),
  },
} satisfies CommandTable;
