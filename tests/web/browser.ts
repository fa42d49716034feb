/** A real Chromium for a test file, and a person in front of it. One file, so that what the page looks like is known in one place. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Api, parseRecoveryText, webEngine } from '@szafa/client';
import { deriveRecoveryKeys } from '@szafa/format';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { readKeysForRecovery, readServerInfo } from '../../client/src/accounts/calls.ts';
import { freshName, type Service } from '../harness/index.ts';

export const PASSWORD = 'correct horse battery';
const ARTEFACTS = fileURLToPath(new URL('../../artefacts', import.meta.url));
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
export const PHONE = { width: 390, height: 780 };
const WIDE = { width: 1280, height: 800 };
/** For what takes seconds: a machine may be slow, and do other things. */
const LIMIT_MS = 180_000;
/**
 * The browser's own address bar is two pages of its own in every window, with which a visit costs half as much again.
 * A list given here replaces Playwright's, so what matters of that is said again.
 */
const WITHOUT = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

function executable(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  assert.ok(found, 'Chromium is missing: apt-get install chromium');
  return found;
}

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** What the page wrote to its console as an error, and what it threw. */
  errors: string[];
}

export class Chromium {
  #browser: Browser | undefined;
  readonly #args: string[];
  /** What any visit asked of another host than its own. */
  readonly #strangers: string[] = [];
  folder = '';

  constructor(args: string[] = []) {
    this.#args = args;
  }

  async start(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'szafa-web-'));
    await mkdir(ARTEFACTS, { recursive: true });
    this.#browser = await chromium.launch({
      executablePath: executable(),
      args: [
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        '--disable-dev-shm-usage',
        `--disable-features=${WITHOUT.join(',')}`,
        ...this.#args,
      ],
    });
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await rm(this.folder, { recursive: true, force: true });
    assert.deepEqual(this.#strangers, [], 'no request to any other host, in no visit');
  }

  /** Ends all visits. */
  async leave(): Promise<void> {
    for (const context of this.#browser?.contexts() ?? []) await context.close();
  }

  /** A browser of its own: nothing kept from another visit. */
  async visit(url: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Visit> {
    const context = await this.#browser!.newContext({
      acceptDownloads: true,
      reducedMotion: 'reduce',
      ...options,
    });
    context.setDefaultTimeout(LIMIT_MS);
    // Downloads go the way of browsers without a file picker, unless a test says otherwise.
    await context.addInitScript(() => {
      Reflect.deleteProperty(window, 'showSaveFilePicker');
      Reflect.deleteProperty(window, 'showDirectoryPicker');
    });
    const page = await context.newPage();
    this.#watch(context, page);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(url);
    return { page, context, errors };
  }

  #watch(context: BrowserContext, page: Page): void {
    let home: string | undefined;
    const note = (address: string) => {
      const { host, protocol } = new URL(address);
      if (!/^(http|ws)s?:$/.test(protocol)) return;
      home ??= host;
      if (host !== home) this.#strangers.push(address);
    };
    context.on('request', (request) => note(request.url()));
    page.on('websocket', (socket) => note(socket.url()));
  }

  async file(name: string, content: string | Uint8Array): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, content);
    return path;
  }
}

let inUse: Chromium | undefined;

/** One browser for all test files of a process. */
export function useChromium(): Chromium {
  if (inUse) return inUse;
  const browser = new Chromium();
  inUse = browser;
  before(() => browser.start());
  // What goes on in a page that nobody looks at any more costs the next test its time.
  afterEach(() => browser.leave());
  after(() => browser.stop());
  return browser;
}

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** A new size or colour is there with the second frame, and what moves has arrived. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) {
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      for (const moving of document.getAnimations()) {
        if (moving.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) moving.finish();
      }
    }
  });
}

/** What axe finds in the way of somebody with a keyboard or a screen reader. */
export async function obstacles(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await look(page);
  // On a busy machine new colours may come while it looks; what is really in the way is there at the second look too.
  return found.length === 0 ? found : look(page);
}

async function look(page: Page): Promise<string[]> {
  await drawn(page);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> };
    };
    return (await axe.run({ resultTypes: ['violations'], iframes: false, preload: false })).violations;
  });
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
}

export async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`), animations: 'disabled' });
}

/**
 * Takes a picture of a state of the page, which has to be accessible: as it is, and in the other colours on a phone, or wide where it
 * is a phone's already.
 */
export async function shoot(page: Page, name: string): Promise<void> {
  // A tab behind another one is drawn once a second.
  await page.bringToFront();
  await picture(page, name);
  const found = await obstacles(page);
  const size = page.viewportSize()!;
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);
  await page.setViewportSize(size.width === PHONE.width ? WIDE : PHONE);
  await page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' });
  found.push(...(await obstacles(page)).map((text) => `in the other colours and size: ${text}`));
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
  await drawn(page);
  assert.deepEqual(found, [], name);
}

/** Another tab of the same browser, behind this one. */
export async function openTab(page: Page, url: string): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(url);
  await page.bringToFront();
  return other;
}

async function fillRegistration(page: Page, username: string): Promise<void> {
  await page.getByRole('button', { name: 'New here? Create an account' }).click();
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Repeat password').fill(PASSWORD);
}

/** Registers through the page, up to where it shows the recovery key. */
export async function registerWithKey(page: Page, username = freshName()) {
  await fillRegistration(page, username);
  await page.getByRole('button', { name: 'Create an account', exact: true }).click();
  return { username, key: await keyShown(page) };
}

/** The recovery key that the page shows. */
export async function keyShown(page: Page): Promise<string> {
  await page.getByRole('heading', { name: 'Your recovery key' }).waitFor();
  const groups = await page.locator('.recovery-key li').allTextContents();
  assert.equal(groups.length, 14);
  return groups.join('-');
}

/** Types the groups that are asked for, as somebody does who has the key on paper; and the password, where the key takes the place of another. */
export async function confirmKey(page: Page, key: string, password?: string): Promise<void> {
  await typeKey(page, key);
  if (password !== undefined) await page.getByLabel('Your password').fill(password);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('heading', { name: 'All files' }).waitFor();
}

export async function typeKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'I’ve saved it' }).click();
  const field = page.getByLabel(/^Enter groups/);
  const [first, second] = (await page.getByText(/^Enter groups/).innerText()).match(/\d+/g)!.map(Number);
  const groups = key.split('-');
  await field.fill(`${groups[first! - 1]} ${groups[second! - 1]}`.toLowerCase());
}

/** Whether the service takes it for the recovery key of the account. */
export async function counts(server: string, username: string, text: string): Promise<boolean> {
  const engine = webEngine();
  const api = new Api({ server });
  const { service_id: serviceId } = await readServerInfo(api);
  const key = await parseRecoveryText(engine, text);
  const { authSecret: recovery } = await deriveRecoveryKeys(engine, { serviceId, username }, key);
  return readKeysForRecovery(api, { username, recovery }).then(
    () => true,
    () => false,
  );
}

/** Registers through the page, without a recovery key. */
export async function register(page: Page, username = freshName()): Promise<string> {
  await fillRegistration(page, username);
  await page.getByLabel('Create a recovery key (recommended)').uncheck();
  await page.getByLabel('I’ve saved my password somewhere safe').check();
  await page.getByRole('button', { name: 'Create an account', exact: true }).click();
  await page.getByRole('heading', { name: 'All files' }).waitFor();
  return username;
}

export async function signIn(page: Page, username: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** `unfinished`: there is an upload to be asked about. */
export async function signOut(page: Page, unfinished = false): Promise<void> {
  await page.getByRole('button', { name: /^Account: / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  if (unfinished) await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
}

/** Another tab signs out, and the next account comes into this one. */
export async function switchByOtherTab(page: Page, unfinished = false): Promise<string> {
  const other = await page.context().newPage();
  await other.goto(new URL(page.url()).origin);
  await signOut(other, unfinished);
  await page.bringToFront();
  const next = await register(page);
  await page.getByText('Nothing here yet').waitFor();
  return next;
}

/** Chooses files as the picker does, and waits until they are in the list. */
export async function upload(page: Page, ...paths: string[]): Promise<void> {
  await pick(page, ...paths);
  for (const path of paths) await row(page, path.split('/').at(-1)!).waitFor();
}

/** Begins uploads as the picker does. */
export async function pick(page: Page, ...paths: string[]): Promise<void> {
  await page.locator('input[data-test=files]').setInputFiles(paths);
}

/** The list of transfers, as it is at one moment. */
export async function transfers(page: Page): Promise<{ name: string; share: number; status: string }[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.transfer')].map((line) => ({
      name: line.querySelector('.transfer-name')!.textContent,
      share: line.querySelector('progress')!.value,
      status: line.querySelector('.transfer-status')!.textContent,
    })),
  );
}

/** What the browser keeps, by store. */
export function keptIn(page: Page): Promise<Record<string, unknown[]>> {
  return page.evaluate(async () => {
    const finished = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => {
        request.onsuccess = () => resolve(request.result);
      });
    const database = await finished(indexedDB.open('szafa'));
    const found: Record<string, unknown[]> = {};
    for (const name of database.objectStoreNames) {
      found[name] = await finished(database.transaction(name).objectStore(name).getAll());
    }
    database.close();
    return found;
  });
}

export async function tokenOf(page: Page): Promise<string> {
  const [session] = (await keptIn(page))['session'] as { token: string }[];
  return session!.token;
}

/** How many volumes of uploads a service has taken. */
export const volumesTaken = ({ log }: Service) =>
  log.match(/"route":"[^"]*\/transfer\/[^"]*\/chunk\/[^"]*","status":200/g)?.length ?? 0;

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 50) {
    assert.ok(waited < LIMIT_MS, 'it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function row(page: Page, name: string) {
  return page.getByRole('row').filter({ has: page.getByRole('button', { name, exact: true }) });
}

/** Opens the menu of a row and takes an entry of it. */
export async function choose(page: Page, name: string, entry: string): Promise<void> {
  await row(page, name)
    .getByRole('button', { name: `More actions for ${name}` })
    .click();
  await page.getByRole('menuitem', { name: entry }).click();
}

export async function download(page: Page, name: string): Promise<Buffer> {
  const soon = page.waitForEvent('download');
  await choose(page, name, 'Download');
  const saved = await soon;
  const stream = await saved.createReadStream();
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** The dialogs need a person; everything behind them is the real thing. */
export async function letPick({ page, context }: Visit): Promise<void> {
  await context.addInitScript(() => {
    const folder = async () =>
      (await navigator.storage.getDirectory()).getDirectoryHandle('picked', { create: true });
    const file = async ({ suggestedName }: { suggestedName: string }) =>
      (await folder()).getFileHandle(suggestedName, { create: true });
    Object.assign(window, { showSaveFilePicker: file, showDirectoryPicker: folder });
  });
  await page.reload();
}

/** What was written into the folder that was picked: digests by name. */
export async function picked(page: Page): Promise<Record<string, string>> {
  const found = await page.evaluate(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('picked');
    const all: [string, string][] = [];
    for await (const [name, handle] of folder as unknown as AsyncIterable<[string, FileSystemFileHandle]>) {
      const bytes = await (await handle.getFile()).arrayBuffer();
      all.push([name, new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()]);
    }
    return all;
  });
  return Object.fromEntries(found);
}

/** Goes to a folder at the side of the page. */
export async function open(page: Page, place: string): Promise<void> {
  await page
    .getByRole('navigation')
    .getByRole('treeitem', { name: new RegExp(`^${RegExp.escape(place)} ?[0-9,]+$`) })
    .click();
  await page.getByRole('heading', { name: place, level: 1 }).waitFor();
}

/** Makes a folder where the page is, and is in it then. */
export async function makeFolder(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New folder', exact: true }).click();
  await page.getByLabel('Folder name').fill(name);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
}

/** Drops files and folders of the disk onto the page, or onto something in it, as a file manager does. */
export async function drop(
  page: Page,
  paths: string[],
  { name, onto }: { name?: string; onto?: Locator } = {},
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  const box = await onto?.boundingBox();
  const middle = box ? { x: box.x + box.width / 2, y: box.y + box.height / 2 } : { x: 600, y: 400 };
  const at = { ...middle, data };
  await session.send('Input.dispatchDragEvent', { type: 'dragEnter', ...at });
  await session.send('Input.dispatchDragEvent', { type: 'dragOver', ...at });
  await page.getByText('Drop to upload').waitFor();
  if (name) await shoot(page, name);
  await session.send('Input.dispatchDragEvent', { type: 'drop', ...at });
  await session.detach();
}
