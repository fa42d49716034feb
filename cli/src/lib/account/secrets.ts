import type { Szafa } from '@szafa/client/node';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import type { Invocation } from '../../command.ts';
import { CliError, exits } from '../../errors.ts';

/** Checks a new password or passphrase before the server hears of it; the web app has the same rule. */
export async function checkNewSecret(secret: string, what: string, username: string): Promise<void> {
  const weakness = await weaknessOf(secret, [username]);
  if (weakness === undefined) return;
  const { min, max } = SECRET_CHARS;
  const rule = `the ${what} must have ${min} to ${max} characters`;
  const message = weakness === 'guessable' ? `this ${what} is too easy to guess` : rule;
  const hint = 'use a few unrelated words, or a dozen random characters; nobody can recover it for you';
  throw new CliError('weak-secret', message, hint, exits.usage);
}

/**
 * Opens the key bag, so that a wrong secret shows here and not once files are under it. In an account without keys,
 * a secret that the login did not check is a new one.
 */
export async function checkKeys(
  szafa: Szafa,
  unchecked: string | undefined,
  { flags, signal }: Invocation,
): Promise<void> {
  if (!szafa.keys.unlocked) return;
  const beforeFirst = async () => {
    if (unchecked !== undefined) await checkNewSecret(unchecked, 'passphrase', szafa.username);
  };
  await szafa.checkKeys({ signal, filesOnly: flags.yes, beforeFirst });
}

/** Ends a session that is of no use. Waits two seconds at most: its token would expire anyway. */
export async function endSession(szafa: Szafa, signal: AbortSignal): Promise<void> {
  await szafa.logout({ signal: AbortSignal.any([AbortSignal.timeout(2000), signal]) }).catch(() => {});
}
