import type { Mutant } from '../../scripts/mutants.ts';

const NAMES = 'protocol/test/names.test.ts';
const INIT = 'protocol/test/init.test.ts';
const ONE_REQUEST = 'protocol/test/one-request.test.ts';
const JSON_TEXT = 'protocol/test/json-text.test.ts';
const HEAD = 'protocol/test/plain-head.test.ts';

export const mutants: Mutant[] = [
  {
    name: 'the scan of JSON loses a backslash at the end of a piece',
    file: 'protocol/src/basics/json-shape.ts',
    find: 'this.#escaped ||= at > length;',
    replace: '',
    tests: ['protocol/test/json-shape.test.ts'],
  },
  {
    name: 'a file name may have a character more',
    file: 'protocol/src/basics/limits.ts',
    find: 'fileNameChars: 255',
    replace: 'fileNameChars: 256',
    tests: [ONE_REQUEST],
  },
  {
    name: 'blanks at the end of a name stay',
    file: 'protocol/src/basics/names.ts',
    find: '  while (to > from && BLANK.test(text[to - 1]!)) to--;\n',
    replace: '',
    tests: [NAMES],
  },
  {
    name: 'Admin is a username like any other',
    file: 'protocol/src/basics/names.ts',
    find: 'return username.toLowerCase() === ADMIN;',
    replace: 'return username === ADMIN;',
    tests: [NAMES],
  },
  {
    name: 'directory names are counted in units of UTF-16',
    file: 'protocol/src/basics/names.ts',
    find: 'if (chars(name) > limits.dirNameChars) {',
    replace: 'if (name.length > limits.dirNameChars) {',
    tests: [NAMES],
  },
  {
    name: 'a backslash is taken in a directory name',
    file: 'protocol/src/basics/names.ts',
    find: 'if (/[/\\\\]/.test(name)) throw',
    replace: 'if (/[/]/.test(name)) throw',
    tests: [NAMES],
  },
  {
    name: 'a volume may be declared twice',
    file: 'protocol/src/transfers/init.ts',
    find: 'if (volumes[idx - 1]) throw',
    replace: 'if (idx < 0) throw',
    tests: [INIT],
  },
  {
    name: 'a volume behind the last one is taken',
    file: 'protocol/src/transfers/init.ts',
    find: 'if (idx < 1 || idx > count) throw',
    replace: 'if (idx < 1 || idx > count + 1) throw',
    tests: [INIT],
  },
  {
    name: 'a volume of just the largest size is refused',
    file: 'protocol/src/transfers/init.ts',
    find: 'if (chunk.size > maxVolumeBytes) {',
    replace: 'if (chunk.size >= maxVolumeBytes) {',
    tests: [INIT],
  },
  {
    name: 'digests keep their capital letters',
    file: 'protocol/src/transfers/init.ts',
    find: '({ sha256 }) => sha256.toLowerCase()',
    replace: '({ sha256 }) => sha256',
    tests: [INIT],
  },
  {
    name: 'a Content-Digest may say two different SHA-256',
    file: 'protocol/src/transfers/streamed.ts',
    find: 'if (found !== undefined) throw',
    replace: 'if (found === header) throw',
    tests: ['protocol/test/streamed.test.ts'],
  },
  {
    name: 'a Content-Digest may have a SHA-256 of another length',
    file: 'protocol/src/transfers/streamed.ts',
    find: 'if (bytes.length !== DIGEST_BYTES)',
    replace: 'if (bytes.length > DIGEST_BYTES)',
    tests: ['protocol/test/streamed.test.ts'],
  },
  {
    name: 'sizes are added up beyond what a number holds',
    file: 'protocol/src/transfers/init.ts',
    find: 'if (!Number.isSafeInteger(storedSize)) throw',
    replace: 'if (!Number.isFinite(storedSize)) throw',
    tests: [INIT],
  },
  {
    name: 'an id of a transfer that can be guessed is taken',
    file: 'protocol/src/transfers/one-request.ts',
    find: '{22,64}$/',
    replace: '{2,64}$/',
    tests: [ONE_REQUEST],
  },
  {
    name: 'a file of several volumes goes in one request',
    file: 'protocol/src/transfers/one-request.ts',
    find: 'if (init.body.chunk_count !== 1) throw',
    replace: 'if (init.body.chunk_count < 1) throw',
    tests: [ONE_REQUEST],
  },
  {
    name: 'of two members of one name the first is kept',
    file: 'protocol/src/basics/json-text.ts',
    find: 'found = json.slice(value, end);',
    replace: 'found ??= json.slice(value, end);',
    tests: [JSON_TEXT],
  },
  {
    name: 'a backslash before a quotation mark always escapes it',
    file: 'protocol/src/basics/json-text.ts',
    find: 'if (escapes % 2 === 0) return end + 1;',
    replace: 'if (escapes === 0) return end + 1;',
    tests: [JSON_TEXT],
  },
  {
    name: 'of a header that stands twice the last one counts',
    file: 'protocol/src/basics/plain-head.ts',
    find: 'if (key === undefined || headers.has(key)) return undefined;',
    replace: 'if (key === undefined) return undefined;',
    tests: [HEAD],
  },
  {
    name: 'a length counts beside Transfer-Encoding',
    file: 'protocol/src/basics/plain-head.ts',
    find: "headers.has('transfer-encoding') ? undefined : headers.get('content-length')",
    replace: "headers.get('content-length')",
    tests: [HEAD],
  },
];
