import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';

export const command: Command = async (invocation) => {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'none' });
  const { api } = connection.szafa;
  const { username } = await api.call('me', { signal });
  out.answer('user', { username, server: api.server }, `${oneLine(username)} at ${oneLine(api.server)}`);
};
