/**
 * The bare page: what any page must do that uploads as szafa does, and nothing else. It reads the file into memory that is used again,
 * seals it with Web Crypto in segments of the same size, hashes it and sends it, with as many workers and volumes at once as the web
 * app, to the same service. How near the web app is to it shows what the app itself costs, and what the browser does.
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
    // Any answer of the API is a document of the right origin, with no policy for scripts.
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

  /** Seconds until the service has answered complete. */
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
