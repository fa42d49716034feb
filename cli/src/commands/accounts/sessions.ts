import { open, rm } from 'node:fs/promises';
import { toBase64Url } from '@szafa/format';
import { type ListedSession, type Scope, scopes } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError, unknownSubcommand } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { configuredSecret } from '../../lib/account/secrets.ts';
import { sessionStore } from '../../lib/account/session-store.ts';
import { parseEnd } from '../../lib/print/quantities.ts';
import { ID_COLUMNS } from '../../lib/print/tables.ts';
import { formatTime, oneLine, padEnd, plural, shorten, typedPath } from '../../lib/print/text.ts';

const DEVICE_COLUMNS = 28;

/** `dir`: the folder that the token is limited to; '' if the folder is gone, null if there is no limit. */
function row(session: ListedSession, dir: string | null): string {
  const { id, device, created_at, used_at, current, scope, expires_at } = session;
  const notes = [
    ...(current ? ['this session'] : []),
    ...(scope === 'full' ? [] : [`may only ${oneLine(scope)}`]),
    ...(dir === null ? [] : [dir === '' ? 'in a folder that is gone' : `in ${oneLine(dir)}`]),
    ...(expires_at === null ? [] : [`expires ${formatTime(expires_at)}`]),
  ];
  const columns = [
    oneLine(id).slice(0, ID_COLUMNS),
    padEnd(shorten(oneLine(device) || '-', DEVICE_COLUMNS), DEVICE_COLUMNS),
    `used ${formatTime(used_at)}`,
    `since ${formatTime(created_at)}`,
  ];
  return [...columns, notes.join(', ')].join('  ').trimEnd();
}

/** Lists sessions and tokens. */
const listSessions = withAccount('useful', async ({ out, signal, szafa, lookup }) => {
  for (const session of await szafa.sessions({ signal })) {
    const { id, device, created_at, used_at, current, scope, dir_id, expires_at } = session;
    const dir = dir_id === null ? null : await lookup.topFolderName(dir_id);
    const fields = { id, device, created_at, used_at, current, scope, dir_id, dir_name: dir, expires_at };
    out.answer('open-session', fields, row(session, dir));
  }
});

const endAll = withAccount('none', async ({ out, signal, szafa }) => {
  const ended = await szafa.endOtherSessions({ signal });
  out.done('ended', { all: true, sessions: ended }, `ended ${plural(ended, 'other session')}`);
});

const endSession = withAccount('none', async ({ args: [, id = ''], out, signal, szafa }) => {
  const found = (await szafa.sessions({ signal })).filter((one) => one.id.startsWith(id.toLowerCase()));
  const [session, another] = found;
  if (!session) {
    throw new CliError('not-found', `there is no session "${oneLine(id)}"`, 'szafa sessions shows them');
  }
  if (another) throw new UsageError(`several sessions begin with "${oneLine(id)}"`, 'give more of the ID');
  if (session.current) {
    throw new UsageError('this is the session of this command', 'end it with szafa logout');
  }
  await szafa.endSession(session.id, { signal });
  const text = `ended ${oneLine(session.device) || oneLine(session.id)}`;
  out.done('ended', { id: session.id, device: session.device }, text);
});

export const sessions: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [what, id] = args;
  if (what === undefined && !flags.all) return listSessions(invocation);
  if (what !== 'end') throw unknownSubcommand('sessions', args.join(' ') || '--all');
  if (flags.all && id === undefined) return endAll(invocation);
  if (!flags.all && id) return endSession(invocation);
  throw new UsageError('sessions end needs an ID, or --all', 'szafa sessions shows them');
};

/** Prints the token of this session, for other programs. */
async function printToken({ settings, out }: Invocation): Promise<void> {
  const given = await configuredSecret(settings.token, 'token');
  const token = given ?? (await sessionStore({ settings, out }).load())?.token;
  if (token === undefined) throw new CliError('not-logged-in', 'not logged in', 'log in first: szafa login');
  out.answer('token', { token }, token);
}

function readScope(scope: string | undefined): Scope {
  const found = scopes.find((one) => one === scope);
  if (found) return found;
  const message =
    scope === undefined ? 'token create needs --scope' : `there is no scope "${oneLine(scope)}"`;
  throw new UsageError(message, 'choose append, read or full');
}

function readTokenOptions({ flags }: Invocation) {
  const scope = readScope(flags.scope);
  const end = flags.expires === undefined ? null : parseEnd('expires', flags.expires);
  const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
  if (folder !== '' && !folder?.includes('/')) return { scope, end, folder };
  const message = 'a token is for all files, or for one top-level folder';
  throw new UsageError(message, 'omit --dir, or name such a folder');
}

const keysForToken = ({ flags: { output, dir } }: Invocation) =>
  output !== undefined ? 'needed' : dir !== undefined ? 'useful' : 'none';
const forToken = { keys: keysForToken, check: readTokenOptions } as const;

const createToken = withAccount(forToken, async (invocation) => {
  const { flags, out, signal, szafa, lookup } = invocation;
  const [, device = ''] = invocation.args;
  const { scope, end, folder } = readTokenOptions(invocation);
  const dir = folder === undefined ? undefined : await lookup.topFolder(folder);
  const file =
    flags.output === undefined ? undefined : await createPrivateFile(flags.output, flags.yes ?? false);
  try {
    const body = { device, scope, dir_id: dir?.dirId ?? null, expires_at: end };
    const { id, token } = await szafa.api.call('createToken', { body, signal });
    const fields = { id, name: device, scope, dir_id: body.dir_id, expires_at: body.expires_at };
    if (!file) {
      out.answer('token', { ...fields, token }, token);
      return;
    }
    try {
      // The file is a session for another machine: it has the token and the key, but no password.
      const { username } = await szafa.api.call('me', { signal });
      const session = { server: szafa.api.server, username, token, kek: toBase64Url(szafa.keys.kek) };
      await file.handle.writeFile(`${JSON.stringify(session)}\n`);
      await file.handle.datasync();
    } catch (error) {
      // The token was not written anywhere, so end it.
      await szafa.api.call('endSession', { params: { session_id: id }, signal }).catch(() => {});
      throw error;
    }
    const text = `the session ${oneLine(device)} (${scope}) is in ${oneLine(file.path)}: it opens your files, so move it there safely`;
    out.done('token', { ...fields, path: file.path }, text);
  } catch (error) {
    if (file) await rm(file.path, { force: true });
    throw error;
  } finally {
    await file?.handle.close();
  }
});

/** Creates a file that only its owner can read. Called before the token exists, so that a failure here leaves no token behind. */
async function createPrivateFile(path: string, overwrite: boolean) {
  if (overwrite) await rm(path, { force: true });
  try {
    return { path, handle: await open(path, 'wx', 0o600) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    const hint = 'overwrite it with --yes, or choose another path with --output';
    throw new CliError('exists', `${oneLine(path)} already exists`, hint, { cause });
  }
}

export const token: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [what, about] = args;
  const given = (['scope', 'dir', 'expires', 'output'] as const).find((name) => flags[name] !== undefined);
  if (what !== 'create' && given) {
    throw new UsageError(`--${given} is for token create`, 'see szafa token --help');
  }
  if (what === undefined) return printToken(invocation);
  if (what === 'list' && about === undefined) return listSessions(invocation);
  if (what === 'create' && about) return createToken(invocation);
  if (what === 'end' && about) return endSession(invocation);
  if (what === 'create') throw new UsageError('token create needs a NAME', 'see szafa token --help');
  if (what === 'end') throw new UsageError('token end needs an ID', 'szafa token list shows them');
  throw unknownSubcommand('token', args.join(' '));
};
