import type { Plugin } from 'vite';

const STRING = /(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`)/.source;
const FOR_READERS = new RegExp(`\\b(?:summary|description):\\s*${STRING}(?:,|(?=\\s*\\}))`, 'g');
const DESCRIBED = new RegExp(
  `\\b(Text|Count|Size|Time|Hash|Sha256|Token|bytesOf)\\(\\s*${STRING},?\\s*\\)`,
  'g',
);
const LAST_TEXT = new RegExp(
  `(\\b(?:Nullable|Sealed|FileIds)\\(\\s*[\\w.()]+),\\s*${STRING},?(?=\\s*\\))`,
  'g',
);
const ERROR_ANSWERS = /\.\.\.errors\([\d, ]+\),?|\b4\d\d: (?:ErrorBody|DetailBody|DetailOrError),?/g;

/** Saves kilobytes in the page: removes descriptions, error answers and the operator's routes from the route tables. */
export function shortenSchemas(): Plugin {
  return {
    name: 'szafa-schemas',
    transform(code, id) {
      const [, path] = /\/protocol\/src\/([\w/-]+)\.ts$/.exec(id) ?? [];
      if (path === 'operator/routes') return 'export const adminRoutes = {};';
      if (path === undefined) return undefined;
      const plain = code.replace(FOR_READERS, '').replace(DESCRIBED, '$1()').replace(LAST_TEXT, '$1');
      return plain.replace(ERROR_ANSWERS, '');
    },
    enforce: 'pre',
  };
}
