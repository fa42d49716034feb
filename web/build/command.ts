import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';
import { bundleCommand } from '../../cli/scripts/bundle.ts';

/** Ships the CLI of the same version with the page, which shows its digest. */
export function command(): Plugin {
  let source = '';
  return {
    name: 'szafa-command',
    apply: 'build',
    async config() {
      source = await bundleCommand();
      const digest = createHash('sha256').update(source).digest('hex');
      return { define: { COMMAND_SHA256: JSON.stringify(digest) } };
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'szafa.cjs', source });
    },
  };
}
