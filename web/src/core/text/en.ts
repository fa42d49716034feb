/** The English text of the page. One file, so that it can be read as a whole. Other languages must have the same shape. */
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
  const clearData =
    'clear what this browser has stored for this address (in the browser’s settings, under site data).';
  const stop = 'Otherwise, don’t use this server until you know why.';

  return {
    name: 'szafa',
    tagline: 'Your files, encrypted before they leave your device.',

    enter: {
      signIn: 'Sign in',
      register: 'Create an account',
      username: 'Username',
      password: 'Password',
      repeat: 'Repeat password',
      code: 'Code',
      passkeyHint: 'This account has two-factor authentication with a passkey.',
      confirmPasskey: 'Use your passkey',
      passkeyAway:
        'This account needs a passkey to sign in, and passkeys can’t be used at this address. Contact your administrator.',
      byPasskey: 'Sign in with a passkey',
      codeHint: 'Two-factor authentication is on. Enter the code from your authenticator app.',
      invite: 'Invitation',
      inviteRule: 'You need an invitation to create an account here. Ask your administrator for one.',
      disabled: 'This account is disabled. Contact your administrator.',
      closed: 'Sign-ups are closed on this server.',
      uninvited: 'This invitation isn’t valid. It may have expired or been used already.',
      usernameRule: '3 to 32 letters, digits or underscores',
      passwordRule: `At least ${secret.min} characters and hard to guess, such as a few unrelated words.`,
      show: 'Show password',
      hide: 'Hide password',
      withKey: 'Create a recovery key (recommended)',
      withKeyHint:
        'It’s the only way back in if you forget your password. We’ll show it once, on the next page.',
      noReset:
        'Your password never leaves your device, and the server can’t reset it. Without your password and a recovery key, nobody can open your files, not even you.',
      understood: 'I’ve saved my password somewhere safe',
      toRegister: 'New here? Create an account',
      toSignIn: 'Have an account? Sign in',
      toRecover: 'Forgot your password?',
      working: 'Signing in…',
      wrong: 'Wrong username or password.',
      otherCase: (name: string) => `Usernames are case-sensitive. Did you mean ${name}?`,
      taken: 'This username is already taken.',
      different: 'The passwords don’t match.',
      weak: {
        short: `Use at least ${secret.min} characters.`,
        long: `Use at most ${secret.max} characters.`,
        guessable:
          'This password is too easy to guess. Use a few unrelated words, or a dozen random characters.',
      },
      points: ['Encrypted on your device', 'File names are encrypted too', 'Nobody else has the key'],
    },

    recover: {
      title: 'Set a new password',
      how: 'You’ll need the recovery key you saved when you created your account, or later. Without it, nobody can open your files.',
      key: 'Recovery key',
      keyHint: '14 groups of 4 characters. Case, spaces and hyphens don’t matter.',
      next: 'New password',
      after:
        'This signs you out everywhere, turns off two-factor authentication, and replaces this recovery key with a new one.',
      do: 'Set password and sign in',
      wrong: 'Wrong username or recovery key.',
      changed:
        'The keys of this account were changed at the same time. If that was you, sign in with the password you set there. If not, try again.',
      unsettled:
        'The server didn’t answer, so your new password may or may not be set. Try signing in with it. If that works, create a new recovery key in your account settings. If it doesn’t, try again here.',
    },

    recoveryKey: {
      title: 'Your recovery key',
      what: 'It opens your account if you forget your password. It’s shown only once: write it down or print it, and keep it apart from your password. Anyone who has it can open your files.',
      copy: 'Copy',
      copied: 'Copied. Paste it somewhere safe soon: other programs can read the clipboard.',
      notCopied: 'The browser doesn’t allow copying. Select the key and copy it yourself.',
      print: 'Print',
      save: 'Save as text',
      saved: 'I’ve saved it',
      skip: 'Skip for now',
      ask: (first: number, second: number) => `Enter groups ${first} and ${second}`,
      askWhy: 'This checks that you saved it correctly.',
      confirm: 'Confirm',
      again: 'Show it again',
      wrong: 'Those groups don’t match. Check the numbers above each group.',
      confirmed: 'Recovery key confirmed',
      warning:
        'If you forget your password and don’t have your recovery key, you’ll lose your files. Nobody can help you then, not even your administrator. As long as you know your password, you can create another key in your account settings.',
      back: 'Back to the key',
    },

    account: {
      title: 'Account',
      loading: 'Loading…',
      currentPassword: 'Current password',
      yourPassword: 'Your password',
      wrongPassword: 'Wrong password.',
      password: {
        title: 'Password',
        do: 'Change password',
        next: 'New password',
        after:
          'Your files aren’t uploaded again. You’ll be signed out on all other devices, and all tokens will be revoked.',
        limits:
          'If somebody else knew your old password, also replace your keys with the command-line tool: szafa rekey',
        done: 'Password changed. You’ve been signed out everywhere else.',
        same: 'This is already your password.',
      },
      recovery: {
        title: 'Recovery key',
        has: 'You have a recovery key. Lost it? Create a new one.',
        none: 'You don’t have a recovery key. If you forget your password, you’ll lose your files.',
        do: 'Create a new recovery key',
        after: 'It replaces your old recovery key once you’ve confirmed it.',
      },
      factor: {
        title: 'Two-factor authentication',
        on: 'On. You’ll need a code from your authenticator app to sign in.',
        none: 'Off',
        noneBeside: 'You’ll need a passkey to sign in. Codes are off.',
        do: 'Turn on two-factor authentication',
        how: 'Scan this QR code with an authenticator app, or enter the secret there. Then enter the code it shows.',
        picture: 'QR code with the secret',
        secret: 'Secret',
        after: 'You’ll need the app every time you sign in.',
        withKey: 'If you lose it, only your recovery key gets you back in. There are no backup codes.',
        withoutKey: 'If you lose it, you’ll be locked out: you don’t have a recovery key. Create one first.',
        finish: 'Turn on',
        done: 'Two-factor authentication is on.',
      },
      passkey: {
        title: 'Passkeys',
        none: 'Sign in with your phone, your computer or a security key.',
        do: 'Add a passkey',
        after:
          'When you sign in with your password, you’ll also need a second factor: this passkey will do. Many passkeys also sign you in without a username and password.',
        withCodes: 'The command-line tool can’t use passkeys. It uses the codes from your app.',
        withoutCodes:
          'The command-line tool can’t use passkeys. If you use it, also turn on two-factor authentication with codes. It stays signed in where it is now.',
        withoutKey:
          'If you lose the passkey, you’ll be locked out: you don’t have a recovery key. Create one first.',
        name: 'Passkey name',
        nameHint: 'To recognise it in this list, such as “My phone”',
        finish: 'Add',
        done: 'Passkey added as a second factor. You’ll still need your password to open your files.',
        doneAlone: 'Passkey added. You can sign in with it alone.',
        alone: 'signs in without a password',
        second: 'second factor',
        used: (when: string) => `last used ${when}`,
        never: 'never used',
        remove: 'Remove',
        removeOf: (name: string) => `Remove ${name}`,
        removed: 'It can no longer be used to sign in, and other sessions it opened will end.',
        gone: 'Passkey removed.',
      },
      factorOff: {
        do: 'Turn off two-factor authentication',
        finish: 'Turn off',
        done: 'Two-factor authentication is off.',
        doneBeside: 'Codes are off. You’ll still need a passkey to sign in.',
        byPasskey: 'Use your passkey instead of a code',
      },
      sessions: {
        title: 'Sessions',
        unnamed: 'Unnamed',
        current: 'This browser',
        used: (when: string) => `last used ${when}`,
        usedNow: 'in use now',
        usedToday: 'last used today',
        scope: { full: '', read: 'can only read', append: 'can only add' },
        folder: (name: string) => `only the folder ${name}`,
        oneFolder: 'only one folder',
        expires: (when: string) => `expires ${when}`,
        end: 'Sign out',
        endOf: (name: string) => `Sign out ${name}`,
        endOthers: 'Sign out everywhere else',
        ended: (count: number) => `${sessions(count)} signed out`,
      },
      remove: {
        title: 'Delete account',
        do: 'Delete account',
        lost: (fileCount: number | undefined, folderCount: number) => {
          const counts = [
            fileCount === undefined ? 'all your files' : files(fileCount),
            folderCount > 0 && folders(folderCount),
          ];
          return `This deletes ${counts.filter(Boolean).join(', ')}, unfinished uploads, your keys, all sessions and tokens, and your account. Nobody can undo this, not even your administrator.`;
        },
        name: (name: string) => `Type “${name}” to confirm`,
        otherName: 'That isn’t the name of this account.',
      },
    },

    /** By the check that the server's keys failed: what is wrong and what to do. */
    keys: {
      service: {
        title: 'This server’s identity has changed',
        why: 'A different server now answers at this address. Your password wasn’t used, and nothing was opened.',
        next: [
          'Contact your administrator. A server that was moved keeps its identity; one that was set up again doesn’t have your files.',
          `If it was set up again and you want to start over there, ${clearData}`,
          stop,
        ],
      },
      rollback: {
        title: 'The server sent older keys than before',
        why: 'This browser has seen newer keys of your account than those the server sends now. Nothing was opened.',
        next: [
          'Contact your administrator. The server may have been restored from a backup made before you last changed your password or recovery key.',
          `If so, ${clearData} Then sign in with the password you had then, and change it again.`,
          stop,
        ],
      },
      owner: {
        title: 'The server sent somebody else’s keys',
        why: 'The keys belong to another account, or to another server. Nothing was opened.',
        next: ['Contact your administrator.', 'Don’t use this server until you know why.'],
      },
      'no-bag': {
        title: 'The server says this account has no keys',
        why: 'It had keys, and only those open your files. No new ones were created, and nothing was opened.',
        next: [
          'Contact your administrator. The server may have lost its database; szafa-server rescue restores your keys.',
          `Only if the account was deleted and created again, ${clearData}`,
          stop,
        ],
      },
      damaged: {
        title: 'The keys of this account are damaged',
        why: 'The keys the server sent are damaged or were changed. Nothing was opened.',
        next: [
          'Contact your administrator: the server may have a backup of them.',
          'Don’t use this server until you know why.',
        ],
      },
    },

    insecure: {
      title: 'This address isn’t secure',
      why: 'Your browser only allows encryption on pages that come over HTTPS or from this computer. This page came over plain HTTP, so it can’t encrypt and doesn’t ask for your password.',
      what: 'What to do',
      steps: [
        'Open the same address with https://, if the server has a certificate.',
        'If you run the server, set SZ_TLS_CERT and SZ_TLS_KEY, or put it behind a TLS proxy.',
        'On the server’s own computer, http://localhost works.',
      ],
    },
    unsupported: {
      title: 'This browser is too old',
      why: 'szafa needs a browser from this year or last year: a current Chrome, Edge, Firefox or Safari.',
      what: 'Update this browser, or open this address in another one.',
      lacks: (names: string[]) => `It lacks: ${names.join(', ')}.`,
    },

    bar: {
      filter: 'Search all files',
      clearFilter: 'Clear search',
      account: 'Account',
      settings: 'Settings',
      signOut: 'Sign out',
      menu: 'Folders',
      about: 'About szafa',
    },

    settings: {
      title: 'Settings',
      language: 'Language',
      ofBrowser: 'Browser default',
      colours: 'Appearance',
      ofSystem: 'System default',
      light: 'Light',
      dark: 'Dark',
      hint: 'Saved in this browser.',
    },

    places: {
      title: 'Folders',
      all: 'All files',
      make: 'New folder',
      makeName: 'Folder name',
      makeDo: 'Create',
      unverifiedHint: 'Created by another program. Its name isn’t encrypted and may have been changed.',
    },

    quota: {
      label: 'Storage',
      of: (used: string, all: string) => `${used} of ${all}`,
      over: 'Storage full',
    },

    list: {
      label: 'Files',
      count: files,
      found: (what: string) => `Found: ${what}`,
      uploading: 'Your files appear here once they’re uploaded.',
      name: 'Name',
      size: 'Size',
      date: 'Added',
      acts: 'Actions',
      select: (name: string) => `Select ${name}`,
      selectAll: 'Select all',
      unverified: 'Plain name',
      unverifiedHint: 'Uploaded by another program. Its name isn’t encrypted and may have been changed.',
      problem: 'Failed verification',
      problemHint: 'The server changed or mixed up this record. Don’t trust it.',
      more: (name: string) => `More actions for ${name}`,
      loading: 'Opening your files…',
      emptyTitle: 'Nothing here yet',
      emptyBody: 'Drop files or folders anywhere on this page. They’re encrypted before they’re uploaded.',
      emptyDir: 'This folder is empty',
      noMatch: (filter: string) => `No results for “${filter}”`,
      noMatchBody: 'The search covers the names of all files and folders.',
      failedTitle: 'Couldn’t load your files',
      retry: 'Try again',
    },

    firstSteps: {
      title: 'First steps',
      upload: { title: 'Upload files', why: 'Or drop them here, or paste a picture.' },
      folder: { title: 'Create a folder', why: 'Organise files in folders.' },
      recovery: {
        title: 'Check your recovery key',
        why: 'Without it, a forgotten password means lost files.',
      },
      command: { title: 'Get the command-line tool', why: 'For backups, and for many or large files.' },
    },

    actions: {
      upload: 'Upload files',
      uploadFolder: 'Upload folder',
      uploadShort: 'Upload',
      wait: 'Please wait…',
      /** Start of the name of a pasted picture, before the time. */
      pasted: 'Pasted',
      preview: 'Preview',
      download: 'Download',
      move: 'Move',
      copy: 'Make a copy',
      remove: 'Delete',
      selected: (count: number) => `${number(count)} selected`,
      clear: 'Clear selection',
      cancel: 'Cancel',
      close: 'Close',
    },

    rename: {
      title: 'Rename',
      label: 'New name',
      do: 'Rename',
      doing: (count: number, all: number) => `Renaming: ${share(count, all)}`,
      done: () => 'Renamed',
      failed: (why: string) => `Couldn’t rename. ${why}`,
      partly: (why: string) => `Not everything was renamed. ${why}`,
      unsure: (why: string) => `Couldn’t check whether it was renamed. ${why}`,
    },
    move: {
      title: (count: number) => (count === 1 ? 'Move to' : `Move ${items(count)} to`),
      do: 'Move',
      doing: (count: number, all: number) => `Moving: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Moved' : `${items(count)} moved`),
      failed: (why: string) => `Nothing was moved. ${why}`,
      partly: (why: string) => `Not everything was moved. ${why}`,
      unsure: (why: string) => `Couldn’t check whether everything was moved. ${why}`,
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
      done: (count: number) => (count === 1 ? 'Moved to trash' : `${items(count)} moved to trash`),
      failed: (why: string) => `Not everything was moved to trash. ${why}`,
      empty: 'Trash is empty',
      emptyBody: 'Deleted files are kept here for a while, and can be restored.',
      emptyNow: 'Empty trash',
      leaves: (when: string) => `Deleted forever on ${when}`,
      counts: 'Items in the trash still count towards your storage.',
    },
    restore: {
      do: 'Restore',
      doing: (count: number, all: number) => `Restoring: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Restored' : `${files(count)} restored`),
      failed: (why: string) => `Not everything was restored. ${why}`,
    },
    remove: {
      do: 'Delete forever',
      title: (count: number) =>
        count === 1 ? 'Delete this file forever?' : `Delete ${files(count)} forever?`,
      body: 'You can’t undo this. The encrypted data is deleted from the server.',
      doing: (count: number, all: number) => `Deleting: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Deleted forever' : `${files(count)} deleted forever`),
      failed: (why: string) => `Not everything was deleted. ${why}`,
    },
    versions: {
      title: 'Versions',
      short: (count: number) => `${number(count)} versions`,
      one: 'This is the only version. Uploading a file with the same name here adds another one.',
      current: 'Current',
      restore: (when: string) => `Restore version from ${when}`,
      download: (when: string) => `Download version from ${when}`,
      remove: (when: string) => `Delete version from ${when}`,
      restored: 'Version restored',
    },
    names: {
      empty: 'Enter a name.',
      slash: 'A name can’t contain /',
      dots: 'That name isn’t allowed.',
      folderTaken: 'A folder with this name already exists.',
      fileTaken: 'A file with this name already exists.',
    },
    collision: {
      title: 'File already exists',
      file: (name: string, folder: string) => `${folder} already has a file named ${name}.`,
      folder: (name: string, folder: string) => `${folder} already has a folder named ${name}.`,
      skip: 'Skip',
      replace: 'Replace',
      replaceHint: 'Replacing keeps the existing file as a previous version.',
      both: 'Keep both',
      forAll: (count: number) => `Apply to ${number(count)} more`,
    },
    tree: {
      open: 'Open',
      path: 'Path',
      gone: 'This file no longer exists.',
      undo: 'Undo',
      here: 'Current folder',
      intoItself: 'A folder can’t be moved into itself.',
      makeHere: 'New folder here',
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
        return `${stopped} Signing out deletes everything this browser has stored, so unfinished uploads start from the beginning next time.`;
      },
    },

    layouts: { title: 'View', list: 'List', grid: 'Grid', timeline: 'Photos' },

    preview: {
      none: 'No preview available',
      cut: 'Only the beginning is shown. Download the file to see all of it.',
      opening: 'Opening…',
      failed: 'Couldn’t show the preview.',
      empty: 'This file is empty.',
      added: (when: string) => `added ${when}`,
      modified: (when: string) => `modified ${when}`,
      source: 'View source',
      larger: 'Zoom in',
      smaller: 'Zoom out',
      fit: 'Fit',
      ahead: 'added in the future: check the clock',
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
      retry: (name: string) => `Retry ${name}`,
      cancel: (name: string) => `Cancel ${name}`,
      dismiss: (name: string) => `Remove ${name} from the list`,
      choose: (name: string) => `Choose ${name} again`,
      waiting: 'Waiting',
      stalled: 'Waiting for the server',
      upload: 'Uploading',
      download: 'Downloading',
      paused: 'Paused',
      doneUpload: 'Uploaded',
      doneDownload: 'Downloaded',
      interrupted: 'Interrupted: choose the file again to resume',
      interruptedHandle: 'Interrupted',
      rate: (rate: string) => `${rate}/s`,
      left: (time: string) => `${time} left`,
      otherFile: 'This is a different file: its name, size or date doesn’t match.',
      linksLeft: (count: number) =>
        `Left out of the zip: ${plural(count, { one: 'symbolic link', other: 'symbolic links' })} that may point outside the folder.`,
      noWorker: 'This browser can’t save downloads here, perhaps because this is a private window.',
    },

    share: {
      title: 'Share',
      do: 'Share',
      what: 'Anyone with the link can get these files as they are now, without an account. Later changes aren’t shared.',
      expires: 'Expires',
      expiry: {
        1: 'In 1 day',
        7: 'In 7 days',
        30: 'In 30 days',
        365: 'In 1 year',
        never: 'Never',
      } as Record<'1' | '7' | '30' | '365' | 'never', string>,
      downloads: 'Download limit',
      unlimited: 'Unlimited',
      downloadsHint: 'Previews count as downloads.',
      passphrase: 'Passphrase (optional)',
      passphraseHint: 'Send it separately from the link.',
      note: 'Message (optional)',
      make: 'Create link',
      making: 'Creating link…',
      made: 'Link created',
      anyone: 'Anyone with this link, and the passphrase if you set one, can get the files.',
      copy: 'Copy link',
      copied: 'Link copied.',
      notCopied: 'The browser doesn’t allow copying. Select the link and copy it yourself.',
      qrCode: 'QR code of the link',
      later: 'Find it later under “Shared”, where you can also stop sharing.',
      off: 'Sharing is turned off on this server.',
      tooMuch: 'You’ve reached the limit of what you can share. Remove some links first.',
    },
    shared: {
      title: 'Shared',
      count: links,
      empty: 'Nothing shared yet',
      emptyBody:
        'Select files or a folder and choose “Share”, to share them by a link or with a user on this server.',
      unnamed: 'Unnamed',
      downloads: (count: number, all: number | null) =>
        all === null ? downloads(count) : `${number(count)} of ${downloads(all)}`,
      until: (when: string) => `expires ${when}`,
      endless: 'never expires',
      to: (name: string) => `with ${name}`,
      passphrase: 'passphrase',
      missing: (count: number) => `${files(count)} deleted or in the trash, not available`,
      over: { expired: 'expired', 'used up': 'limit reached', ended: 'stopped' },
      copyOf: (name: string) => `Copy link to ${name}`,
      endOf: (name: string) => `Stop sharing ${name}`,
      endShareOf: (name: string, to: string) => `Stop sharing ${name} with ${to}`,
      removeOf: (name: string) => `Remove ${name} from the list`,
      end: 'Stop sharing',
      endTitle: 'Stop sharing?',
      endShareTitle: (to: string) => `Stop sharing with ${to}?`,
      endBody:
        'The link stops working at once. Files that were already downloaded stay with those who have them.',
      done: 'The link no longer works.',
      shareDone: 'No longer shared.',
    },
    received: { title: 'Shared with me' },
    /** The page behind a link. */
    visitor: {
      title: 'Shared with you',
      opening: 'Opening the link…',
      note: 'Message',
      missing: 'deleted by its owner',
      downloadOf: (name: string) => `Download ${name}`,
      downloadAll: 'Download all as zip',
      more: (count: number) => `Show ${number(count)} more`,
      passphrase: 'Passphrase',
      open: 'Open',
    },
    /** Why a link cannot be opened, and what to do. */
    link: {
      full: {
        title: 'This link has reached its limit',
        next: 'The owner’s limit has been reached, or this file is larger than what’s left. Contact the person who sent you the link.',
      },
      expired: {
        title: 'This link has expired',
        next: 'Ask the person who sent it to you for a new one.',
      },
      'used up': {
        title: 'This link has reached its download limit',
        next: 'Ask the person who sent it to you for a new one. If you started a download yourself, continue in the tab where you started it.',
      },
      ended: {
        title: 'This link no longer works',
        next: 'Its owner stopped sharing, or deleted the files. Contact the person who sent you the link.',
      },
      unknown: {
        title: 'This link doesn’t exist',
        next: 'It may have been removed long ago, or part of it was changed on its way to you. Copy the whole link again from the message it came in, or contact the person who sent it.',
      },
      incomplete: {
        title: 'This link is incomplete',
        next: 'A link ends with a # and a long key. Without the key nobody can use it, not even the server. Copy the whole link again from the message it came in.',
      },
      changed: {
        title: 'This link doesn’t match its files',
        next: 'The link was changed on its way to you, or the server sent something else than its owner shared. Nothing was opened. Copy the whole link again from the message it came in. If that doesn’t help, tell the person who sent it.',
      },
    },

    drop: { title: 'Drop to upload', into: (place: string) => `to ${place}` },

    state: {
      offline: 'You’re offline. Uploads resume when you’re back online.',
      unreachable: 'The server isn’t responding.',
      back: 'Back online.',
      expired:
        'You’ve been signed out: your session expired, or it was ended on another device, or your password was changed. Sign in again, with the new password if it was changed.',
      otherPassword: 'The password of this account was changed. Sign in with the new one.',
      deleted: (username: string) => `The account ${username} and everything in it has been deleted.`,
      elsewhere: 'You signed out in another tab.',
      noLine: 'You’re offline.',
      away: 'Your files are safe on the server. They’ll appear as soon as it can be reached.',
      trying: 'Trying again…',
      starting: 'Opening szafa…',
      leaving: 'Signing out…',
    },

    about: {
      title: 'About szafa',
      lines: [
        'Files are encrypted on your device and split into volumes. The server stores the volumes and doesn’t have the key.',
        'File and folder names are encrypted too. The server can see sizes, times, how many files there are, and which ones share a folder.',
        'Names are bound to contents, and paths to names: if the server swaps two files or moves a file to another folder, it shows.',
        'The folder you’re in is part of the address, after the #. Browsers don’t send that part to anyone, but they keep it in their history.',
        'Keys stay in this browser until you sign out, in a form that can’t be exported. If the server changed this page, the page could still use them.',
      ],
      command: 'Command line',
      commandHow: 'On a computer with Node 26:',
      commandDigest: 'SHA-256 of the file:',
      keys: 'Keyboard shortcuts',
      shortcuts: [
        ['↑ ↓', 'Move through the list'],
        ['Enter', 'Open'],
        ['Backspace', 'Go to the parent folder'],
        ['Space', 'Select'],
        ['Shift ↑ ↓', 'Extend the selection'],
        ['Ctrl A', 'Select all'],
        ['F2', 'Rename'],
        ['Shift F10', 'Menu'],
        ['Delete', 'Move to trash'],
        ['/', 'Search'],
        ['U', 'Upload'],
        ['← →', 'In a preview: previous and next file'],
        ['+ − 0', 'In a preview: zoom in, zoom out, fit'],
        ['Esc', 'Clear selection, close'],
        ['?', 'This list'],
      ],
      docs: 'API reference',
    },

    /** Messages by HTTP status. A form can override them. */
    status: {
      400: 'The server didn’t accept this.',
      401: 'Your session has ended. Sign in again.',
      403: 'The server doesn’t allow this.',
      404: 'This no longer exists.',
      413: 'The file has too many volumes.',
      429: 'Too many attempts. Wait a minute and try again.',
      500: 'Something went wrong on the server. Try again.',
      503: 'The server is busy. Try again.',
      507: 'Not enough storage left.',
    },
    /** Messages by error code. */
    codes: {
      network: 'Can’t reach the server.',
      'not-the-service': 'The server at this address isn’t szafa.',
      'wrong-password':
        'This password doesn’t open the files of this account. If they have a passphrase of their own, use the command-line tool.',
      'wrong-passkey':
        'The passkey wasn’t accepted. It may have been removed, or the answer came too late. Try again.',
      'no-passkey': 'No passkey was used: you cancelled, it took too long, or there’s none for this page.',
      'passkey-known': 'This device already has a passkey for your account.',
      'passkey-second':
        'This passkey can’t open your files on its own. Sign in with your password, and use it as second factor.',
      'wrong-code':
        'The code is wrong or was already used. Wait for the next one. If no code works, check the clock on your authenticator device.',
      'wrong-passphrase': 'Wrong passphrase. It’s case-sensitive, and spaces count.',
      locked: 'You’re signed out.',
      gone: 'This no longer exists.',
      conflict: 'Another device or tab changed this at the same time. Check it and try again.',
      tampered: 'This was changed after it was uploaded, so it wasn’t opened.',
      'keys-changed':
        'Another device or tab changed the keys of this account at the same time. That change was kept; this one wasn’t.',
      unsettled: 'The server didn’t answer, so this may or may not be done. It’s safe to try again.',
      'too-many': 'Too many files for one link.',
      unsupported: 'This was made by another program or a newer version. Open it there.',
      'file-changed': 'The file changed while it was being uploaded.',
      'too-long': 'The server sent more data than expected.',
      stopped: 'Stopped.',
      refused: 'The browser refused or cancelled this download.',
      'old-tab': 'An older version of this page is open in another tab. Close it and try again.',
      'part-missing': 'Part of this page couldn’t be loaded. Try again, or reload the page.',
    },
    /** Turns the message of a RuleError into the words of the page: the API says "directory", the page says "folder". */
    rule: (message: string) => message.replace('directory', 'folder'),
    refused: (message: string) => `The server refused: ${message}`,
  };
}

export type Words = ReturnType<typeof en>;
