import { open, rm } from 'node:fs/promises';
import type { Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import { type ListedSession, type Scope, scopes } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, exits, UsageError, unknownSubcommand } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { configuredSecret } from '../../lib/account/questions.ts';
import { SessionStore, type StoredSession } from '../../lib/account/session-store.ts';
import { parseEnd } from '../../lib/print/quantities.ts';
import { formatTime, oneLine, padEnd, plural, shorten } from '../../lib/print/text.ts';
import { ID_COLUMNS } from '../../lib/select/by-id.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { typedPath } from '../../lib/select/paths.ts';

const DEVICE_COLUMNS = 28;

/** `dir`: the name of the folder that the token is limited to, '' if that is gone; null: no limit. */
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
async function listSessions(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'useful' });
  const lookup = new Lookup(szafa, signal);
  for (const session of await szafa.sessions({ signal })) {
    const { id, device, created_at, used_at, current, scope, dir_id, expires_at } = session;
    const dir = dir_id === null ? null : await lookup.topFolderName(dir_id);
    const fields = { id, device, created_at, used_at, current, scope, dir_id, dir_name: dir, expires_at };
    out.answer('open-session', fields, row(session, dir));
  }
}

async function endAll(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'none' });
  const ended = await szafa.endOtherSessions({ signal });
  out.done('ended', { all: true, sessions: ended }, `ended ${plural(ended, 'other session')}`);
}

async function endSession(invocation: Invocation, id: string): Promise<void> {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'none' });
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
}

export const sessions: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [what, id] = args;
  if (what === undefined && !flags.all) return listSessions(invocation);
  if (what !== 'end') throw unknownSubcommand('sessions', args.join(' ') || '--all');
  if (flags.all && id === undefined) return endAll(invocation);
  if (!flags.all && id) return endSession(invocation, id);
  throw new UsageError('sessions end needs an ID, or --all', 'szafa sessions shows them');
};

/** Prints the token of this session, for other programs. */
async function printToken({ settings, out }: Invocation): Promise<void> {
  const given = await configuredSecret(settings.token, 'token');
  const token = given ?? (await new SessionStore(settings.config, out).load())?.token;
  if (token === undefined) throw new CliError('not-logged-in', 'not logged in', 'log in first: szafa login');
  out.answer('token', { token }, token);
}

function readScope({ flags: { scope } }: Invocation): Scope {
  const found = scopes.find((one) => one === scope);
  if (found) return found;
  const message =
    scope === undefined ? 'token create needs --scope' : `there is no scope "${oneLine(scope)}"`;
  throw new UsageError(message, 'choose append, read or full');
}

async function createToken(invocation: Invocation, device: string): Promise<void> {
  const { flags, out, signal } = invocation;
  const scope = readScope(invocation);
  const end = flags.expires === undefined ? undefined : parseEnd('expires', flags.expires);
  const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
  if (folder === '' || folder?.includes('/')) {
    const message = 'a token is for all files, or for one top-level folder';
    throw new UsageError(message, 'omit --dir, or name such a folder');
  }
  const keys = flags.output !== undefined ? 'needed' : folder !== undefined ? 'useful' : 'none';
  await using szafa = await connect(invocation, { keys });
  const dir = folder === undefined ? undefined : await new Lookup(szafa, signal).topFolder(folder);
  const file =
    flags.output === undefined ? undefined : await createPrivateFile(flags.output, flags.yes ?? false);
  try {
    const body = { device, scope, dir_id: dir?.dirId ?? null, expires_at: end ?? null };
    const { id, token } = await szafa.api.call('createToken', { body, signal });
    const fields = { id, name: device, scope, dir_id: body.dir_id, expires_at: body.expires_at };
    if (!file) {
      out.answer('token', { ...fields, token }, token);
      return;
    }
    try {
      await file.handle.writeFile(`${JSON.stringify(await sessionFor(szafa, token, signal))}\n`);
      await file.handle.datasync();
    } catch (error) {
      // Nobody could use the token, nor see it.
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
}

/** A session for another machine: the token and the keys, but nothing to log in with. */
async function sessionFor(szafa: Szafa, token: string, signal: AbortSignal): Promise<StoredSession> {
  const { username } = await szafa.api.call('me', { signal });
  return { server: szafa.api.server, username, token, kek: toBase64Url(szafa.keys.kek) };
}

/** Creates a file that only its owner can read, before there is a secret to write into it. */
async function createPrivateFile(path: string, overwrite: boolean) {
  if (overwrite) await rm(path, { force: true });
  try {
    return { path, handle: await open(path, 'wx', 0o600) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    const hint = 'overwrite it with --yes, or choose another path with --output';
    throw new CliError('exists', `${oneLine(path)} already exists`, hint, exits.failed, { cause });
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
  if (what === 'create' && about) return createToken(invocation, about);
  if (what === 'end' && about) return endSession(invocation, about);
  if (what === 'create') throw new UsageError('token create needs a NAME', 'see szafa token --help');
  if (what === 'end') throw new UsageError('token end needs an ID', 'szafa token list shows them');
  throw unknownSubcommand('token', args.join(' '));
};
