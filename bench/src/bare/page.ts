/**
 * The bare page does only what every page must do that uploads like szafa: it reads the file into reused memory, seals it with Web
 * Crypto in segments of the same size, hashes it and sends it to the same server, with as many workers and volumes at once as the web
 * app. The difference to the web app is the cost of the app itself; the rest is the cost of the browser.
 */
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { DEFAULT_VOLUME_SIZE, SEGMENT_SIZE, sealedSize } from '@szafa/format';
import { pathOf, volumeSocket } from '@szafa/protocol';
import { VOLUMES_AT_ONCE } from '../../../web/src/core/transport/transport.worker.ts';
import { BareBrowser } from '../browser.ts';
import type { BareWay } from '../results.ts';

const OPEN_MS = 60_000;
const textOf = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

export class BarePage {
  readonly #browser: BareBrowser;
  readonly #token: string;

  private constructor(browser: BareBrowser, token: string) {
    this.#browser = browser;
    this.#token = token;
  }

  static async open(service: string, token: string): Promise<BarePage> {
    // Any API answer will do: it is a document of the right origin without a Content Security Policy for scripts.
    const url = `${service}${pathOf('service')}`;
    const browser = await BareBrowser.start(url, '');
    try {
      const there = `location.href === ${JSON.stringify(url)} && document.readyState === 'complete'`;
      await browser.until('an answer of the API', there, OPEN_MS);
      await browser.evaluate(textOf('page.js'));
      await browser.evaluate(`openBare(${JSON.stringify(textOf('worker.js'))})`);
      return new BarePage(browser, token);
    } catch (error) {
      await browser.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#browser.pid;
  }

  /** Uploads a file and returns the seconds until the server has answered complete. */
  async upload(path: string, way: BareWay): Promise<number> {
    const { size } = await stat(path);
    const count = Math.ceil(size / DEFAULT_VOLUME_SIZE);
    const lengths = Array.from({ length: count }, (_, at) =>
      Math.min(DEFAULT_VOLUME_SIZE, size - at * DEFAULT_VOLUME_SIZE),
    );
    const upload = {
      way,
      token: this.#token,
      socket: volumeSocket,
      volumesAtOnce: VOLUMES_AT_ONCE,
      volumeBytes: DEFAULT_VOLUME_SIZE,
      segmentBytes: SEGMENT_SIZE,
      sizes: lengths.map(sealedSize),
    };
    const began = performance.now();
    await this.#browser.chooseFiles('input', [path]);
    await this.#browser.evaluate(`uploadBare(${JSON.stringify(upload)})`);
    return (performance.now() - began) / 1000;
  }

  stop(): Promise<void> {
    return this.#browser.stop();
  }
}
