/** English text for sharing with accounts and for file requests, loaded with the components that show it. */
import type { Tools } from '../../core/text/language.ts';

export function en({ number, plural }: Tools) {
  const files = (count: number) => plural(count, { one: 'file', other: 'files' });
  return {
    linkTrust:
      'The key is the part after the #, which browsers don’t send to the server. But the page the link opens comes from the server, and a hostile server could send a page that steals the key. For stronger protection, use the CLI: szafa get LINK',
    links: 'Shared links',
    received: {
      list: 'Shared with you',
      empty: 'Nothing shared with you yet',
      emptyBody: 'Other users on this server can share files with you by your username. They appear here.',
      from: (name: string) => `from ${name}`,
      unnamed: 'Unnamed',
      left: (count: number) =>
        count === 0
          ? 'download limit reached'
          : `${plural(count, { one: 'download', other: 'downloads' })} left`,
      missing: (count: number) => `${files(count)} deleted by the owner`,
      verified: 'Verified',
      notVerified: 'Not verified',
      notTrusted: 'Not opened',
      show: (name: string) => `Show files of ${name}`,
      hide: (name: string) => `Hide files of ${name}`,
      note: 'Message',
      changed: (name: string) =>
        `The keys of ${name} have changed: the account was created again, or somebody, perhaps the server, is impersonating ${name}. This share wasn’t opened.`,
      changedNext: 'Check the keys',
      broken: (name: string) =>
        `This wasn’t signed by ${name}, or it was changed on the way, so it wasn’t opened. Ask ${name} to share it again.`,
      unsupported:
        'This was made by a newer version, so it wasn’t opened. Reload the page, or open it there.',
      over: {
        expired: 'This share has expired. Ask its owner to share it again.',
        'used up': 'This share has reached its download limit. Ask its owner to share it again.',
        ended: 'Its owner stopped sharing it, or deleted the files.',
        unknown: 'This is no longer shared with you: its owner stopped sharing it, or deleted the files.',
      },
      removeOf: (name: string) => `Remove ${name}`,
      remove: 'Remove',
      removeTitle: 'Remove this share?',
      removeBody:
        'It’s removed from your list for good, and its owner can see that. Files you’ve downloaded stay with you.',
    },
    contacts: {
      title: 'Contacts and fingerprints',
      show: 'Show fingerprints',
      own: 'Your fingerprint',
      ownHint: 'Read it out to your contacts, so that they can compare it with what they see for you.',
      others: 'Your contacts',
      none: 'No contacts yet.',
      why: 'A server could replace somebody’s keys with its own and read what you share with them. If both of you see the same fingerprints, it hasn’t. Compare them in person or on the phone, not through this server.',
      remembered:
        'This browser remembers the keys of every account it has seen, even after you sign out, and never uses other keys without your consent.',
      verified: 'Verified',
      notVerified: 'Not verified',
      changed: 'Keys changed',
      verify: 'Mark as verified',
      verifyOf: (name: string) => `Mark as verified: ${name}`,
      nowVerified: (name: string) => `${name} is verified.`,
      acceptOf: (name: string) => `Accept the new keys of ${name}`,
      acceptWhy: (name: string) =>
        `The keys of ${name} have changed: the account was created again, or somebody, perhaps the server, is impersonating ${name}. Nothing is shared or opened with the new keys.`,
      acceptHow: (name: string) =>
        `Ask ${name}, in person or on the phone, to read out their fingerprint, and enter it here. It’s compared with the new keys, which aren’t shown.`,
      typed: (name: string) => `Fingerprint read out by ${name}`,
      typedHint: '60 digits. Spaces don’t matter.',
      accept: 'Accept these keys',
      accepted: (name: string) => `The new keys of ${name} are accepted.`,
      name: 'Username',
      find: 'Find contact',
    },
    /** The dialog that shares with an account. */
    give: {
      to: 'Share with',
      ways: {
        link: 'Anyone with the link',
        account: 'A user on this server',
      } as Record<'link' | 'account', string>,
      what: 'Only this user can get the files, as they are now. Later changes aren’t shared.',
      name: 'Username',
      nameHint:
        'The first time, the server provides this user’s keys. This browser remembers them and uses no others.',
      do: 'Share',
      doing: 'Sharing…',
      made: (name: string) => `Shared with ${name}`,
      done: (name: string) => `${name} finds it under “Shared with me”, or with the CLI: szafa shared`,
      later: 'Find it later under “Shared”, where you can also stop sharing.',
      first: (name: string) =>
        `The server provided the keys of ${name}, and this browser remembers them. To be sure that they belong to ${name}, compare this fingerprint with the one ${name} sees as their own:`,
      verified: (name: string) => `You’ve verified the keys of ${name}.`,
      changed: (name: string) =>
        `Nothing was shared: the keys of ${name} have changed. The account was created again, or somebody, perhaps the server, is impersonating ${name}.`,
      changedNext: 'Check the keys',
    },
    requests: {
      title: 'File requests',
      do: 'Request files',
      what: 'Anyone with the link can send you files, without an account. They’re encrypted for you before they leave the sender’s device, and wait under “Shared” until you save them.',
      folder: 'Save to folder',
      choose: 'Choose this folder',
      mostFiles: 'Maximum files',
      mostBytes: 'Maximum total size (GB)',
      made: 'Request link created',
      anyone: 'Anyone with this link can send you files, but can’t see what others sent.',
      trust:
        'The page the link opens comes from the server, and a hostile server could send a page that reads the files before they’re encrypted. For stronger protection, senders can use the CLI: szafa put FILE --to LINK',
      tooMany: 'You’ve reached the limit of file requests. Remove some of them first.',
      received: (count: number, all: number) => `${number(count)} of ${files(all)} received`,
      uploading: (count: number) => `${number(count)} uploading`,
      over: { expired: 'expired', 'used up': 'full', ended: 'closed' },
      copyOf: (name: string) => `Copy link for ${name}`,
      endOf: (name: string) => `Close request for ${name}`,
      end: 'Close request',
      endTitle: 'Close this request?',
      endBody: 'Its link stops working at once. Files you’ve received stay.',
      done: 'Request closed.',
      deliveries: 'Received',
      deliveriesHint:
        'These files come from others, so open them with care. The senders chose their names and dates. They count towards your storage, and appear in your folders once you save them.',
      into: (folder: string) => `for ${folder}`,
      save: 'Save to my files',
      saveOf: (name: string) => `Save ${name} to my files`,
      saveAll: (count: number) => (count === 1 ? 'Save to my files' : `Save all (${number(count)})`),
      saved: (count: number) => `${files(count)} saved.`,
      delete: 'Delete forever',
      deleteOf: (name: string) => `Delete ${name}`,
      deleteTitle: 'Delete this file forever?',
      deleteBody: 'You can’t undo this. It doesn’t go to the trash.',
      deleted: 'Deleted.',
    },
    codes: {
      'no-contact':
        'No user with that name. Names are case-sensitive, and a user must have signed in at least once.',
      'no-such-keys':
        'This browser doesn’t support the keys that sharing needs. Use a newer one, or the CLI: szafa shared',
      'own-account': 'That’s you. Enter somebody else’s name.',
      'contact-changed': 'The keys have changed.',
      'not-seen': 'These keys haven’t been shown here yet. Look at them first, then compare.',
      fingerprint: 'A fingerprint has 60 digits.',
      'other-fingerprint':
        'This doesn’t match the keys the server sent. Don’t share anything with this user until you know why: somebody, perhaps the server, may be impersonating them.',
    },
    tooOften: 'Too many lookups. Try again in a minute.',
  };
}

export type SharingWords = ReturnType<typeof en>;
