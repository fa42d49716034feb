import { type Change, Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { type Connection, clientOptions, connect, serverFor } from '../../lib/account/connection.ts';
import { type PreparedKey, prepareKey, readKey, withKey } from '../../lib/account/recovery.ts';
import {
  checkNewSecret,
  configuredSecret,
  isConfigured,
  passwordMode,
  proveAccount,
  readSecret,
} from '../../lib/account/secrets.ts';
import { sessionStore } from '../../lib/account/session-store.ts';
import { oneLine } from '../../lib/print/text.ts';
import { readUsername } from './login.ts';

/** Updates the key in the stored session. A session opened for this command alone is not stored. */
async function keepSession({ settings, out }: Invocation, szafa: Szafa): Promise<void> {
  const store = sessionStore({ settings, out });
  const stored = await store.load();
  if (stored?.token !== szafa.token || !szafa.keys.unlocked) return;
  await store.save({ ...stored!, kek: toBase64Url(szafa.keys.kek) });
}

/** Connects with the current password, or with the new one if an interrupted run has already set it. */
async function connectWith(invocation: Invocation, current: string, next: string): Promise<Connection> {
  const { settings } = invocation;
  const as = (text: string) => ({
    ...invocation,
    settings: { ...settings, password: { ...settings.password, text } },
  });
  try {
    return await connect(as(current), 'useful');
  } catch (error) {
    if (explain(error).code !== 'wrong-password') throw error;
    return connect(as(next), 'useful').catch(() => {
      throw error;
    });
  }
}

export const passwd: Command = async (invocation) => {
  const { flags, settings, out, signal } = invocation;
  const [what, current, source] = flags.passphrase
    ? (['passphrase', 'password', settings.newPassphrase] as const)
    : (['password', 'current password', settings.newPassword] as const);
  const password = await readSecret({ source: settings.password, what: current, signal });
  const next = await readSecret({ source, what: `new ${what}`, twice: true, signal });
  if (!flags.passphrase && next === password) {
    throw new UsageError('the new password is the same as the current one', 'choose another one');
  }
  const passphrase = flags.passphrase ? await configuredSecret(settings.passphrase, 'passphrase') : undefined;
  await using szafa = await connectWith(invocation, password, next);
  const { username } = szafa;
  await checkNewSecret(next, what, username);
  const proof = await proveAccount({ ...invocation, szafa }, password);
  const result: Change = flags.passphrase
    ? await szafa.changePassphrase(proof, next, { current: passphrase, signal })
    : await szafa.changePassword(proof, next, { signal });
  await keepSession(invocation, szafa);
  const text =
    result === 'changed'
      ? `the ${what} is changed; all other sessions have ended`
      : `the new ${what} is valid already: an earlier run has changed it`;
  out.done('password', { server: szafa.api.server, username, what, result }, text);
};

export const recovery: Command = async (invocation) => {
  const { settings, out, signal } = invocation;
  const password = await readSecret({ source: settings.password, what: 'password', signal });
  await using szafa = await connect(invocation, 'needed');
  const account = { server: szafa.api.server, username: szafa.username };
  const proof = await proveAccount({ ...invocation, szafa }, password);
  await szafa.checkKeys({ signal });
  const prepared = (await prepareKey(invocation, szafa.engine, account, false))!;
  await withKey(prepared, () => szafa.setRecoveryKey(proof, prepared.key, { signal }));
  const where = prepared.path === undefined ? '' : ` is in ${oneLine(prepared.path)}, and`;
  const text = `the new recovery key${where} is valid; earlier ones open nothing any more`;
  out.done('recovery', { ...account, file: prepared.path }, text);
};

export const recover: Command = async (invocation) => {
  const { settings, flags, out, signal } = invocation;
  const store = sessionStore({ settings, out });
  const stored = await store.load();
  const server = serverFor(settings, stored);
  const username = await readUsername(invocation, stored?.username);
  await using client = clientOptions(invocation, server);
  const engine = client.options.engine!;
  let prepared: PreparedKey | undefined;
  const readNew = async (what: 'password' | 'passphrase') => {
    const source = what === 'password' ? settings.newPassword : settings.newPassphrase;
    const secret = await readSecret({ source, what: `new ${what}`, twice: true, signal });
    await checkNewSecret(secret, what, username);
    return secret;
  };
  const renew = async () => {
    const password = await readNew('password');
    const hasPassphrase = flags.passphrase || isConfigured(settings.newPassphrase);
    const passphrase = hasPassphrase ? await readNew('passphrase') : undefined;
    prepared = (await prepareKey(invocation, engine, { server, username }, false))!;
    return { password, passphrase, recoveryKey: prepared.key };
  };
  const recoveryKey = await readKey(invocation, engine);
  const { device, config } = settings;
  const szafa = await Szafa.recover(client.options, { username, recoveryKey, renew, device }).catch((error) =>
    withKey(prepared, () => Promise.reject(error)),
  );
  await passwordMode(config, server, username).save('derived');
  await szafa.checkKeys({ signal });
  await store.save({ server, username, token: szafa.token!, kek: toBase64Url(szafa.keys.kek) });
  const text = `recovered ${username} at ${oneLine(server)} and logged in: use the new password and the new recovery key. All other sessions have ended, and two-factor authentication is off`;
  out.done('recovered', { server, username, file: prepared?.path }, text);
};
