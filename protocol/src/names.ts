import { ADMIN, limits } from './limits.ts';

/** A value from outside that breaks a rule; the message is meant for the person who sent it. */
export class RuleError extends Error {
  override name = 'RuleError';
}

const CONTROL = /\p{Cc}/u;

function chars(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** "surrounding whitespace is removed; 3 to 32 characters; letters, digits and underscore only" */
export function cleanUsername(raw: string): string {
  const username = raw.trim();
  const { min, max } = limits.usernameChars;
  if (!/^[A-Za-z0-9_]+$/.test(username) || username.length < min || username.length > max) {
    throw new RuleError(`username must be ${min} to ${max} ASCII letters, digits or underscores`);
  }
  return username;
}

export function isReservedUsername(username: string): boolean {
  return username.toLowerCase() === ADMIN;
}

/** "6 to 128 characters" */
export function checkPassword(password: string): string {
  const { min, max } = limits.passwordChars;
  const length = chars(password);
  if (length < min || length > max) throw new RuleError(`password must have ${min} to ${max} characters`);
  return password;
}

/** "whitespace stripped; not empty; at most 64 characters; must not contain `/` or `\`" */
export function cleanDirName(raw: string): string {
  const name = raw.trim().toWellFormed();
  if (name === '') throw new RuleError('directory name is empty');
  if (/[/\\]/.test(name)) throw new RuleError('directory name must not contain / or \\');
  if (CONTROL.test(name)) throw new RuleError('directory name must not contain control characters');
  if (chars(name) > limits.dirNameChars) {
    throw new RuleError(`directory name has more than ${limits.dirNameChars} characters`);
  }
  return name;
}

/** "path separators removed, at most 255 characters"; control characters and surrounding blanks go too. */
export function cleanFileName(raw: string): string {
  const kept = raw
    .toWellFormed()
    .replace(/[/\\\p{Cc}]/gu, '')
    .trim();
  const name = Array.from(kept).slice(0, limits.fileNameChars).join('').trim();
  if (name === '') throw new RuleError('file_name is empty');
  return name;
}
