/** Debian's Firefox by WebDriver BiDi, which it speaks itself. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Driver, end, lineOf, programOf, start } from './driver.ts';

interface Reply {
  id?: number;
  result?: unknown;
  error?: string;
  message?: string;
}

class Connection {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Reply));
    socket.addEventListener('close', () => {
      for (const one of this.#waiting.values()) one.reject(new Error('Firefox went away'));
    });
  }

  static async open(url: string): Promise<Connection> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    return new Connection(socket);
  }

  send<T>(method: string, params: object): Promise<T> {
    const id = ++this.#last;
    const answered = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answered);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answered.promise as Promise<T>;
  }

  close(): void {
    this.#socket.close();
  }

  #take({ id, result, error, message }: Reply): void {
    const one = id === undefined ? undefined : this.#waiting.get(id);
    if (!one) return;
    this.#waiting.delete(id!);
    if (error === undefined) one.resolve(result);
    else one.reject(new Error(`${error}: ${message}`));
  }
}

interface Evaluated {
  type: 'success' | 'exception';
  result?: { value?: string; sharedId?: string };
  exceptionDetails?: { text: string };
}

export async function openFirefox(folder: string): Promise<Driver> {
  const [profile, downloads] = [join(folder, 'profile'), join(folder, 'downloads')];
  for (const one of [profile, downloads]) await mkdir(one, { recursive: true });
  const settings = {
    'browser.download.folderList': 2,
    'browser.download.dir': downloads,
    'browser.download.alwaysOpenPanel': false,
    'browser.shell.checkDefaultBrowser': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    // Nothing but the page's own host is asked for anything.
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': 9,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': 9,
    'network.proxy.no_proxies_on': '127.0.0.1, localhost',
  };
  const text = Object.entries(settings).map(
    ([k, v]) => `user_pref(${JSON.stringify(k)}, ${JSON.stringify(v)});\n`,
  );
  await writeFile(join(profile, 'user.js'), text.join(''));
  const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'];
  const browser = start(programOf('firefox-esr', 'firefox-esr'), args, { HOME: folder });
  browser.stdout.resume();
  const url = await lineOf(browser.stderr, /WebDriver BiDi listening on (ws:\S+)/);
  const connection = await Connection.open(`${url}/session`);
  await connection.send('session.new', { capabilities: {} });
  const { contexts } = await connection.send<{ contexts: { context: string }[] }>(
    'browsingContext.getTree',
    {},
  );
  const context = contexts[0]!.context;
  const target = { context };

  const run = async (expression: string): Promise<Evaluated['result']> => {
    const params = { expression, target, awaitPromise: true, resultOwnership: 'root' };
    const { type, result, exceptionDetails } = await connection.send<Evaluated>('script.evaluate', params);
    assert.equal(type, 'success', exceptionDetails?.text ?? '');
    return result;
  };
  return {
    name: 'Firefox',
    downloads,
    async goto(to) {
      await connection.send('browsingContext.navigate', { context, url: to, wait: 'complete' });
    },
    async evaluate(work, ...args) {
      // As text: BiDi has a form of its own for values.
      const call = `(async () => JSON.stringify((await (${work})(...${JSON.stringify(args)})) ?? null))()`;
      return JSON.parse((await run(call))?.value ?? 'null');
    },
    async choose(selector, files) {
      const element = await run(`document.querySelector(${JSON.stringify(selector)})`);
      await connection.send('input.setFiles', { context, element: { sharedId: element!.sharedId }, files });
    },
    async close() {
      connection.close();
      await end(browser);
    },
  };
}
