import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { FileLocks } from '../src/node/state/file-locks.ts';
import { waitForLock } from '../src/transfers/upload/locks.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'szafa-locks-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Another process that takes keys and holds them until it is ended. */
async function holder(...keys: string[]): Promise<ChildProcess> {
  const module = new URL('../src/node/state/file-locks.ts', import.meta.url).href;
  const script = `
    const { FileLocks } = await import(${JSON.stringify(module)});
    const taken = await new FileLocks(${JSON.stringify(folder)}).take(${JSON.stringify(keys)});
    gc();
    console.log([...taken].join(','));
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    // It ends with this process, whichever way that ends.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = (await Array.fromAsync(child.stdout.take(1))) as Buffer[];
  assert.equal(String(said).trim(), keys.join(','));
  return child;
}

const ended = (child: ChildProcess) => new Promise((resolve) => child.once('exit', resolve));

test('a key is had once: in one object, in two of one process, and free again after its release', async () => {
  const [one, other] = [new FileLocks(folder), new FileLocks(folder)];
  assert.deepEqual(await one.take(['a', 'b']), new Set(['a', 'b']));
  assert.deepEqual(await one.take(['a']), new Set());
  assert.deepEqual(await other.take(['a', 'c']), new Set(['c']));
  await one.release(['a']);
  assert.deepEqual(await other.take(['a', 'b']), new Set(['a']));
  await one.release(['c']);
  assert.deepEqual(await one.take(['c']), new Set(), 'nobody releases what another has');
  assert.equal(await one.id(), await other.id());
  await other.release(['a', 'c']);
  await one.release(['b']);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.alive')),
    [],
  );
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
});

test('a release and a take of one turn: the new lock is still held', async () => {
  const [one, other] = [new FileLocks(folder), new FileLocks(folder)];
  await one.take(['a']);
  const [, taken] = await Promise.all([one.release(['a']), one.take(['b'])]);
  assert.deepEqual(taken, new Set(['b']));
  assert.deepEqual(await other.take(['a', 'b']), new Set(['a']));
});

test('of many that ask for one key at once, one has it', async () => {
  const all = Array.from({ length: 20 }, () => new FileLocks(folder));
  const taken = await Promise.all(all.map((locks) => locks.take(['a'])));
  assert.equal(taken.filter(({ size }) => size === 1).length, 1);
});

test('a lock ends with its process, however that ends, and its remains go', async () => {
  const locks = new FileLocks(folder);
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const child = await holder('a', 'b');
    try {
      assert.deepEqual(await locks.take(['a', 'c']), new Set(['c']));
      // A stopped process still has what it has.
      child.kill('SIGSTOP');
      assert.deepEqual(await locks.take(['b']), new Set());
      child.kill('SIGCONT');
    } finally {
      child.kill(signal);
      await ended(child);
    }
    assert.deepEqual(await locks.take(['a', 'b']), new Set(['a', 'b']));
    await locks.release(['a', 'b', 'c']);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.alive')),
      [],
    );
  }
});

test('one that waits is told so once, and goes on as soon as the other is gone', async () => {
  const child = await holder('a');
  try {
    const locks = new FileLocks(folder);
    let told = 0;
    const onWait = () => {
      told++;
      setTimeout(() => child.kill('SIGKILL'), 300);
    };
    assert.equal(await waitForLock(locks, 'a', { onWait }), true);
    assert.equal(told, 1);
    assert.equal(await waitForLock(locks, 'b', {}), false);
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('enough')), 50);
    await assert.rejects(waitForLock(new FileLocks(folder), 'a', { signal: stop.signal }), /enough/);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a database that a power cut has damaged is made anew; a folder that cannot be used is said', async () => {
  writeFileSync(join(folder, 'locks.db'), 'not a database'.repeat(100));
  assert.deepEqual(await new FileLocks(folder).take(['a']), new Set(['a']));
  await assert.rejects(new FileLocks('/proc/nope').take(['a']), {
    code: 'journal',
    message: /\/proc\/nope cannot be used \(ENOENT\)/,
  });
});
