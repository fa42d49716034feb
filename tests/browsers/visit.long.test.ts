/** One whole visit in each of the three engines that people have. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD, until } from '../web/browser.ts';
import { png, wav } from '../web/media.ts';
import { openChromium } from './chromium.ts';
import type { Driver } from './driver.ts';
import { openFirefox } from './firefox.ts';
import { openWebKit } from './webkit.ts';

const service = useService();
const MIB = 1024 * 1024;

/** Presses the first control with this name that can be pressed; says whether there was one. */
const press = (driver: Driver, name: string) =>
  driver.evaluate((wanted) => {
    const controls = document.querySelectorAll<HTMLElement>('button, [role=menuitem]');
    const found = [...controls].find((one) => {
      const own = one.getAttribute('aria-label') ?? one.textContent ?? '';
      return own.trim() === wanted && !one.hasAttribute('disabled') && one.getClientRects().length > 0;
    });
    found?.click();
    return found !== undefined;
  }, name);

const pressed = (driver: Driver, name: string) => until(() => press(driver, name));

const fill = (driver: Driver, values: Record<string, string>) =>
  driver.evaluate((all) => {
    for (const [id, value] of Object.entries(all)) {
      const field = document.getElementById(id) as HTMLInputElement;
      field.value = value;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }, values);

const says = (driver: Driver, selector: string, wanted: string) =>
  driver.evaluate(
    (at, words) => [...document.querySelectorAll(at)].some((one) => one.textContent?.includes(words)),
    selector,
    wanted,
  );

const shows = (driver: Driver, selector: string, wanted: string) =>
  until(() => says(driver, selector, wanted));

async function submit(driver: Driver): Promise<void> {
  await driver.evaluate(() => document.querySelector('form')!.requestSubmit());
}

async function signOut(driver: Driver, username: string): Promise<void> {
  await pressed(driver, `Account: ${username}`);
  await pressed(driver, 'Sign out');
  await shows(driver, 'form button[type=submit]', 'Sign in');
  assert.deepEqual(await driver.evaluate(kept), [], 'the keys are gone before the page says so');
}

/** Everything that the browser keeps for the page while somebody is signed in. */
async function kept(): Promise<unknown[]> {
  const finished = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve) => {
      request.onsuccess = () => resolve(request.result);
    });
  const database = await finished(indexedDB.open('szafa'));
  const found: unknown[] = [];
  for (const name of database.objectStoreNames) {
    // Digests, which stay to protect the next visit.
    if (name === 'pins' || name === 'contacts') continue;
    found.push(...(await finished(database.transaction(name).objectStore(name).getAll())));
  }
  database.close();
  return found;
}

async function visit(driver: Driver, folder: string): Promise<void> {
  const username = freshName();
  const files = {
    'hills.png': png(320, 200),
    'silence.wav': wav(20 * MIB),
    'thing.bin': randomBytes(17 * MIB + 5),
  };
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);

  await driver.goto(service.url);
  await pressed(driver, 'New here? Create an account');
  await until(() => driver.evaluate(() => document.getElementById('repeat') !== null));
  await fill(driver, { username, password: PASSWORD, repeat: PASSWORD });
  await submit(driver);
  await shows(driver, 'h1', 'Your recovery key');
  await pressed(driver, 'I’ve saved it');
  await pressed(driver, 'Skip for now');
  await pressed(driver, 'Skip for now');
  await shows(driver, 'h1', 'All files');

  await driver.choose(
    'input[data-test=files]',
    Object.keys(files).map((name) => join(folder, name)),
  );
  for (const name of Object.keys(files)) await shows(driver, '[role=row]', name);
  await pressed(driver, 'Clear finished');

  await pressed(driver, 'hills.png');
  await until(() =>
    driver.evaluate(() => document.querySelector<HTMLImageElement>('dialog img')?.naturalWidth === 320),
  );
  await pressed(driver, 'Close');

  // To the middle of what is several volumes long, of which only some are fetched.
  await pressed(driver, 'silence.wav');
  await until(() =>
    driver.evaluate(() => (document.querySelector('dialog audio') as HTMLAudioElement)?.readyState > 0),
  );
  const middle = await driver.evaluate(async () => {
    const sound = document.querySelector('dialog audio') as HTMLAudioElement;
    const sought = new Promise((resolve) => sound.addEventListener('seeked', resolve, { once: true }));
    sound.currentTime = sound.duration / 2;
    await sought;
    return Math.round((sound.currentTime / sound.duration) * 100);
  });
  assert.equal(middle, 50);
  await pressed(driver, 'Close');

  await pressed(driver, 'More actions for thing.bin');
  await pressed(driver, 'Download');
  const saved = join(driver.downloads, 'thing.bin');
  await until(async () => existsSync(saved) && files['thing.bin'].equals(await readFile(saved)));

  await driver.goto(service.url);
  await shows(driver, '[role=row]', 'thing.bin');
  await signOut(driver, username);
  await fill(driver, { username, password: PASSWORD });
  await submit(driver);
  await shows(driver, '[role=row]', 'hills.png');
  await signOut(driver, username);
}

for (const open of [openChromium, openFirefox, openWebKit]) {
  test(`a whole visit: ${open.name.slice('open'.length)}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'szafa-visit-'));
    const driver = await open(folder);
    try {
      await visit(driver, folder);
    } catch (error) {
      const text = await driver.evaluate(() => document.body.innerText).catch(String);
      throw new Error(`the page says:\n${text}`, { cause: error });
    } finally {
      await driver.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
