import { RECOVERY_GROUPS } from './format/recovery.ts';

/** A page with a recovery key on it, to be printed or kept as a file. @public */
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
    'Whoever has this key can open the account. Keep it apart from the password.',
    'If the password is lost, you come back with it: under "Forgot your password?"',
    'at the address above, or with the command',
    '',
    `    szafa recover ${username} --server ${server}`,
    '',
  ].join('\n');
}

/** The key in a text, which may be such a page; or else the text itself. @public */
export function recoveryTextIn(text: string): string {
  const groups = `(?:[0-9A-Za-z]{4}[-\\s]+){${RECOVERY_GROUPS - 1}}[0-9A-Za-z]{4}`;
  return new RegExp(`(?<![0-9A-Za-z])${groups}(?![0-9A-Za-z])`).exec(text)?.[0] ?? text;
}
