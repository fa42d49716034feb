import { open, rm } from 'node:fs/promises';
import type { Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import { type Scope, scopes } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { givenSecret } from '../../lib/account/questions.ts';
import { type KeptSession, SessionStore } from '../../lib/account/session-store.ts';
import { parseEnd } from '../../lib/print/quantities.ts';
import { oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { typedPath } from '../../lib/select/paths.ts';
import { endSession, listSessions } from './sessions.ts';

const HELP = 'see szafa token --help';

/** The token of this session, for other programs. */
async function print({ settings, out }: Invocation): Promise<void> {
  const given = await givenSecret(settings.token, 'token');
  const token = given ?? (await new SessionStore(settings.config, out).load())?.token;
  if (token === undefined) throw new CliError('not-logged-in', 'not logged in', 'log in first: szafa login');
  out.answer('token', { token }, token);
}

function scopeOf({ flags: { scope } }: Invocation): Scope {
  const found = scopes.find((one) => one === scope);
  if (found) return found;
  const message =
    scope === undefined ? 'token create needs --scope' : `there is no scope "${oneLine(scope)}"`;
  throw new UsageError(message, 'choose append, read or full');
}

async function create(invocation: Invocation, device: string): Promise<void> {
  const { flags, out, signal } = invocation;
  const scope = scopeOf(invocation);
  const end = flags.expires === undefined ? undefined : parseEnd('expires', flags.expires);
  const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
  if (folder === '' || folder?.includes('/')) {
    throw new UsageError(
      'a token is for all files, or for one folder at the top',
      'omit --dir, or name such a folder',
    );
  }
  const keys = flags.output !== undefined ? 'needed' : folder !== undefined ? 'useful' : 'none';
  await using connection = await connect(invocation, { keys });
  const { szafa } = connection;
  const dir = folder === undefined ? undefined : await new Lookup(szafa, signal).topFolder(folder);
  const place = flags.output === undefined ? undefined : await Place.make(flags.output, flags.yes ?? false);
  try {
    const body = { device, scope, dir_id: dir?.dirId ?? null, expires_at: end ?? null };
    const { id, token } = await szafa.api.call('createToken', { body, signal });
    const fields = { id, name: device, scope, dir_id: body.dir_id, expires_at: body.expires_at };
    if (!place) {
      out.answer('token', { ...fields, token }, token);
      return;
    }
    try {
      await place.fill(await sessionOf(szafa, token, signal));
    } catch (error) {
      // Nobody could use it, nor see it.
      await szafa.api.call('endSession', { params: { session_id: id }, signal }).catch(() => {});
      throw error;
    }
    const text = `the session ${oneLine(device)} (${scope}) is in ${oneLine(place.path)}: it opens your files, so move it there safely`;
    out.done('token', { ...fields, path: place.path }, text);
  } catch (error) {
    await place?.remove();
    throw error;
  } finally {
    await place?.close();
  }
}

/** What another machine needs: the token and the keys, but nothing that logs in. */
async function sessionOf(szafa: Szafa, token: string, signal: AbortSignal): Promise<KeptSession> {
  const { username } = await szafa.api.call('me', { signal });
  return { server: szafa.api.server, username, token, kek: toBase64Url(szafa.keys.kek) };
}

/** A new file that only its owner can read, made before there is a secret to put into it. */
class Place {
  readonly path: string;
  readonly #handle: Awaited<ReturnType<typeof open>>;

  private constructor(path: string, handle: Awaited<ReturnType<typeof open>>) {
    this.path = path;
    this.#handle = handle;
  }

  static async make(path: string, overwrite: boolean): Promise<Place> {
    if (overwrite) await rm(path, { force: true });
    try {
      return new Place(path, await open(path, 'wx', 0o600));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      const hint = 'overwrite it with --yes, or choose another place with --output';
      throw new CliError('exists', `${oneLine(path)} already exists`, hint, 1, { cause });
    }
  }

  async fill(session: KeptSession): Promise<void> {
    await this.#handle.writeFile(`${JSON.stringify(session)}\n`);
    await this.#handle.datasync();
  }

  remove(): Promise<void> {
    return rm(this.path, { force: true });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

export const command: Command = async (invocation) => {
  const { args, flags } = invocation;
  const [what, about] = args;
  const given = (['scope', 'dir', 'expires', 'output'] as const).find((name) => flags[name] !== undefined);
  if (what !== 'create' && given) throw new UsageError(`--${given} is for token create`, HELP);
  if (what === undefined) return print(invocation);
  if (what === 'list' && about === undefined) return listSessions(invocation);
  if (what === 'create' && about) return create(invocation, about);
  if (what === 'end' && about) return endSession(invocation, about);
  if (what === 'create') throw new UsageError('token create needs a NAME: what the token is for', HELP);
  if (what === 'end') throw new UsageError('token end needs an ID', 'szafa token list shows them');
  throw new UsageError(`there is no "token ${oneLine(args.join(' '))}"`, HELP);
};
