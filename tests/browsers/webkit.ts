/** Debian's WebKitGTK, the engine of Safari, by WebDriver over HTTP; it draws on a screen that nobody sees. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Driver, end, lineOf, programOf, start } from './driver.ts';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function openWebKit(folder: string): Promise<Driver> {
  const downloads = join(folder, 'Downloads');
  const config = join(folder, 'config');
  for (const one of [downloads, config]) await mkdir(one, { recursive: true });
  await writeFile(join(config, 'user-dirs.dirs'), `XDG_DOWNLOAD_DIR="${downloads}"\n`);
  const [miniBrowser] = globSync('/usr/lib/*/webkit2gtk-4.1/MiniBrowser');
  assert.ok(miniBrowser, 'MiniBrowser is missing: apt-get install webkit2gtk-driver');
  const screen = start(programOf('Xvfb', 'xvfb'), [
    ...['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'],
  ]);
  const display = `:${await lineOf(screen.stdout, /^(\d+)$/)}`;
  screen.stderr.resume();
  const port = await freePort();
  const env = {
    DISPLAY: display,
    GDK_BACKEND: 'x11',
    HOME: folder,
    XDG_CONFIG_HOME: config,
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_DATA_HOME: join(folder, 'share'),
    WEBKIT_DISABLE_COMPOSITING_MODE: '1',
    // Nothing but the page's own host is asked for anything.
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '127.0.0.1,localhost',
  };
  const driver = start(
    programOf('dbus-run-session', 'dbus'),
    ['--', programOf('WebKitWebDriver', 'webkit2gtk-driver'), `--port=${port}`],
    env,
  );
  driver.stdout.resume();
  driver.stderr.resume();

  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    });
    const { value } = (await response.json()) as { value: T };
    assert.ok(response.ok, JSON.stringify(value));
    return value;
  };
  for (let waited = 0; ; waited += 100) {
    if (
      await call('GET', '/status').then(
        () => true,
        () => false,
      )
    )
      break;
    assert.ok(waited < 180_000, 'WebKitWebDriver does not answer');
    await sleep(100);
  }
  const options = { binary: miniBrowser, args: ['--automation'] };
  const { sessionId } = await call<{ sessionId: string }>('POST', '/session', {
    capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } },
  });
  const session = `/session/${sessionId}`;
  await call('POST', `${session}/timeouts`, { script: 120_000 });
  return {
    name: 'WebKit',
    downloads,
    async goto(url) {
      await call('POST', `${session}/url`, { url });
    },
    async evaluate(work, ...args) {
      const script = `const done = arguments[arguments.length - 1];
        (async () => JSON.stringify((await (${work})(...${JSON.stringify(args)})) ?? null))().then(
          (value) => done({ value }), (error) => done({ error: String(error) }));`;
      type Result = { value?: string; error?: string };
      const result = await call<Result>('POST', `${session}/execute/async`, { script, args: [] });
      assert.equal(result.error, undefined);
      return JSON.parse(result.value!);
    },
    async choose(selector, paths) {
      const using = { using: 'css selector', value: selector };
      const element = await call<Record<string, string>>('POST', `${session}/element`, using);
      await call('POST', `${session}/element/${element[ELEMENT]}/value`, { text: paths.join('\n') });
    },
    async close() {
      await call('DELETE', session).catch(() => undefined /* it goes with its driver */);
      await end(driver);
      await end(screen);
    },
  };
}
