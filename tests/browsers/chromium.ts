import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Chromium } from '../web/browser.ts';
import type { Driver } from './driver.ts';

export async function openChromium(folder: string): Promise<Driver> {
  const downloads = join(folder, 'downloads');
  await mkdir(downloads, { recursive: true });
  const browser = new Chromium();
  await browser.start();
  const { page } = await browser.visit('about:blank');
  page.on('download', (download) => void download.saveAs(join(downloads, download.suggestedFilename())));
  return {
    name: 'Chromium',
    downloads,
    async goto(url) {
      await page.goto(url);
    },
    async evaluate(work, ...args) {
      const call = `(async () => JSON.stringify((await (${work})(...${JSON.stringify(args)})) ?? null))()`;
      return JSON.parse(await page.evaluate<string>(call));
    },
    async choose(selector, paths) {
      await page.locator(selector).setInputFiles(paths);
    },
    close: () => browser.stop(),
  };
}
