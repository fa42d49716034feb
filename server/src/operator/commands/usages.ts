/** What the commands of an operator say of themselves. */
import { limits } from '@szafa/protocol';

const EXITS = `The exit code is 0 when it is done, 1 when it was refused (no such account, no such upload), and 2 when the command could
not run: wrong usage or settings, a store that does not answer. Can run while the server does. --json: JSON lines.`;

export const USAGES = {
  account: `usage: szafa-server account COMMAND [options]

  list [--limit N] [--after NAME]   accounts with their use, by name; all of them without --limit
  show NAME                one account: use, limits, sessions, unfinished uploads
  quota NAME [SIZE]        set its space (bytes, or with K, M, G, T), or show it; "default" returns to SZ_QUOTA
  limits NAME [options]    set other limits; "default" returns to the settings
                           --open-transfers N  --open-volumes N  --pulls N  --login-attempts N
                           --upload-rate SIZE  --download-rate SIZE   bytes a second, on each node
  disable NAME             refuse every request and login of it; nothing is deleted
  enable NAME              let it work again; its tokens are valid as before
  logout NAME              end all its sessions and tokens
  factor-off NAME          turn off its second factor: a login needs the password only
  delete NAME --yes        delete it with all its files, for good; the name is free afterwards
  invite [options]         make an invitation, by which one account can be registered; it is shown once
                           --note TEXT  --quota SIZE  --days N (default ${limits.inviteSeconds.usual / 86_400})
  invitations              those that can still be used
  uninvite ID              withdraw one of them

${EXITS}`,
  transfers: `usage: szafa-server transfers list [--account NAME] [--limit N]
       szafa-server transfers cancel ID

  list     unfinished uploads, the longest unused first; of all accounts, or of one
  cancel   cancel one of them; its volumes are removed. ID is the file_id that list shows

${EXITS}`,
  shares: `usage: szafa-server shares list [--account NAME] [--limit N]
       szafa-server shares end ID

  list     what is shared and not over, of all accounts or of one: who shares, how many files, how often they were downloaded.
           Nobody here can tell which link it is, what is in it, or what it is called
  end      end one of them: from now on nobody gets anything by it. SZ_SHARES=off switches all sharing off

${EXITS}`,
  requests: `usage: szafa-server requests list [--account NAME] [--limit N]
       szafa-server requests end ID

  list     what visitors are asked for and is not over, of all accounts or of one: who asks, how much may come, how much has
  end      end one of them: from now on nobody uploads by it. SZ_SHARES=off switches all of it off

${EXITS}`,
  status: `usage: szafa-server status

Shows the state of the server: read-only or not, contested or not, what is under way and what waits to be removed.

${EXITS}`,
  'read-only': `usage: szafa-server read-only on|off

on: on all nodes, whatever would change files, directories or accounts is answered 503 from now on, and nothing is written
to the volume store or removed from it, garbage included. Reads and logins go on. It holds until "off", across restarts.
When the command has ended, no node takes or ends a write any more.

${EXITS}`,
  audit: `usage: szafa-server audit [--account NAME] [--limit N]

Shows what was done to accounts and to the server, newest first: ${limits.adminPage} entries, or N. They are kept for SZ_AUDIT_DAYS.

${EXITS}`,
};
