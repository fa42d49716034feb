/** Runs a module of the sources in a page of the browser, where it has the real IndexedDB and WebCrypto. */
import type { Page } from 'playwright-core';
import { build } from 'vite';

/** Bundles the module `entry` and makes its exports the global variable `name` of the page. */
export async function loadInto(page: Page, entry: string, name: string): Promise<void> {
  const bundle = await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, minify: false, target: 'es2023', lib: { entry, formats: ['iife'], name } },
  });
  const [output] = [bundle].flat() as { output: { code: string }[] }[];
  await page.evaluate(`${output!.output[0]!.code}; globalThis.${name} = ${name}; undefined`);
}
