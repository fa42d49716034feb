import type { Command } from '../../command.ts';
import { proofOf } from '../../lib/account/account-mode.ts';
import { connect } from '../../lib/account/connection.ts';
import { readSecret } from '../../lib/account/questions.ts';
import { prepareKey, withKey } from '../../lib/account/recovery.ts';
import { oneLine } from '../../lib/print/text.ts';

export const command: Command = async (invocation) => {
  const { settings, out, signal } = invocation;
  const password = await readSecret({ source: settings.password, what: 'password', signal });
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const { server } = szafa.api;
  const { username } = szafa;
  const proof = await proofOf(invocation, szafa, password);
  await szafa.checkKeys({ signal });
  const prepared = (await prepareKey(invocation, szafa.engine, { server, username }, false))!;
  await withKey(prepared, () => szafa.setRecoveryKey(proof, prepared.key, { signal }));
  const where = prepared.path === undefined ? '' : ` is in ${oneLine(prepared.path)}, and`;
  const text = `the new recovery key${where} counts; one from before opens nothing any more`;
  out.done('recovery', { server, username, file: prepared.path }, text);
};
