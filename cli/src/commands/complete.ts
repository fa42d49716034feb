import type { Command } from '../command.ts';
import { connect } from '../lib/account/connection.ts';
import { SessionStore } from '../lib/account/session-store.ts';
import { Output } from '../lib/print/output.ts';
import { oneLine } from '../lib/print/text.ts';
import { endingsOf } from '../lib/select/endings.ts';
import { Lookup } from '../lib/select/lookup.ts';

/** Who presses Tab does not wait longer. */
const LIMIT_MS = 2000;

/**
 * For the scripts of `completion`: the paths on the server that begin as was typed. Whatever goes wrong, nothing is said and nothing is
 * asked for: it is somebody's prompt. Only a session that is kept is used, since a login takes a second.
 */
export const command: Command = async ({ args: [kind, typed = ''], ...invocation }) => {
  const { settings, signal } = invocation;
  const out = new Output({ json: false, quiet: true });
  try {
    if (!(await new SessionStore(settings.config, out).load())) return;
    const limited = {
      ...invocation,
      ...{ args: [], out },
      settings: { ...settings, retrySeconds: 0 },
      signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    };
    await using connection = await connect(limited, { keys: 'useful' });
    const tree = await new Lookup(connection.szafa, limited.signal).tree();
    for (const path of endingsOf(tree, typed, kind === 'path-folder')) {
      // What would be shown otherwise than it is cannot be typed.
      if (oneLine(path) === path) out.answer('path', { path }, path);
    }
  } catch {
    // See above.
  }
};
