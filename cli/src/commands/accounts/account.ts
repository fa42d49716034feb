import type { Invocation } from '../../command.ts';
import { CliError, unknownSubcommand } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { ask, canAsk, proveAccount } from '../../lib/account/secrets.ts';
import { sessionStore } from '../../lib/account/session-store.ts';
import { formatBytes, oneLine } from '../../lib/print/text.ts';

function check({ args, flags }: Invocation): void {
  if (args[0] !== 'delete') throw unknownSubcommand('account', args.join(' '));
  if (flags.yes || canAsk()) return;
  const hint = 'use --yes to delete the account without a question';
  throw new CliError('not-confirmed', 'nothing was deleted: there is no terminal to ask on', hint);
}

export const account = withAccount({ keys: 'useful', check }, async (invocation) => {
  const { flags, settings, out, signal, szafa } = invocation;
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
  await szafa.deleteAccount(await proveAccount(invocation), { signal });
  const store = sessionStore({ settings, out });
  if ((await store.load())?.token === token) await store.remove();
  const text = `deleted ${oneLine(username)} at ${oneLine(server)} with all its files`;
  out.done('account-deleted', { server, username }, text);
});

export const whoami = withAccount('none', async ({ out, signal, szafa }) => {
  const { server } = szafa.api;
  const { username } = await szafa.api.call('me', { signal });
  out.answer('user', { username, server }, `${oneLine(username)} at ${oneLine(server)}`);
});

export const quota = withAccount('none', async ({ out, signal, szafa }) => {
  const { used_bytes, quota_bytes, remain_bytes, percent } = await szafa.quota({ signal });
  const used = `${formatBytes(used_bytes)} of ${formatBytes(quota_bytes)} used (${percent} %)`;
  const fields = { used_bytes, quota_bytes, remain_bytes, percent };
  out.answer('quota', fields, `${used}, ${formatBytes(remain_bytes)} left`);
});
