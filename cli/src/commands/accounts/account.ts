import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { proofOf } from '../../lib/account/account-mode.ts';
import { connect } from '../../lib/account/connection.ts';
import { ask, canAsk, readSecret } from '../../lib/account/questions.ts';
import { SessionStore } from '../../lib/account/session-store.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';

async function remove(invocation: Invocation): Promise<void> {
  const { flags, settings, out, signal } = invocation;
  if (!flags.yes && !canAsk()) {
    throw new CliError(
      'not-confirmed',
      'nothing was deleted: there is no terminal to ask on',
      'use --yes to delete the account without a question',
    );
  }
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const { token } = szafa;
  const { server } = szafa.api;
  const { username } = szafa;
  const { used_bytes } = await szafa.quota({ signal });
  if (!flags.yes) {
    process.stderr.write(
      `This deletes ${oneLine(username)} at ${oneLine(server)} with all its files (${formatBytes(used_bytes)}), for good.\n`,
    );
    if ((await ask('type the name of the account to go on: ', signal)).trim() !== username) {
      throw new CliError('kept', 'nothing was deleted', 'type the name exactly, or use --yes');
    }
  }
  const password = await readSecret({ source: settings.password, what: 'password', signal });
  await szafa.deleteAccount(await proofOf(invocation, szafa, password), { signal });
  const store = new SessionStore(settings.config, out);
  if ((await store.load())?.token === token) await store.remove();
  const text = `deleted ${oneLine(username)} at ${oneLine(server)} with all its files`;
  out.done('account-deleted', { server, username }, text);
}

export const command: Command = async (invocation) => {
  const { args } = invocation;
  if (args[0] === 'delete') return remove(invocation);
  throw new UsageError(`there is no "account ${oneLine(args.join(' '))}"`, 'see szafa account --help');
};
