import type { Szafa } from '@szafa/client/node';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import type { Invocation } from '../../command.ts';
import { CliError, exits } from '../../errors.ts';

/** A new password or passphrase, before the service hears of it; the page has the same rule. */
export async function checkNew(secret: string, what: string, username: string): Promise<void> {
  const weakness = await weaknessOf(secret, [username]);
  if (weakness === undefined) return;
  const { min, max } = SECRET_CHARS;
  const rule = `the ${what} must have ${min} to ${max} characters`;
  const message = weakness === 'guessable' ? `this ${what} is too easy to guess` : rule;
  const hint = 'use a few unrelated words, or a dozen random characters; nobody can recover it for you';
  throw new CliError('weak-secret', message, hint, exits.usage);
}

/**
 * A wrong secret shows here, not when files and directories are already under it. Where the account has no keys yet, a secret
 * that the service did not check at the login is a new one.
 */
export async function checkKeys(
  szafa: Szafa,
  unchecked: string | undefined,
  { flags, signal }: Invocation,
): Promise<void> {
  if (!szafa.keys.unlocked) return;
  const beforeFirst = async () => {
    if (unchecked !== undefined) await checkNew(unchecked, 'passphrase', szafa.username);
  };
  await szafa.checkKeys({ signal, filesOnly: flags.yes, beforeFirst });
}

/** Ends a session that is of no use. Its token would end by itself; an answer is not worth waiting long for. */
export async function endSession(szafa: Szafa, signal: AbortSignal): Promise<void> {
  await szafa.logout({ signal: AbortSignal.any([AbortSignal.timeout(2000), signal]) }).catch(() => {});
}
