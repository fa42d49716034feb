/**
 * The page against the command: one file, uploaded by each in turn to the same service. Also what a person feels
 * meanwhile: how long the page takes to answer a key, and the memory of the browser.
 *
 *   node bench/src/page-upload.ts [MiB] [rounds]
 */
import { randomBytes, randomFillSync } from 'node:crypto';
import { createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Device } from '../../tests/cross/device.ts';
import { freshName, Service } from '../../tests/harness/index.ts';
import { BareBrowser } from './browser.ts';

const MIB = 1024 * 1024;
const size = Number(process.argv[2] ?? 1024) * MIB;
const rounds = Number(process.argv[3] ?? 2);
const PASSWORD = 'correct horse battery';
const LIMIT_MS = 600_000;

async function makeFile(path: string): Promise<void> {
  const out = createWriteStream(path);
  const block = Buffer.alloc(8 * MIB);
  for (let left = size; left > 0; left -= block.length) {
    const part = block.subarray(0, Math.min(left, block.length));
    randomFillSync(part);
    if (!out.write(Buffer.from(part))) await new Promise((resolve) => out.once('drain', resolve));
  }
  out.end();
  await finished(out);
}

/** Resident bytes of the largest process of the browser's group that is not its main one: the tab. */
function tabBytes(group: number): number {
  let most = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      if (Number(fields[2]) !== group || !command.includes('--type=renderer')) continue;
      const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
      most = Math.max(most, Number(resident?.[1] ?? 0) * 1024);
    } catch {
      // Ended between the listing and the look.
    }
  }
  return most;
}

const type = (name: string, value: string) => `(() => {
  const input = document.querySelector('input[name=${name}]');
  input.value = ${JSON.stringify(value)};
  input.dispatchEvent(new Event('input', { bubbles: true }));
})()`;

async function enter(browser: BareBrowser, username: string): Promise<void> {
  await browser.until('the door', "document.querySelector('form')", LIMIT_MS);
  await browser.evaluate(type('username', username));
  await browser.evaluate(type('password', PASSWORD));
  await browser.evaluate("document.querySelector('form').requestSubmit()");
  await browser.until('the room', "document.querySelector('input[data-test=files]')", LIMIT_MS);
}

/** In the page: how long from a key in the filter to the next picture. */
const LATENCY = `new Promise((resolve) => {
  const input = document.getElementById('filter');
  const began = performance.now();
  input.value = String(Math.random());
  input.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now() - began);
    channel.port2.postMessage(0);
  });
})`;

async function byPage(browser: BareBrowser, file: string) {
  const latencies: number[] = [];
  const memory: number[] = [];
  const began = performance.now();
  await browser.chooseFiles('input[data-test=files]', [file]);
  const state = "document.querySelector('.transfer')?.className ?? ''";
  for (let now = ''; !now.includes('done'); ) {
    if (now.includes('failed'))
      throw new Error(await browser.evaluate<string>("document.querySelector('.transfer').innerText"));
    latencies.push(await browser.evaluate<number>(LATENCY));
    memory.push(tabBytes(browser.pid));
    now = await browser.evaluate<string>(state);
    // As fast as a person types; without a pause the looking would cost more than the upload.
    await sleep(100);
  }
  const seconds = (performance.now() - began) / 1000;
  await browser.evaluate("document.querySelector('.transfer button:last-child').click()");
  return { seconds, latencies, memory };
}

async function byCommand(device: Device, file: string): Promise<number> {
  // Under a name of its own: what is there already would not be sent.
  const fresh = `${file}.${randomBytes(4).toString('hex')}`;
  await link(file, fresh);
  const began = performance.now();
  await device.ok(['put', '--quiet', fresh]);
  return (performance.now() - began) / 1000;
}

const rate = (seconds: number) => `${(size / MIB / seconds).toFixed(0)} MiB/s`;
const service = await new Service({ env: { SZ_QUOTA: String(1024 ** 4) } }).start();
const username = freshName();
const device = await Device.make(service.url, { SZ_USER: username });
let browser: BareBrowser | undefined;
try {
  const file = join(device.home, 'file.bin');
  await makeFile(file);
  await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
  browser = await BareBrowser.start(service.url);
  await enter(browser, username);
  for (let round = 1; round <= rounds; round++) {
    const command = await byCommand(device, file);
    const { seconds, latencies, memory } = await byPage(browser, file);
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]!.toFixed(0);
    const half = memory.slice(Math.floor(memory.length / 2));
    console.log(
      `round ${round}: command ${rate(command)}, page ${rate(seconds)}, ratio ${(command / seconds).toFixed(2)}; ` +
        `input answered in ${at(0.5)} ms (median), ${at(0.99)} ms (99 %), ${at(1)} ms (worst of ${sorted.length}); ` +
        `tab ${Math.round(Math.max(...memory) / MIB)} MiB at most, ${Math.round(Math.max(...half) / MIB)} MiB in its second half`,
    );
  }
} finally {
  await browser?.stop();
  await device.remove();
  await service.discard();
}
