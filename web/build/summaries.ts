import type { Plugin } from 'vite';

const SUMMARY = /^\s*summary:\s*(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`]*`),$/gm;

/** What the table of routes says to people stays out of the page, which would be kilobytes larger. */
export function leaveOutSummaries(): Plugin {
  return {
    name: 'szafa-summaries',
    transform(code, id) {
      return /\/protocol\/src\/[\w-]+\.ts$/.test(id) ? code.replace(SUMMARY, '') : undefined;
    },
    enforce: 'pre',
  };
}
