/**
 * English: all words of the page, and the shape of every other language. One function, so that another language is loaded
 * only where it is spoken. One file, so that whoever reads or changes the words sees all of them.
 */
import type { Tools } from './language.ts';

export function en({ number, plural, secret }: Tools) {
  const files = (count: number) => plural(count, { one: 'file', other: 'files' });
  const folders = (count: number) => plural(count, { one: 'folder', other: 'folders' });
  const sessions = (count: number) => plural(count, { one: 'session', other: 'sessions' });
  const uploads = (count: number) => plural(count, { one: 'upload', other: 'uploads' });
  const downloads = (count: number) => plural(count, { one: 'download', other: 'downloads' });
  const items = (count: number) => plural(count, { one: 'item', other: 'items' });
  const links = (count: number) => plural(count, { one: 'link', other: 'links' });
  const share = (count: number, all: number) => `${number(count)} of ${files(all)}`;
  const startAnew =
    'delete what this browser has stored for this address; that is in its settings, among the data of sites.';
  const stop = 'Otherwise do not use this server until you know why.';

  return {
    name: 'szafa',
    tagline: 'Your files, locked before they leave this page.',

    enter: {
      signIn: 'Sign in',
      register: 'Create an account',
      username: 'Username',
      password: 'Password',
      repeat: 'Repeat password',
      code: 'Code',
      passkeyHint: 'This account has a passkey as second factor.',
      confirmPasskey: 'Use your passkey',
      passkeyAway:
        'The second factor of this account is a passkey, and passkeys cannot be used at this address. Ask whoever runs this server.',
      byPasskey: 'Sign in with a passkey',
      codeHint: 'This account has a second factor: enter the code that your authenticator app shows.',
      invite: 'Invitation',
      inviteRule: 'New accounts need one here. Whoever runs this server can give you one.',
      disabled: 'This account is disabled. Ask whoever runs this server.',
      closed: 'This server takes no new accounts.',
      uninvited: 'This invitation is not valid: it may have been used already, or have expired.',
      usernameRule: '3 to 32 letters, digits or underscores',
      passwordRule: `At least ${secret.min} characters, and hard to guess. A few unrelated words are good.`,
      show: 'Show the password',
      hide: 'Hide the password',
      withKey: 'Make a recovery key',
      withKeyHint:
        'It is the only way back if you lose the password: nobody can reset it. It is shown once, on the next page.',
      noReset:
        'The password never leaves this page, and the server cannot reset it. Without the password and without a recovery key nobody can open your files, not even you.',
      understood: 'I have saved my password somewhere safe',
      toRegister: 'New here? Create an account',
      toSignIn: 'Have an account? Sign in',
      toRecover: 'Forgot your password?',
      working: 'Unlocking…',
      wrong: 'Wrong username or password.',
      otherLetters: (name: string) => `Large and small letters count in names: did you mean ${name}?`,
      taken: 'This username is already taken.',
      different: 'The passwords do not match.',
      weak: {
        short: `Use at least ${secret.min} characters.`,
        long: `Use at most ${secret.max} characters.`,
        guessable:
          'This password is too easy to guess. Use a few unrelated words, or a dozen random characters.',
      },
      points: ['Encrypted in this page', 'File names are encrypted too', 'Nobody else has the key'],
    },

    recover: {
      title: 'Set a new password',
      how: 'With the recovery key that you wrote down when you made the account, or later. Without it nobody can open your files.',
      key: 'Recovery key',
      keyHint: '14 groups of 4 characters. Small letters, blanks and missing hyphens do not matter.',
      next: 'New password',
      after:
        'All sessions and tokens of the account end, a second factor is turned off, and a new recovery key takes the place of this one.',
      do: 'Set the password and sign in',
      wrong: 'The username or the recovery key is wrong.',
      changed:
        'Somebody changed the keys of this account at the same time. If that was you, sign in with what you set there; else try again.',
      unsettled:
        'The server did not answer, so it is not known whether the new password counts. Try to sign in with it; if it works, make a new recovery key under your account. If it does not, try this again.',
    },

    recoveryKey: {
      title: 'Your recovery key',
      what: 'It opens your account if you lose the password. It is shown only now: write it down or print it, and keep it apart from the password. Whoever has it can open your files.',
      copy: 'Copy',
      copied: 'Copied. Paste it into a safe place soon: other programs can read what was copied.',
      notCopied: 'The browser does not allow this. Select the key and copy it by hand.',
      print: 'Print',
      save: 'Save as text',
      written: 'I have written it down',
      skip: 'Go on without it',
      ask: (first: number, second: number) => `Type groups ${first} and ${second} of it`,
      askWhy: 'So that it is certain that you have it.',
      confirm: 'Confirm',
      again: 'Show it again',
      wrong: 'That is not what was shown. Groups are counted from the left.',
      confirmed: 'Good: you have your recovery key.',
      warning:
        'Without a recovery key that you have at hand, whoever forgets the password loses all files. Nobody can help then, not even whoever runs the server. You can make another one later, under your account, as long as you know the password.',
      back: 'Back to the key',
    },

    account: {
      title: 'Account and devices',
      loading: 'Asking the server…',
      currentPassword: 'Current password',
      yourPassword: 'Your password',
      wrongPassword: 'The password is wrong.',
      password: {
        title: 'Password',
        do: 'Change the password',
        next: 'New password',
        after:
          'Nothing is uploaded again. All other sessions and tokens of this account end; other devices sign in with the new password.',
        limits:
          'If somebody else knew the old password, also make new keys: szafa rekey, in the command. The page cannot do that.',
        done: 'The password is changed. All other sessions have ended.',
        same: 'This is the password that you have already.',
      },
      recovery: {
        title: 'Recovery key',
        has: 'There is a recovery key. If you are not sure that you still have it, make a new one.',
        none: 'There is no recovery key: whoever forgets the password loses all files.',
        do: 'Make a new recovery key',
        after: 'It counts once you have confirmed it. A recovery key from before opens nothing from then on.',
      },
      factor: {
        title: 'Second factor',
        on: 'Each sign-in asks for a code of your authenticator app.',
        none: 'A sign-in needs the password only.',
        noneBeside: 'Beside the password a sign-in asks for a passkey, and takes no code.',
        do: 'Ask for a code as well',
        how: 'Scan this with an authenticator app, or type the secret into it. Then enter the code that it shows.',
        picture: 'QR code with the secret',
        secret: 'Secret',
        after: 'The app is needed for each sign-in from now on.',
        withKey: 'If you lose it, only your recovery key brings you back; there are no backup codes.',
        withoutKey: 'If you lose it, you are locked out: this account has no recovery key. Make one first.',
        finish: 'Turn on',
        done: 'From now on a sign-in asks for a code.',
      },
      passkey: {
        title: 'Passkeys',
        none: 'A passkey is a key in your phone, your computer or a security key.',
        do: 'Add a passkey',
        after:
          'From then on a sign-in with the password needs a second factor as well: this passkey will do. Many passkeys also sign in by themselves, without name and password.',
        withCodes: 'The szafa command cannot use passkeys: there the codes of your app go on.',
        withoutCodes:
          'The szafa command cannot use passkeys: it can sign in again only with codes, so turn these on as well if you use it. Where it is signed in now it stays so.',
        withoutKey:
          'If you lose the passkey, you are locked out: this account has no recovery key. Make one first.',
        name: 'Name of the passkey',
        nameHint: 'As you will find it in this list: my phone, the blue key',
        finish: 'Add',
        done: 'The passkey is added, as a second factor. It cannot open your files by itself.',
        doneAlone: 'The passkey is added. It signs in by itself, and opens your files.',
        alone: 'signs in by itself',
        second: 'beside the password',
        used: (when: string) => `last used ${when}`,
        never: 'never used',
        remove: 'Remove',
        removeOf: (name: string) => `Remove ${name}`,
        removed: 'It signs in no more, and other sessions that were opened with it end.',
        gone: 'The passkey is removed.',
      },
      factorOff: {
        do: 'Ask for no code any more',
        finish: 'Turn off',
        done: 'From now on a sign-in needs the password only.',
        doneBeside: 'From now on a sign-in takes no code. It still asks for a passkey.',
        byPasskey: 'Use your passkey instead of a code',
      },
      devices: {
        title: 'Devices and tokens',
        unnamed: 'Unnamed',
        current: 'This browser',
        used: (when: string) => `last used ${when}`,
        usedNow: 'in use now',
        usedToday: 'last used today',
        scope: { full: '', read: 'may only read', append: 'may only add' },
        folder: (name: string) => `only the folder ${name}`,
        oneFolder: 'only one folder',
        ends: (when: string) => `ends ${when}`,
        end: 'End',
        endOf: (name: string) => `End ${name}`,
        endOthers: 'End all others',
        ended: (count: number) => `${sessions(count)} ended`,
      },
      remove: {
        title: 'Delete the account',
        do: 'Delete the account',
        lost: (fileCount: number | undefined, folderCount: number) => {
          const counts = [
            fileCount === undefined ? 'all your files' : files(fileCount),
            folderCount > 0 && folders(folderCount),
          ];
          return `This deletes ${counts.filter(Boolean).join(', ')}, unfinished uploads, your keys, all sessions and tokens, and the account itself. Nobody can bring any of it back, not even whoever runs the server.`;
        },
        name: (name: string) => `Type the name of the account, ${name}`,
        otherName: 'That is not the name of this account.',
      },
    },

    /** What the service shows in place of the account's keys, by the check that failed; what it means, and what to do. */
    keys: {
      service: {
        title: 'This is not the server of before',
        why: 'The server at this address says that it is another one than at your last visit. So your password was not used, and nothing was opened.',
        next: [
          'Ask whoever runs it. A server that is moved stays the same server; one that was set up anew has none of your files.',
          `If it was set up anew, and you want to begin again there: ${startAnew}`,
          stop,
        ],
      },
      rollback: {
        title: 'The server shows older keys than before',
        why: 'This browser has seen newer keys of your account than those that the server gives now. So nothing was opened.',
        next: [
          'Ask whoever runs it: it may have been restored from a backup of before your last change of password or recovery key.',
          `If so, ${startAnew} Then sign in with the password of that time, and change it again.`,
          stop,
        ],
      },
      owner: {
        title: 'The server shows somebody else’s keys',
        why: 'The keys that it gave belong to another account, or to another server. So nothing was opened.',
        next: ['Ask whoever runs it.', 'Do not use this server until you know why.'],
      },
      'no-bag': {
        title: 'The server says that this account has no keys',
        why: 'It had keys, and your files open with them alone. So no new ones were made, and nothing was opened.',
        next: [
          'Ask whoever runs it: it may have lost its database, and szafa-server rescue brings your keys back.',
          `Only if the account was deleted and made anew: ${startAnew}`,
          stop,
        ],
      },
      damaged: {
        title: 'The keys of this account are damaged',
        why: 'The keys that the server gave are broken or were changed. So nothing was opened.',
        next: [
          'Ask whoever runs it: the server may have them in a backup.',
          'Do not use this server until you know why.',
        ],
      },
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
      settings: 'Settings',
      signOut: 'Sign out',
      menu: 'Folders',
      about: 'About szafa',
    },

    settings: {
      title: 'Settings',
      language: 'Language',
      ofBrowser: 'As the browser says',
      colours: 'Colours',
      ofSystem: 'As the system says',
      light: 'Light',
      dark: 'Dark',
      hint: 'These hold for this browser, also after a sign-out.',
    },

    places: {
      title: 'Folders',
      all: 'All files',
      make: 'New folder',
      makeName: 'Name of the folder',
      makeDo: 'Create',
      unverifiedHint: 'Made by another program: its name is not encrypted and could have been changed.',
    },

    quota: {
      label: 'Space used',
      of: (used: string, all: string) => `${used} of ${all}`,
      over: 'Your space is used up',
    },

    list: {
      label: 'Files',
      count: files,
      found: (what: string) => `Found: ${what}`,
      uploading: 'Your files appear here as soon as they are uploaded.',
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
      noMatchBody: 'The search looks at the names of all files and folders.',
      failedTitle: 'The list could not be loaded',
      retry: 'Try again',
    },

    firstSteps: {
      title: 'First steps',
      upload: { title: 'Upload files', why: 'Or drop them here, or paste a picture.' },
      folder: { title: 'Make a folder', why: 'Folders can be inside folders.' },
      recovery: { title: 'Check the recovery key', why: 'Without it a lost password loses all files.' },
      command: { title: 'Get the command', why: 'For backups, and for many or large files.' },
    },

    actions: {
      upload: 'Upload files',
      uploadFolder: 'Upload a folder',
      uploadShort: 'Upload',
      wait: 'Please wait…',
      /** Before the time, in the name of a picture that has none. */
      pasted: 'Pasted',
      preview: 'Preview',
      download: 'Download',
      move: 'Move',
      copy: 'Make a copy',
      remove: 'Delete',
      selected: (count: number) => `${number(count)} selected`,
      clear: 'Clear the selection',
      cancel: 'Cancel',
      close: 'Close',
    },

    rename: {
      title: 'Rename',
      label: 'New name',
      do: 'Rename',
      doing: (count: number, all: number) => `Renaming: ${share(count, all)}`,
      done: () => 'Renamed',
      failed: (why: string) => `It could not be renamed. ${why}`,
      partly: (why: string) => `Not everything was renamed. ${why}`,
      unsure: (why: string) => `It is not known whether it was renamed. ${why}`,
    },
    move: {
      title: (count: number) => (count === 1 ? 'Move to' : `Move ${items(count)} to`),
      do: 'Move',
      doing: (count: number, all: number) => `Moving: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Moved' : `${items(count)} moved`),
      failed: (why: string) => `Nothing was moved. ${why}`,
      partly: (why: string) => `Not everything was moved. ${why}`,
      unsure: (why: string) => `It is not known whether everything was moved. ${why}`,
    },
    copy: {
      title: (count: number) => (count === 1 ? 'Copy to' : `Copy ${items(count)} to`),
      do: 'Copy',
      doing: (count: number, all: number) => `Copying: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Copied' : `${files(count)} copied`),
      failed: (why: string) => `Not everything was copied. ${why}`,
    },
    trash: {
      title: 'Trash',
      when: 'Deleted',
      doing: (count: number, all: number) => `Deleting: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Moved to the trash' : `${items(count)} moved to the trash`),
      failed: (why: string) => `Not everything was moved to the trash. ${why}`,
      empty: 'The trash is empty',
      emptyBody: 'What you delete comes here first, and can be restored for a while.',
      emptyNow: 'Empty the trash',
      leaves: (when: string) => `Deleted for good on ${when}`,
      counts: 'What is here still uses your space, until it is deleted for good.',
    },
    restore: {
      do: 'Restore',
      doing: (count: number, all: number) => `Restoring: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Restored' : `${files(count)} restored`),
      failed: (why: string) => `Not everything was restored. ${why}`,
    },
    /** For good. */
    remove: {
      do: 'Delete for good',
      title: (count: number) =>
        count === 1 ? 'Delete this file for good?' : `Delete ${files(count)} for good?`,
      body: 'This can’t be undone: the encrypted data is deleted from the server.',
      doing: (count: number, all: number) => `Deleting: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Deleted for good' : `${files(count)} deleted for good`),
      failed: (why: string) => `Not everything was deleted. ${why}`,
    },
    versions: {
      title: 'Versions',
      short: (count: number) => `${number(count)} versions`,
      one: 'There is one version of this file. Another one is added when you upload a file of the same name here.',
      current: 'Current',
      restore: (when: string) => `Make the version of ${when} the current one`,
      download: (when: string) => `Download the version of ${when}`,
      remove: (when: string) => `Delete the version of ${when}`,
      restored: 'This version is the current one now',
      restoring: 'Restoring…',
    },
    names: {
      empty: 'A name is needed.',
      slash: 'A name must not contain /',
      dots: 'This is no name.',
      folderTaken: 'A folder with this name already exists.',
      fileTaken: 'A file with this name already exists.',
    },
    collision: {
      title: 'This is there already',
      file: (name: string, folder: string) => `There is a file called ${name} in ${folder}.`,
      folder: (name: string, folder: string) => `There is a folder called ${name} in ${folder}.`,
      skip: 'Skip',
      replace: 'Replace',
      replaceHint: 'What is there stays as an earlier version.',
      both: 'Keep both',
      forAll: (count: number) => `The same for ${number(count)} more`,
    },
    tree: {
      open: 'Open',
      path: 'Path',
      gone: 'This file no longer exists.',
      undo: 'Undo',
      here: 'It is here',
      intoItself: 'A folder cannot be put into itself.',
      makeHere: 'New folder in here',
      counts: (folderCount: number, fileCount: number) =>
        [folderCount > 0 && folders(folderCount), (fileCount > 0 || folderCount === 0) && files(fileCount)]
          .filter(Boolean)
          .join(', '),
    },

    leave: {
      title: 'Sign out now?',
      body: (uploadCount: number, downloadCount: number) => {
        const counts = [
          uploadCount > 0 && uploads(uploadCount),
          downloadCount > 0 && downloads(downloadCount),
        ];
        const stopped = `${counts.filter(Boolean).join(' and ')} will be cancelled.`;
        if (uploadCount === 0) return stopped;
        return `${stopped} Signing out deletes everything that this browser has stored, so an unfinished upload starts again from the beginning after the next sign-in.`;
      },
    },

    layouts: { title: 'View', list: 'List', grid: 'Grid', timeline: 'Pictures by month' },

    preview: {
      none: 'There is no preview for this kind of file.',
      cut: 'This shows only the beginning. Download the file to see all of it.',
      opening: 'Opening…',
      failed: 'The preview could not be shown.',
      empty: 'This file is empty.',
      added: (when: string) => `added ${when}`,
      modified: (when: string) => `changed ${when}`,
      source: 'Show the source',
      larger: 'Larger',
      smaller: 'Smaller',
      fit: 'Fit',
      ahead: 'added in the future: is a clock wrong?',
      previous: 'Previous file',
      next: 'Next file',
    },

    transfers: {
      title: 'Transfers',
      total: 'All transfers',
      finishedOf: share,
      showFinished: (count: number) => `Show ${number(count)} finished`,
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
      linksLeft: (count: number) =>
        `Left out of the zip: ${plural(count, { one: 'symbolic link', other: 'symbolic links' })} that may lead out of the folder.`,
      noWorker: 'This browser cannot stream downloads to disk here. A private window may be the reason.',
    },

    share: {
      title: 'Share',
      do: 'Share',
      what: 'Whoever has the link gets these files as they are now, without an account. Later changes are not shared.',
      ends: 'Ends',
      ended: {
        1: 'after a day',
        7: 'after a week',
        30: 'after 30 days',
        365: 'after a year',
        never: 'when I end it',
      } as Record<'1' | '7' | '30' | '365' | 'never', string>,
      downloads: 'Downloads',
      any: 'any number',
      downloadsHint: 'How often it can be taken. A first look at a file counts as well.',
      passphrase: 'Passphrase',
      passphraseHint: 'If you set one, tell it in another way than the link.',
      note: 'Note for those who open it',
      make: 'Make the link',
      making: 'Making the link…',
      made: 'The link',
      whoever: 'Send it to whom you like. Whoever has it, and the passphrase if you set one, has the files.',
      copy: 'Copy the link',
      copied: 'Copied.',
      notCopied: 'The browser does not allow this. Select the link and copy it by hand.',
      picture: 'QR code of the link',
      later: 'You find it again under “Shared”, where you can end it.',
      off: 'Sharing is switched off on this server.',
      tooMuch: 'You share too much already. End some of your links first.',
    },
    shared: {
      title: 'Shared',
      count: links,
      empty: 'You share nothing',
      emptyBody:
        'Choose files or a folder, then “Share”: by a link others get them without an account, or one account of this server gets them.',
      unnamed: 'Unnamed',
      downloads: (count: number, all: number | null) =>
        all === null ? downloads(count) : `${number(count)} of ${downloads(all)}`,
      until: (when: string) => `until ${when}`,
      endless: 'until you end it',
      /** The account that it is for. */
      to: (name: string) => `for ${name}`,
      passphrase: 'with a passphrase',
      missing: (count: number) => `${files(count)} deleted or in the trash, and not served`,
      over: { expired: 'expired', 'used up': 'used up', ended: 'ended' },
      copyOf: (name: string) => `Copy the link of ${name}`,
      endOf: (name: string) => `End the link of ${name}`,
      endShareOf: (name: string, to: string) => `End the share of ${name} with ${to}`,
      dropOf: (name: string) => `Remove ${name} from the list`,
      end: 'End the link',
      endShare: 'End it',
      endTitle: 'End this link?',
      endShareTitle: (to: string) => `End what you share with ${to}?`,
      endBody: 'From then on nobody gets anything by it. What was downloaded stays with those who have it.',
      done: 'The link has ended.',
      shareDone: 'It has ended.',
    },
    /** What others share with this account. */
    received: { title: 'Shared with me' },
    /** The page that a link leads to. */
    visitor: {
      title: 'Shared with you',
      opening: 'Opening the link…',
      note: 'Note',
      missing: 'deleted by its owner since',
      downloadOf: (name: string) => `Download ${name}`,
      downloadAll: 'Download all as a zip',
      more: (count: number) => `Show ${number(count)} more`,
      passphrase: 'Passphrase',
      open: 'Open',
    },
    /** Why a link opens nothing, and what to do. */
    link: {
      full: {
        title: 'This link takes no more',
        next: 'As much has come as its owner allowed, or this file is larger than what is left. Ask whoever sent it to you.',
      },
      expired: {
        title: 'This link has expired',
        next: 'Ask whoever sent it to you for a new one.',
      },
      'used up': {
        title: 'This link is used up',
        next: 'It was downloaded as often as its owner allowed. Ask whoever sent it to you for a new one. If you began a download yourself, go on in the tab where you began it.',
      },
      ended: {
        title: 'This link has ended',
        next: 'Its owner has taken it back, or the files are gone. Ask whoever sent it to you.',
      },
      unknown: {
        title: 'There is no such link here',
        next: 'It may have ended long ago, or a part of it was changed on its way to you. Copy the whole link again from the message that it came in, or ask whoever sent it to you.',
      },
      incomplete: {
        title: 'This link is incomplete',
        next: 'A link ends with a # and a long key behind it. Without the key nobody can use it, the server neither. Copy the whole link again from the message that it came in.',
      },
      changed: {
        title: 'This is not what the link was made for',
        next: 'The link was changed on its way to you, or the server gives something else than its owner put there. So it is not used. Copy the whole link again from the message that it came in; if that does not help, tell whoever sent it to you.',
      },
    },

    drop: { title: 'Drop to upload', into: (place: string) => `into ${place}` },

    state: {
      offline: 'You are offline. Uploads resume when the connection is back.',
      unreachable: 'The server does not answer.',
      back: 'The server is back.',
      expired:
        'Your session ended. It was not used for a long time, or it was ended on another device, or the password was changed, which ends all other sessions. Sign in again; if the password was changed, with the new one.',
      otherPassword: 'The password of this account was changed. Sign in with the new one.',
      deleted: (username: string) => `The account ${username} is deleted, with everything in it.`,
      elsewhere: 'You signed out in another tab.',
      noLine: 'You are offline.',
      away: 'Your files are safe on the server. They are shown as soon as it can be reached.',
      trying: 'Trying again…',
      starting: 'Opening szafa…',
      leaving: 'Signing out…',
    },

    about: {
      title: 'About szafa',
      lines: [
        'Files are encrypted here, in this page, and split into volumes. The server stores the volumes and has no key.',
        'Names of files and folders are encrypted too. The server can see sizes, times, how many files there are, and which are in the same folder.',
        'A name is bound to the contents, and the path to the name: the server cannot swap two files, or put a file into another folder, without that being seen.',
        'The folder that you are in is part of the address, after the #. A browser sends that to nobody, but keeps it in its history.',
        'Keys stay in this browser until you sign out, in a form that cannot be exported. If the server changed this page, the page could still use them.',
      ],
      command: 'Command line',
      commandHow: 'On a machine with Node 26:',
      commandDigest: 'SHA-256 of the file:',
      keys: 'Keyboard',
      shortcuts: [
        ['↑ ↓', 'Move through the list'],
        ['Enter', 'Open'],
        ['Backspace', 'To the folder above'],
        ['Space', 'Select'],
        ['Shift ↑ ↓', 'Select from here to there'],
        ['Ctrl A', 'Select all'],
        ['F2', 'Rename'],
        ['Shift F10', 'Menu'],
        ['Delete', 'Move to the trash'],
        ['/', 'Filter'],
        ['U', 'Upload'],
        ['← →', 'In a preview: previous and next file'],
        ['+ − 0', 'In a preview: larger, smaller, as it fits'],
        ['Esc', 'Clear the selection, close'],
        ['?', 'This list'],
      ],
      docs: 'API reference',
    },

    /** What a status of the service means, where nothing nearer says so. */
    status: {
      400: 'The server did not accept this.',
      401: 'Your session ended. Sign in again.',
      403: 'The server does not allow this.',
      404: 'This no longer exists.',
      413: 'The file has too many volumes.',
      429: 'Too many attempts. Wait a minute and try again.',
      500: 'The server had an error. Try again.',
      503: 'The server is busy. Try again.',
      507: 'There is not enough space left.',
    },
    /** What a failure means, by its code. */
    codes: {
      network: 'The server cannot be reached.',
      'not-the-service': 'This address isn’t answering as szafa.',
      'wrong-password':
        'The password does not open the files of this account. If they are under a passphrase of their own, use the szafa command.',
      'wrong-passkey':
        'The passkey was not accepted: it may have been removed, or the answer came too late. Try again.',
      'no-passkey':
        'The browser gave no passkey: it was cancelled, took too long, or there is none for this page.',
      'passkey-known': 'This device has a passkey of your account already.',
      'passkey-second':
        'This passkey cannot open your files by itself: sign in with the password, and use it as second factor.',
      'wrong-code':
        'The code is wrong, or was used already. Wait for the next one; if none is taken, check the clock of the device that shows it.',
      'wrong-passphrase':
        'The passphrase is wrong. Try again: large and small letters count, and blanks too.',
      locked: 'You are signed out.',
      gone: 'This no longer exists.',
      conflict: 'Another device or tab changed this at the same time. Look at it again.',
      tampered: 'This was changed since it was uploaded, so it was not opened.',
      'keys-changed':
        'Another device or tab changed the keys of this account at the same time. Its change counts, this one does not.',
      unsettled:
        'The server did not answer, so it is not known whether this was done. Try it again: the same a second time does no harm.',
      'too-many': 'These are too many files for one link.',
      unsupported: 'This was made by another program or a newer version. Open it there.',
      'file-changed': 'The file changed while it was being uploaded.',
      'too-long': 'The server sent more than it should.',
      stopped: 'Stopped.',
      refused: 'The browser refused or cancelled this download.',
      'old-tab': 'Another tab has an older version of this page open. Close it, then try again.',
      'part-missing': 'A part of this page could not be loaded. Try again, or reload the page.',
    },
    /** A rule of the API that was not kept; it says directory where the page says folder. */
    rule: (message: string) => message.replace('directory', 'folder'),
    refused: (message: string) => `The server refused: ${message}`,
  };
}

export type Words = ReturnType<typeof en>;
