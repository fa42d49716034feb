/** The help texts of the operator commands. */
import { limits } from '@szafa/protocol';

const EXITS = `The exit code is 0 when it is done, 1 when it was refused (no such account, no such upload), and 2 when the command could
not run: wrong usage or settings, a store that does not answer. Can run while the server does. --json: JSON lines.`;

export const USAGES = {
  account: `usage: szafa-server account COMMAND [options]

  list [--limit N] [--after NAME]   list accounts by name, with files, space and quota
  show NAME                show one account: space, limits, sessions, unfinished uploads
  quota NAME [SIZE]        set its quota (bytes, or with K, M, G, T), or show it; "default" returns to SZ_QUOTA
  limits NAME [options]    set other limits; "default" returns to the settings
                           --open-transfers N  --open-volumes N  --pulls N  --login-attempts N
                           --upload-rate SIZE  --download-rate SIZE   bytes per second, on each node
  disable NAME             refuse all its requests and logins; nothing is deleted
  enable NAME              allow them again; its tokens are still valid
  logout NAME              end all its sessions and tokens
  factor-off NAME          turn off its second factor: a login needs only the password
  delete NAME --yes        delete it with all its files, for good; the name is free afterwards
  invite [options]         create an invitation for one new account; it is shown once
                           --note TEXT  --quota SIZE  --days N (default ${limits.inviteSeconds.usual / 86_400})
  invitations              list invitations that can still be used
  uninvite ID              withdraw an invitation

${EXITS}`,
  transfers: `usage: szafa-server transfers list [--account NAME] [--limit N]
       szafa-server transfers cancel ID

  list     list unfinished uploads, the longest unused first
  cancel   cancel one and remove its volumes; list shows the ID

${EXITS}`,
  shares: `usage: szafa-server shares list [--account NAME] [--limit N]
       szafa-server shares end ID

  list     list links and shares that have not ended: owner, number of files, downloads.
           The server knows neither the address of a link nor the names and contents of its files
  end      end one: nobody can download from it any more. SZ_SHARES=off turns all sharing off

${EXITS}`,
  requests: `usage: szafa-server requests list [--account NAME] [--limit N]
       szafa-server requests end ID

  list     list file requests that have not ended: owner, what has arrived and how much may
  end      end one: nobody can upload to it any more. SZ_SHARES=off turns all sharing off

${EXITS}`,
  status: `usage: szafa-server status

Shows the state of the server: its settings, unfinished work, what waits to be removed, and the nodes that run.

${EXITS}`,
  'read-only': `usage: szafa-server read-only on|off

on: all nodes answer 503 to every change of files, directories and accounts, and nothing is written to the volume store or
removed from it, garbage included. Reads and logins continue. It holds until "off", across restarts.
When the command has ended, no node accepts or finishes a write.

${EXITS}`,
  audit: `usage: szafa-server audit [--account NAME] [--limit N]

Shows the audit log, newest first: ${limits.adminPage} entries, or N. Entries are kept for SZ_AUDIT_DAYS.

${EXITS}`,
};
