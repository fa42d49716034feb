import type { CommandTable } from '../command.ts';

const MANY = Number.POSITIVE_INFINITY;

/** Commands of what is shared; part of the table of all. */
export const shareCommands: CommandTable = {
  share: {
    usage: 'PATH…',
    summary: 'make a link by which others get files or folders, without an account',
    details: [
      'Whoever has the link has the files, as they are now: a file that is uploaded anew later is another one. The server learns neither their names nor what opens them; what stands behind the # is never sent to it. A hostile server could serve a page that takes it, when somebody opens the link in a browser; szafa get LINK cannot be fooled so.',
      'A passphrase, told in another way, protects against somebody who only gets hold of the link. The link outlives renames and a new password, and ends with the files.',
    ],
    options: ['expires', 'downloads', 'passphrase', 'note'],
    args: [1, MANY],
    examples: [
      ['szafa share film.mkv', 'prints the link'],
      ['szafa share photos --expires 7d', 'a folder, for a week'],
      ['szafa share a.pdf b.pdf --downloads 3 --passphrase', ''],
    ],
    completes: 'path',
    load: () => import('../commands/share.ts'),
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
    load: () => import('../commands/shares.ts'),
  },
  unshare: {
    usage: 'ID|LINK…',
    summary: 'end links: nobody gets anything by them any more',
    options: [],
    args: [1, MANY],
    examples: [['szafa unshare Zk3pQ0aB', '']],
    load: () => import('../commands/unshare.ts'),
  },
};
