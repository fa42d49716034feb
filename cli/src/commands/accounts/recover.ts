import { Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import { cleanUsername } from '@szafa/protocol';
import type { Command } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { AccountMode } from '../../lib/account/account-mode.ts';
import { clientOptions, sameServer } from '../../lib/account/connection.ts';
import { readSecret } from '../../lib/account/questions.ts';
import { type PreparedKey, prepareKey, readKey, withKey } from '../../lib/account/recovery.ts';
import { checkNew } from '../../lib/account/secrets.ts';
import { SessionStore } from '../../lib/account/session-store.ts';
import { oneLine } from '../../lib/print/text.ts';
import { userOf } from './login.ts';

export const command: Command = async (invocation) => {
  const { settings, flags, out, signal } = invocation;
  const store = new SessionStore(settings.config, out);
  const kept = await store.load();
  const given = settings.server ?? kept?.server;
  if (given === undefined) throw new UsageError('no server is known', 'give its address: --server URL');
  const server = sameServer(given);
  const username = cleanUsername(await userOf(invocation, kept?.username));
  const { options, close } = clientOptions(invocation, server);
  const engine = options.engine!;
  let prepared: PreparedKey | undefined;
  const secret = async (what: 'password' | 'passphrase') => {
    const source = what === 'password' ? settings.newPassword : settings.newPassphrase;
    const text = await readSecret({ source, what: `new ${what}`, twice: true, signal });
    await checkNew(text, what, username);
    return text;
  };
  const renew = async () => {
    const password = await secret('password');
    const { text, file } = settings.newPassphrase;
    const passphrase = flags.passphrase || text || file ? await secret('passphrase') : undefined;
    prepared = (await prepareKey(invocation, engine, { server, username }, false))!;
    return { password, passphrase, recoveryKey: prepared.key };
  };
  try {
    const recoveryKey = await readKey(invocation, engine);
    const { device } = settings;
    const szafa = await Szafa.recover(options, { username, recoveryKey, renew, device }).catch((error) =>
      withKey(prepared, () => Promise.reject(error)),
    );
    await new AccountMode(settings.config, server, username).remember('derived');
    await szafa.checkKeys({ signal });
    await store.save({ server, username, token: szafa.token!, kek: toBase64Url(szafa.keys.kek) });
  } finally {
    await close();
  }
  const text = `recovered ${username} at ${oneLine(server)} and logged in: the new password and the new recovery key count, all other sessions have ended, and a second factor is off`;
  out.done('recovered', { server, username, file: prepared?.path }, text);
};
