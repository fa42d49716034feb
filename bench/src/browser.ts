/**
 * Controls Chromium without observing it. The test tools receive every request with its body, which would cost more than the upload
 * itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from './machine.ts';

const START_MS = 30_000;

export function findChromium(): string | undefined {
  return ['chromium', 'chromium-browser', 'google-chrome']
    .map(findProgram)
    .find((path) => path !== undefined);
}

interface Answer {
  id?: number;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** One tab, controlled by the DevTools protocol. */
export class BareBrowser {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#child = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      if (answer.id === undefined) return;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /** Opens a page. `first` is a script that runs before the page's own. */
  static async start(url: string, first: string): Promise<BareBrowser> {
    const profile = await mkdtemp(join(tmpdir(), 'szafa-chromium-'));
    const args = [
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      '--no-first-run',
      '--disable-dev-shm-usage',
      '--window-size=1280,800',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ];
    const program = findChromium();
    if (!program) throw new Error('Chromium is missing: apt-get install chromium');
    // A killed run must leave no browser behind.
    const setpriv = findProgram('setpriv');
    const command = [...(setpriv ? [setpriv, '--pdeathsig', 'KILL'] : []), program, ...args, 'about:blank'];
    const child = spawn(command[0]!, command.slice(1), { stdio: 'ignore', detached: true });
    const port = await portOf(profile);
    const tabs = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    const socket = new WebSocket(tabs.find(({ type }) => type === 'page')!.webSocketDebuggerUrl);
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
    const browser = new BareBrowser(child, profile, socket);
    await browser.send('Page.enable');
    await browser.send('Page.addScriptToEvaluateOnNewDocument', { source: first });
    await browser.send('Page.navigate', { url });
    return browser;
  }

  /** Process group of the browser, which includes all its processes. */
  get pid(): number {
    return this.#child.pid!;
  }

  async send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#last;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result ?? {};
  }

  /** Runs an expression in the page and awaits its result. */
  async evaluate<T>(expression: string): Promise<T> {
    const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', params)) as {
      result: { value: T };
      exceptionDetails?: { exception?: { description?: string }; text: string };
    };
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(what: string, expression: string, limitMs: number): Promise<void> {
    const end = Date.now() + limitMs;
    while (!(await this.evaluate<boolean>(`Boolean(${expression})`))) {
      if (Date.now() > end) throw new Error(`the page did not come to: ${what}`);
      await sleep(100);
    }
  }

  async chooseFiles(selector: string, files: string[]): Promise<void> {
    const { root } = (await this.send('DOM.getDocument')) as { root: { nodeId: number } };
    const { nodeId } = (await this.send('DOM.querySelector', { nodeId: root.nodeId, selector })) as {
      nodeId: number;
    };
    await this.send('DOM.setFileInputFiles', { nodeId, files });
  }

  async stop(): Promise<void> {
    this.#socket.close();
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    process.kill(-this.pid, 'SIGKILL');
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function portOf(profile: string): Promise<string> {
  for (let waited = 0; waited < START_MS; waited += 100) {
    try {
      const [port] = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8')).split('\n');
      if (port) return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await sleep(100);
  }
  throw new Error('Chromium did not start');
}
