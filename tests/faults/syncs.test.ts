import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { StreamBody } from '../../server/src/volumes/body.ts';
import { FolderStore } from '../../server/src/volumes/folder.ts';
import { newName } from '../../server/src/volumes/names.ts';
import type { Manifest } from '../../server/src/volumes/store.ts';

/** What this process asks of the system while `work` runs, a line for each call, with the paths behind descriptors. */
async function traced(folder: string, work: () => Promise<void>): Promise<string[]> {
  const out = join(folder, 'trace');
  const calls = '?open,openat,?rename,renameat,?renameat2,fsync,fdatasync';
  const args = [
    '-f',
    '-y',
    '-o',
    out,
    '-e',
    `trace=${calls}`,
    '-e',
    'signal=none',
    '-p',
    String(process.pid),
  ];
  const strace = spawn('setpriv', ['--pdeathsig', 'KILL', 'strace', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    strace.once('error', reject);
    strace.once('close', () => reject(new Error(`strace could not attach: ${said}`)));
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes(' attached')) resolve();
    });
  });
  try {
    await work();
  } finally {
    const closed = once(strace, 'close');
    strace.kill('SIGINT');
    await closed;
  }
  return (await readFile(out, 'utf8')).split('\n');
}

/** Whether each of these happened, one after the other. */
function assertInOrder(lines: string[], steps: { [what: string]: RegExp }): void {
  let at = -1;
  for (const [what, pattern] of Object.entries(steps)) {
    const found = lines.findIndex((line, index) => index > at && pattern.test(line));
    assert.ok(found > at, `missing, or too early: ${what}\n${lines.join('\n')}`);
    at = found;
  }
}

const synced = (path: string) => new RegExp(`\\bf(data)?sync\\(\\d+<${path}>`);
const renamed = (to: string) => new RegExp(`\\brename\\w*\\(.*"${to}"`);

/** What was renamed to this place was on disk before: by its descriptor, or because it was opened so. */
function assertDurableBefore(lines: string[], place: string): void {
  const at = lines.findIndex((line) => renamed(place).test(line));
  const from = /"([^"]+)", (?:AT_FDCWD(?:<[^>]*>)?, )?"[^"]+"/.exec(lines[at] ?? '')?.[1];
  assert.ok(from, `nothing is renamed to ${place}:\n${lines.join('\n')}`);
  const before = lines.slice(0, at);
  const isDurable = before.some(
    (line) => synced(from).test(line) || (line.includes(`"${from}"`) && line.includes('O_DSYNC')),
  );
  assert.ok(isDurable, `${place} is renamed before its bytes are on disk:\n${lines.join('\n')}`);
}

const volumeOf = (bytes: Buffer) => ({
  idx: 1,
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});
const bodyOf = (bytes: Buffer) => new StreamBody(Readable.from([bytes]));

test('bytes, then fsync, then the name, then the folders: for every way into the store', {
  timeout: 60_000,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-syncs-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, 'data');
  await FolderStore.prepare(root);
  const store = new FolderStore(root, '0123456789ab');
  // Each in a folder of its own, so that its lines can be told from the others'.
  const [small, large, whole, clone] = ['1', '2', '3', '4'].map((digit) => digit.repeat(32)) as [
    string,
    string,
    string,
    string,
  ];
  const group = (id: string) => join(root, 'volumes', id.slice(0, 2), id);
  const bytes: Record<string, Buffer> = {
    [small]: randomBytes(100),
    [large]: randomBytes(300_000),
    [whole]: randomBytes(100),
  };
  const specOf = (id: string) => volumeOf(bytes[id]!);
  const manifest = (id: string) => ({ file_id: id, volumes: [specOf(id)] }) as Manifest;
  const lines = await traced(folder, async () => {
    for (const id of [small, large]) await store.put(id, specOf(id), bodyOf(bytes[id]!));
    await store.putFile(manifest(whole), specOf(whole), bodyOf(bytes[whole]!));
    await store.writeManifest(manifest(small));
    await store.copy(whole, clone, [specOf(whole)]);
  });
  for (const id of [small, large, whole]) {
    const place = join(group(id), newName(specOf(id)));
    assertDurableBefore(lines, place);
    for (const path of [group(id), dirname(group(id))]) {
      assertInOrder(lines, { 'the name of a volume': renamed(place), [`the sync of ${path}`]: synced(path) });
    }
  }
  const filed = join(group(small), 'manifest.json');
  assertDurableBefore(lines, filed);
  assertInOrder(lines, { 'the name of a manifest': renamed(filed), 'its sync': synced(group(small)) });
  const inOne = lines.find((line) => line.includes(`"${join(group(whole), 'manifest.json')}"`));
  assert.match(inOne ?? '', /O_DSYNC/);
  assertInOrder(lines, {
    'the bytes of a copy': synced(join(group(clone), newName(specOf(whole)))),
    'their name': synced(group(clone)),
    'the name of the group': synced(dirname(group(clone))),
  });
});
