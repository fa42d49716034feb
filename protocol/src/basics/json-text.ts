import { RuleError } from './names.ts';

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Returns the source text of a member of a JSON object, or undefined if there is none. Parsing and serializing would change large
 * numbers, escapes and repeated keys. `json` must be valid JSON. If the name is repeated, the last member counts, as in JSON.parse.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipBlanks(json, 0);
  if (json.charCodeAt(at) !== OPEN_BRACE) return undefined;
  do {
    const key = skipBlanks(json, at + 1);
    if (json.charCodeAt(key) !== QUOTE) break; // the object is empty
    const keyEnd = endOfString(json, key);
    // Skip the colon.
    const value = skipBlanks(json, skipBlanks(json, keyEnd) + 1);
    const end = endOfValue(json, value);
    if (isText(json.slice(key, keyEnd), name)) found = json.slice(value, end);
    at = skipBlanks(json, end);
  } while (json.charCodeAt(at) === COMMA);
  return found;
}

/** Compares a string literal, which may contain escapes, with a text. */
function isText(literal: string, text: string): boolean {
  return literal.includes('\\') ? JSON.parse(literal) === text : literal === `"${text}"`;
}

/** Only the four whitespace characters of JSON, not all of Unicode. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function skipBlanks(json: string, from: number): number {
  let at = from;
  while (isBlank(json.charCodeAt(at))) at++;
  return at;
}

/** `from` is the opening quote. Uses indexOf for speed: an init body consists mostly of digests. */
function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end > 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
  throw new RuleError('a string in the JSON does not end');
}

function endOfValue(json: string, from: number): number {
  const first = json.charCodeAt(from);
  if (first === QUOTE) return endOfString(json, from);
  const isNested = first === OPEN_BRACE || first === OPEN_BRACKET;
  return isNested ? endOfNested(json, from) : endOfWord(json, from);
}

/** Counts brackets instead of recursing, so that deep nesting cannot overflow the stack. */
function endOfNested(json: string, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at + 1;
  }
  throw new RuleError('an object or array in the JSON does not end');
}

/** Finds the end of a number, true, false or null. */
function endOfWord(json: string, from: number): number {
  let at = from;
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || isBlank(code)) break;
  }
  return at;
}
