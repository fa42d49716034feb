import type { Command, Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { connect } from '../../lib/account/connection.ts';
import { type KeptSession, SessionStore } from '../../lib/account/session-store.ts';

/** The keys leave this machine whether or not the service can be told. */
export const command: Command = async (invocation) => {
  const { settings, out, signal } = invocation;
  const store = new SessionStore(settings.config, out);
  const kept = await store.load();
  const { token } = settings;
  if (!kept && token.text === undefined && token.file === undefined) {
    throw new CliError('not-logged-in', 'not logged in', 'there is no session to end');
  }
  let failure: unknown;
  try {
    await using connection = await connect(kept ? about(kept, invocation) : invocation, { keys: 'none' });
    await connection.szafa.logout({ signal });
  } catch (error) {
    failure = error;
  }
  await store.remove();
  if (failure !== undefined) {
    signal.throwIfAborted();
    const { code, message } = explain(failure);
    // A token that is not known any more is what a logout brings about.
    if (code !== 'unauthorized') {
      const hint = 'the keys are deleted from this machine; the token expires by itself after some weeks';
      throw new CliError(code, `the server could not be told: ${message}`, hint, 1, { cause: failure });
    }
  }
  out.done('logout', { server: kept?.server, username: kept?.username }, 'logged out');
};

const NONE = { text: undefined, file: undefined, names: '' };

/** The kept session is the one to end, whatever else is set. */
function about({ server, username }: KeptSession, invocation: Invocation): Invocation {
  return { ...invocation, settings: { ...invocation.settings, server, user: username, token: NONE } };
}
