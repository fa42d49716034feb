import { type Bytes, type Engine, parseRecoveryText, RECOVERY_GROUPS } from '@szafa/format';

/** Returns the text of a page with a recovery key, to be printed or saved. @public */
export function recoverySheet(
  key: string,
  { server, username }: { server: string; username: string },
  now = new Date(),
): string {
  const groups = key.split('-');
  const half = groups.length / 2;
  return [
    'Recovery key of a szafa account',
    '',
    `server:  ${server}`,
    `account: ${username}`,
    `made:    ${now.toISOString().slice(0, 10)}`,
    '',
    `    ${groups.slice(0, half).join('-')}`,
    `    ${groups.slice(half).join('-')}`,
    '',
    'Anyone who has this key can open the account. Keep it apart from the password.',
    'If you lose the password, use this key under "Forgot your password?"',
    'at the address above, or with the command',
    '',
    `    szafa recover ${username} --server ${server}`,
    '',
  ].join('\n');
}

/** Returns every part of a text that may be a key. Matches overlap, since four-letter words before a key look like its first groups. */
function candidates(text: string): string[] {
  const groups = `(?:[0-9A-Za-z]{4}[-\\s]+){${RECOVERY_GROUPS - 1}}[0-9A-Za-z]{4}`;
  const found = text.matchAll(new RegExp(`(?<![0-9A-Za-z])(?=(${groups})(?![0-9A-Za-z]))`, 'g'));
  return [text, ...Array.from(found, (match) => match[1]!)];
}

/**
 * Finds the recovery key in a text, which may be a whole page, by its checksum.
 * @throws RecoveryKeyError about the last candidate @public
 */
export async function recoveryKeyIn(engine: Engine, text: string): Promise<Bytes> {
  let wrong: unknown;
  for (const one of candidates(text)) {
    try {
      return await parseRecoveryText(engine, one);
    } catch (error) {
      wrong = error;
    }
  }
  throw wrong;
}
