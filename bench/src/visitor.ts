/** Simulates a user of the web app: uploads and downloads files, types during uploads, and measures the memory of the tab. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BareBrowser } from './browser.ts';

const LIMIT_MS = 600_000;
const LOOK_MS = 50;
/** Pause between keys, as a person would type. Without it, typing would cost more than the upload. */
const KEY_MS = 150;
const FILES = 'input[data-test=files]';
/** Without a save picker the page passes downloads to the browser. The fake picker accepts without a dialog. */
const WAYS = {
  browser: 'delete globalThis.showSaveFilePicker',
  picker: `globalThis.showSaveFilePicker = async ({ suggestedName }) =>
    (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`,
};

const fill = (name: string, value: string) => `(() => {
  const input = document.querySelector('input[name=${name}]');
  input.value = ${JSON.stringify(value)};
  input.dispatchEvent(new Event('input', { bubbles: true }));
})()`;

/** Script for the page: measures the milliseconds from the next key press to the frame after it. */
const NEXT_KEY = `globalThis.nextKey = new Promise((resolve) => {
  const input = document.getElementById('filter');
  input.focus();
  input.addEventListener('keydown', ({ timeStamp }) => {
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve(performance.now() - timeStamp);
      channel.port2.postMessage(0);
    });
  }, { once: true });
}); undefined`;
const STATE = "document.querySelector('.transfer')?.className ?? ''";

/** Measurements while the user types. */
export interface Felt {
  /** Milliseconds from each key press to the next frame. */
  keyMs: number[];
  /** Resident bytes of the tab at each key. */
  tabBytes: number[];
}

export class Visitor {
  readonly #browser: BareBrowser;

  private constructor(browser: BareBrowser) {
    this.#browser = browser;
  }

  /** Opens the web app and signs in. */
  static async enter(
    url: string,
    username: string,
    password: string,
    way: keyof typeof WAYS = 'browser',
  ): Promise<Visitor> {
    const browser = await BareBrowser.start(url, WAYS[way]);
    try {
      await browser.until('the door', "document.querySelector('form')", LIMIT_MS);
      await browser.evaluate(fill('username', username));
      await browser.evaluate(fill('password', password));
      await browser.evaluate("document.querySelector('form').requestSubmit()");
      await browser.until('the room', `document.querySelector('${FILES}')`, LIMIT_MS);
      return new Visitor(browser);
    } catch (error) {
      await browser.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#browser.pid;
  }

  /** Uploads a file and returns the seconds until the page reports success. Calls `look` repeatedly in between. */
  async upload(file: string, look = () => {}): Promise<number> {
    return this.#upload(file, () => {
      look();
      return sleep(LOOK_MS);
    });
  }

  async uploadTyping(file: string): Promise<Felt> {
    const felt: Felt = { keyMs: [], tabBytes: [] };
    await this.#upload(file, async () => {
      felt.keyMs.push(await this.#pressKey());
      felt.tabBytes.push(this.tabBytes);
      await sleep(KEY_MS);
    });
    return felt;
  }

  /** Downloads the first file of the list into a folder. Calls `look` once before and repeatedly until it is done. */
  async download(folder: string, look: () => void | Promise<void>): Promise<void> {
    await this.#browser.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
    await this.#browser.until('a file', "document.querySelector('.rows .row')", LIMIT_MS);
    await look();
    await this.#browser.evaluate(`document.querySelector('.rows [aria-label^="More actions for"]').click()`);
    await this.#browser.evaluate(
      "[...document.querySelectorAll('[role=menuitem]')].find((one) => /Download/.test(one.innerText)).click()",
    );
    await this.#finish(async () => {
      await look();
      await sleep(LOOK_MS);
    });
  }

  /** Resident bytes of all processes of the browser. */
  get bytes(): number {
    return residentOf(this.pid).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Resident bytes of the largest renderer. */
  get tabBytes(): number {
    const tabs = residentOf(this.pid).filter(({ command }) => command.includes('--type=renderer'));
    return Math.max(0, ...tabs.map(({ bytes }) => bytes));
  }

  stop(): Promise<void> {
    return this.#browser.stop();
  }

  async #upload(file: string, meanwhile: () => Promise<void>): Promise<number> {
    const began = performance.now();
    await this.#browser.chooseFiles(FILES, [file]);
    return this.#finish(meanwhile, began);
  }

  async #pressKey(): Promise<number> {
    await this.#browser.evaluate(NEXT_KEY);
    const key = { key: 'x', code: 'KeyX', windowsVirtualKeyCode: 88 };
    await this.#browser.send('Input.dispatchKeyEvent', { type: 'keyDown', text: 'x', ...key });
    await this.#browser.send('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
    return this.#browser.evaluate<number>('globalThis.nextKey');
  }

  /** Waits until the page reports that the newest transfer is done, and returns the seconds it took. */
  async #finish(meanwhile: () => Promise<void>, began = performance.now()): Promise<number> {
    for (let state = ''; !state.includes('done'); state = await this.#browser.evaluate<string>(STATE)) {
      if (state.includes('failed'))
        throw new Error(
          await this.#browser.evaluate<string>("document.querySelector('.transfer').innerText"),
        );
      if (performance.now() - began > LIMIT_MS) throw new Error('the page did not finish its transfer');
      await meanwhile();
    }
    const seconds = (performance.now() - began) / 1000;
    await this.#browser.evaluate("document.querySelector('.transfer button:last-child').click()");
    return seconds;
  }
}

function residentOf(group: number): { command: string; bytes: number }[] {
  const found: { command: string; bytes: number }[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      if (Number(fields[2]) !== group) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
      found.push({ command, bytes: Number(resident?.[1] ?? 0) * 1024 });
    } catch {
      // The process has ended since it was listed.
    }
  }
  return found;
}
