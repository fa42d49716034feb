import type { ListedSession } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatTime, oneLine, padEnd, plural, shorten } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';

const HELP = 'see szafa sessions --help';
/** Of an id, what is shown, and what names a session if it is the only one that begins so. */
const SHOWN = 8;
const DEVICE_COLUMNS = 28;

/** `dir`: the name of the folder that it reaches; null: all of them. */
function row(session: ListedSession, dir: string | null): string {
  const { id, device, created_at, used_at, current, scope, expires_at } = session;
  const notes = [
    ...(current ? ['this session'] : []),
    ...(scope === 'full' ? [] : [`may only ${oneLine(scope)}`]),
    ...(dir === null ? [] : [dir === '' ? 'in a folder that is gone' : `in ${oneLine(dir)}`]),
    ...(expires_at === null ? [] : [`ends ${formatTime(expires_at)}`]),
  ];
  const columns = [
    oneLine(id).slice(0, SHOWN),
    padEnd(shorten(oneLine(device) || '-', DEVICE_COLUMNS), DEVICE_COLUMNS),
    `used ${formatTime(used_at)}`,
    `since ${formatTime(created_at)}`,
  ];
  return [...columns, notes.join(', ')].join('  ').trimEnd();
}

/** Sessions and tokens. */
export async function listSessions(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
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
  await using connection = await connect(invocation, { keys: 'none' });
  const ended = await connection.szafa.endOtherSessions({ signal });
  out.done('ended', { all: true, sessions: ended }, `ended ${plural(ended, 'other session')}`);
}

export async function endSession(invocation: Invocation, id: string): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'none' });
  const { szafa } = connection;
  const found = (await szafa.sessions({ signal })).filter((one) => one.id.startsWith(id.toLowerCase()));
  const [session, another] = found;
  if (!session) {
    throw new CliError('not-found', `there is no session "${oneLine(id)}"`, 'szafa sessions shows them');
  }
  if (another) throw new UsageError(`several sessions begin with "${oneLine(id)}"`, 'give more of the id');
  if (session.current)
    throw new UsageError('this is the session of this command', 'end it with szafa logout');
  await szafa.endSession(session.id, { signal });
  const text = `ended ${oneLine(session.device) || oneLine(session.id)}`;
  out.done('ended', { id: session.id, device: session.device }, text);
}

export const command: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [what, id] = args;
  if (what === undefined && !flags.all) return listSessions(invocation);
  if (what !== 'end')
    throw new UsageError(`there is no "sessions ${oneLine(args.join(' ') || '--all')}"`, HELP);
  if (flags.all && id === undefined) return endAll(invocation);
  if (!flags.all && id) return endSession(invocation, id);
  throw new UsageError('sessions end needs an ID, or --all', 'szafa sessions shows them');
};
