import type { Command } from '../../command.ts';
import { connect } from '../../lib/account/connection.ts';
import { formatBytes } from '../../lib/print/text.ts';

export const command: Command = async (invocation) => {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'none' });
  const quota = await connection.szafa.quota({ signal });
  const { used_bytes, quota_bytes, remain_bytes, percent } = quota;
  out.answer(
    'quota',
    { used_bytes, quota_bytes, remain_bytes, percent },
    `${formatBytes(used_bytes)} of ${formatBytes(quota_bytes)} used (${percent} %), ${formatBytes(remain_bytes)} left`,
  );
};
