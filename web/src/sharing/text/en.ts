/** English words for what accounts share with each other, and for their keys. They are loaded with the parts that show them. */
import type { Tools } from '../../core/text/language.ts';

export function en({ number, plural }: Tools) {
  const files = (count: number) => plural(count, { one: 'file', other: 'files' });
  return {
    linkHonest:
      'The key is behind the #, which browsers do not send to the server. But the page that a link opens comes from the server: a hostile one could serve a page that takes the key. The command cannot be fooled so: szafa get LINK',
    received: {
      list: 'What others share with you',
      empty: 'Nobody shares anything with you',
      emptyBody: 'Others of this server can share files with you by your name. You find them here.',
      from: (name: string) => `from ${name}`,
      unnamed: 'Unnamed',
      left: (count: number) =>
        count === 0 ? 'downloaded as often as allowed' : `${number(count)} more to download`,
      missing: (count: number) => `${files(count)} deleted by their owner since`,
      compared: 'keys compared',
      notCompared: 'keys not compared',
      notTrusted: 'not opened',
      show: (name: string) => `Show the files of ${name}`,
      hide: (name: string) => `Hide the files of ${name}`,
      note: 'Note',
      changed: (name: string) =>
        `This came with other keys than ${name} had before: the account was made anew, or somebody, perhaps the server, pretends to be ${name}. It was not opened.`,
      changedNext: 'Look at the keys',
      broken: (name: string) =>
        `This was not signed by ${name}, or was changed on the way, so it was not opened. Ask ${name} to share it again.`,
      unsupported:
        'This was made by a newer version, so it was not opened. Reload the page, or open it there.',
      over: {
        expired: 'This has expired. Ask its owner to share it again.',
        'used up': 'This was downloaded as often as its owner allowed. Ask them to share it again.',
        ended: 'Its owner has ended this, or the files are gone.',
        unknown: 'This is no longer shared with you: its owner has ended it, or the files are gone.',
      },
      putAwayOf: (name: string) => `Put ${name} away`,
      putAway: 'Put away',
      putAwayTitle: 'Put this away?',
      putAwayBody:
        'It leaves your list for good, and its owner sees that it has ended. What you have downloaded stays with you.',
    },
    contacts: {
      title: 'Contacts and fingerprints',
      show: 'Show fingerprints',
      own: 'Your fingerprint',
      ownHint: 'Read it out to those you share with, so that they can compare it with what they see of you.',
      others: 'Those you share with',
      none: 'You share with nobody yet, and nobody with you.',
      why: 'A server could give its own keys for somebody’s name, and read what you share with them. If both of you see the same fingerprints, it does not. Compare them in another way than by this server: face to face, or on the phone.',
      remembered:
        'This browser remembers the keys of each account that it has seen, after you sign out as well, and uses no others without your consent.',
      compared: 'compared',
      notCompared: 'not compared',
      changed: 'other keys than before',
      same: 'I have compared it',
      sameOf: (name: string) => `I have compared it: ${name}`,
      nowCompared: (name: string) => `The keys of ${name} count as compared from now on.`,
      renew: (name: string) => `Accept the new keys of ${name}`,
      renewWhy: (name: string) =>
        `The keys that the server gives for ${name} are not those of before. The account was made anew, or somebody, perhaps the server, pretends to be ${name}. Nothing is shared and nothing is opened with them.`,
      renewHow: (name: string) =>
        `Ask ${name}, in another way than by this server, to read out their own fingerprint. Type what they say: it is compared with the new keys, which are not shown here.`,
      typed: (name: string) => `Fingerprint, as ${name} reads it out`,
      typedHint: '60 digits; blanks do not matter',
      accept: 'Accept these keys',
      accepted: (name: string) => `These are the keys of ${name} from now on.`,
      find: 'Name of an account',
      look: 'Look at the keys',
    },
    /** Sharing with an account. */
    give: {
      to: 'Who gets it',
      ways: {
        link: 'whoever has the link',
        account: 'an account of this server',
      } as Record<'link' | 'account', string>,
      what: 'That account, and nobody else, gets these files as they are now. Later changes are not shared.',
      name: 'Name of the account',
      nameHint:
        'The first time, the keys that the server gives for this name are used and remembered; from then on no others are.',
      note: 'Note',
      do: 'Share',
      doing: 'Sharing…',
      made: (name: string) => `Shared with ${name}`,
      done: (name: string) => `${name} finds it under “Shared with me”, or with the command: szafa shared`,
      later: 'You find it under “Shared”, where you can end it.',
      first: (name: string) =>
        `The keys of ${name} are those that the server gave, and this browser remembers them. To be sure that they belong to ${name}, compare this fingerprint with what ${name} sees as their own:`,
      compared: (name: string) => `Its keys are those that you have compared with ${name}.`,
      changed: (name: string) =>
        `Nothing was shared: the keys that the server gives for ${name} are not those of before. The account was made anew, or somebody, perhaps the server, pretends to be ${name}.`,
      changedNext: 'Look at the keys',
    },
    /** What the account asks others for. */
    asks: {
      ask: 'Ask for files',
      links: 'What you share',
      requests: 'What you ask for',
      what: 'Whoever has the link can send you files, without an account. They are encrypted for you before they leave the sender, and wait under “Shared” until you take them over.',
      where: 'Folder for what comes',
      choose: 'Choose this folder',
      most: 'Files, at most',
      size: 'GB in all, at most',
      note: 'Note for those who send',
      made: 'The link for those who send',
      whoever: 'Give it to whom you like: whoever has it can send you files, and read none of them.',
      honest:
        'The page that the link opens comes from the server: a hostile one could serve a page that reads the files before they are encrypted. The command cannot be fooled so: szafa put FILE --to LINK',
      tooMany: 'You ask for too much already. End some of your requests first.',
      came: (count: number, all: number) => `${number(count)} of ${files(all)} came`,
      coming: (count: number) => `${number(count)} on the way`,
      over: { expired: 'expired', 'used up': 'full', ended: 'ended' },
      copyOf: (name: string) => `Copy the link for ${name}`,
      endOf: (name: string) => `End the request for ${name}`,
      end: 'End the request',
      endTitle: 'End this request?',
      endBody: 'From then on nobody sends anything by its link. What has come stays.',
      done: 'The request has ended.',
      deliveries: 'What came',
      deliveriesHint:
        'Others have sent this: look at it with care. Names and times are what the senders say. It counts in your space, and is in your folders once you take it over.',
      into: (folder: string) => `for ${folder}`,
      take: 'Take over',
      takeOf: (name: string) => `Take ${name} over`,
      takeAll: (count: number) => (count === 1 ? 'Take it over' : `Take all ${number(count)} over`),
      taken: (count: number) => `${files(count)} taken over.`,
      drop: 'Delete for good',
      dropOf: (name: string) => `Delete ${name}`,
      dropTitle: 'Delete this for good?',
      dropBody: 'It does not go through the trash, and nobody can bring it back.',
      dropped: 'Deleted.',
    },
    codes: {
      'no-contact':
        'There is no such account that something could be shared with. Ask for the exact name: large and small letters count. An account has keys from its first sign-in on.',
      'no-such-keys':
        'This browser does not know the kind of keys by which accounts share. Use a newer one, or the command: szafa shared',
      'own-account': 'These are your own files. Share them with somebody else.',
      'contact-changed': 'The keys are not those of before.',
      'not-seen': 'These keys were not shown here yet. Look at them again, then compare.',
      fingerprint: 'A fingerprint has 60 digits.',
      'other-fingerprint':
        'The keys that the server gives have another fingerprint. Share nothing with this account until you know why: somebody, perhaps the server, may pretend to be its owner.',
    },
    tooOften: 'You have asked for too many names. Try again in a minute.',
  };
}

export type SharingWords = ReturnType<typeof en>;
