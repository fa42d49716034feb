import { ADMIN, limits } from './limits.ts';

/** Input that breaks a rule. The message is sent to the caller. */
export class RuleError extends Error {
  override name = 'RuleError';
}

/** Unicode White_Space, which includes U+0085, and U+001C to U+001F. */
const BLANK = /[\p{White_Space}\u001c-\u001f]/u;

/** Removes surrounding whitespace. Does not use a pattern: one that ends in $ can take quadratic time. */
export function strip(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && BLANK.test(text[from]!)) from++;
  while (to > from && BLANK.test(text[to - 1]!)) to--;
  return text.slice(from, to);
}

function chars(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Specification: "3 to 32 characters; letters, digits and underscore only" */
export function isUsername(text: string): boolean {
  const { min, max } = limits.usernameChars;
  return /^[A-Za-z0-9_]+$/.test(text) && text.length >= min && text.length <= max;
}

/** Specification: "surrounding whitespace is removed" */
export function cleanUsername(raw: string): string {
  const username = strip(raw);
  if (!isUsername(username)) {
    const { min, max } = limits.usernameChars;
    throw new RuleError(`username must be ${min} to ${max} ASCII letters, digits or underscores`);
  }
  return username;
}

export function isReservedUsername(username: string): boolean {
  return username.toLowerCase() === ADMIN;
}

/** Specification: "6 to 128 characters" */
export function checkPassword(password: string): string {
  const { min, max } = limits.passwordChars;
  const length = chars(password);
  if (length < min || length > max) throw new RuleError(`password must have ${min} to ${max} characters`);
  return password;
}

/** Specification: "whitespace stripped; not empty; at most 64 characters; must not contain `/` or `\`" */
export function cleanDirName(raw: string): string {
  const name = strip(raw).toWellFormed();
  if (name === '') throw new RuleError('directory name is empty');
  if (/[/\\]/.test(name)) throw new RuleError('directory name must not contain / or \\');
  // Beyond the specification: PostgreSQL cannot store NUL.
  if (name.includes('\0')) throw new RuleError('directory name must not contain NUL');
  if (chars(name) > limits.dirNameChars) {
    throw new RuleError(`directory name has more than ${limits.dirNameChars} characters`);
  }
  return name;
}

/** Specification: "path separators removed, at most 255 characters". Also removes control characters and surrounding whitespace. */
export function cleanFileName(raw: string): string {
  const kept = strip(raw.toWellFormed().replace(/[/\\\p{Cc}]/gu, ''));
  const isShort = kept.length <= limits.fileNameChars;
  const name = isShort ? kept : strip(Array.from(kept).slice(0, limits.fileNameChars).join(''));
  if (name === '') throw new RuleError('file_name is empty');
  return name;
}

/** Removes surrounding whitespace and all control characters from a device name, because users see it in lists. */
export function cleanDevice(raw: string): string {
  const device = strip(raw.toWellFormed().replace(/\p{Cc}/gu, ''));
  if (chars(device) > limits.deviceChars) {
    throw new RuleError(`device has more than ${limits.deviceChars} characters`);
  }
  return device;
}
