import type { Command } from '../../command.ts';
import { CliError, unknownSubcommand } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { proveAccount } from '../../lib/account/password-mode.ts';
import { ask, canAsk } from '../../lib/account/questions.ts';
import { SessionStore } from '../../lib/account/session-store.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';

export const account: Command = async (invocation) => {
  const { args, flags, settings, out, signal } = invocation;
  if (args[0] !== 'delete') throw unknownSubcommand('account', args.join(' '));
  if (!flags.yes && !canAsk()) {
    const hint = 'use --yes to delete the account without a question';
    throw new CliError('not-confirmed', 'nothing was deleted: there is no terminal to ask on', hint);
  }
  await using szafa = await connect(invocation, { keys: 'useful' });
  const { token, username } = szafa;
  const { server } = szafa.api;
  const { used_bytes } = await szafa.quota({ signal });
  if (!flags.yes) {
    process.stderr.write(
      `This deletes ${oneLine(username)} at ${oneLine(server)} with all its files (${formatBytes(used_bytes)}), permanently.\n`,
    );
    if ((await ask('type the name of the account to continue: ', signal)).trim() !== username) {
      throw new CliError('kept', 'nothing was deleted', 'type the name exactly, or use --yes');
    }
  }
  await szafa.deleteAccount(await proveAccount(invocation, szafa), { signal });
  const store = new SessionStore(settings.config, out);
  if ((await store.load())?.token === token) await store.remove();
  const text = `deleted ${oneLine(username)} at ${oneLine(server)} with all its files`;
  out.done('account-deleted', { server, username }, text);
};

export const whoami: Command = async (invocation) => {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'none' });
  const { server } = szafa.api;
  const { username } = await szafa.api.call('me', { signal });
  out.answer('user', { username, server }, `${oneLine(username)} at ${oneLine(server)}`);
};

export const quota: Command = async (invocation) => {
  const { out, signal } = invocation;
  await using szafa = await connect(invocation, { keys: 'none' });
  const { used_bytes, quota_bytes, remain_bytes, percent } = await szafa.quota({ signal });
  const used = `${formatBytes(used_bytes)} of ${formatBytes(quota_bytes)} used (${percent} %)`;
  const fields = { used_bytes, quota_bytes, remain_bytes, percent };
  out.answer('quota', fields, `${used}, ${formatBytes(remain_bytes)} left`);
};
