import type { Change, Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { proofOf } from '../../lib/account/account-mode.ts';
import { type Connection, connect } from '../../lib/account/connection.ts';
import { givenSecret, readSecret } from '../../lib/account/questions.ts';
import { checkNew } from '../../lib/account/secrets.ts';
import { SessionStore } from '../../lib/account/session-store.ts';

/** The kept session goes on with the new key; another one, for this command alone, leaves nothing. */
async function keep({ settings, out }: Invocation, szafa: Szafa): Promise<void> {
  const store = new SessionStore(settings.config, out);
  const kept = await store.load();
  if (kept?.token !== szafa.token || !szafa.keys.unlocked) return;
  await store.save({ ...kept!, kek: toBase64Url(szafa.keys.kek) });
}

/** With the password that counts: where there is no session, that may be the new one, after a run that was cut off. */
async function connectWith(invocation: Invocation, current: string, next: string): Promise<Connection> {
  const { settings } = invocation;
  const as = (text: string) => ({
    ...invocation,
    settings: { ...settings, password: { ...settings.password, text } },
  });
  try {
    return await connect(as(current), { keys: 'useful' });
  } catch (error) {
    if (explain(error).code !== 'wrong-password') throw error;
    return connect(as(next), { keys: 'useful' }).catch(() => {
      throw error;
    });
  }
}

export const command: Command = async (invocation) => {
  const { flags, settings, out, signal } = invocation;
  const what = flags.passphrase ? 'passphrase' : 'password';
  const password = await readSecret({
    source: settings.password,
    what: flags.passphrase ? 'password' : 'current password',
    signal,
  });
  const source = flags.passphrase ? settings.newPassphrase : settings.newPassword;
  const next = await readSecret({ source, what: `new ${what}`, twice: true, signal });
  if (!flags.passphrase && next === password) {
    throw new UsageError('the new password is the same as the current one', 'choose another one');
  }
  const current = flags.passphrase ? await givenSecret(settings.passphrase, 'passphrase') : undefined;
  await using connection = await connectWith(invocation, password, next);
  const { szafa } = connection;
  const { username } = szafa;
  await checkNew(next, what, username);
  const { server } = szafa.api;
  const proof = await proofOf(invocation, szafa, password);
  const result: Change = flags.passphrase
    ? await szafa.changePassphrase(proof, next, { current, signal })
    : await szafa.changePassword(proof, next, { signal });
  await keep(invocation, szafa);
  const text =
    result === 'changed'
      ? `the ${what} is changed; all other sessions have ended`
      : `the new ${what} counts already: an earlier run has changed it`;
  out.done('password', { server, username, what, result }, text);
};
