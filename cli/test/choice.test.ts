/** Which files a command means: by name, by ID, by what is there already. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { ApiError, type Entry, type Szafa, TamperedError, type Version } from '@szafa/client/node';
import { AccountMode } from '../src/account-mode.ts';
import { Batch } from '../src/batch.ts';
import type { Invocation } from '../src/command.ts';
import { findExisting, type Opened } from '../src/existing.ts';
import { Lookup, type Versions } from '../src/lookup.ts';
import { Output } from '../src/output.ts';
import { collect } from '../src/plan.ts';
import { newestOnly } from '../src/selection.ts';

const { signal } = new AbortController();

/** Remembers the codes of what it is told. */
class Told extends Output {
  readonly notes: string[] = [];
  readonly errors: string[] = [];
  constructor() {
    super({ json: false, quiet: true });
  }
  override note(code: string): void {
    this.notes.push(code);
  }
  override error({ code }: { code: string }): void {
    this.errors.push(code);
  }
}

const idOf = (number: number) => number.toString(16).padStart(32, '0');

function entry(number: number, name: string, more: Partial<Entry> = {}): Entry {
  return { fileId: idOf(number), name, verified: true, dirId: null, size: 1, ...more } as Entry;
}

/** As much of a session as the choice depends on; the entry with the highest ID is the newest. */
function sessionWith(entries: Entry[], problem?: Version['problem']): Szafa {
  return {
    keys: { unlocked: true },
    list: async () => entries,
    dirs: async () => [{ dirId: 7, name: 'dir', verified: true }],
    versions: async (some: Entry[]): Promise<Version[]> =>
      some
        .toSorted((a, b) => (a.fileId < b.fileId ? 1 : -1))
        .map((one, at) => (problem && at === 1 ? { entry: one, problem } : { entry: one })),
  } as unknown as Szafa;
}

suite('a file that is named', () => {
  const find = async (entries: Entry[], text: string, versions: Versions = 'newest', szafa?: Szafa) => {
    const out = new Told();
    const found = await new Lookup(szafa ?? sessionWith(entries), signal).file(
      text,
      undefined,
      versions,
      out,
    );
    return { number: Number.parseInt(found.fileId, 16), notes: out.notes };
  };

  test('what has its name without proof does not stand in for what has proof', async () => {
    const entries = [entry(2, 'a', { verified: false }), entry(1, 'a')];
    assert.deepEqual(await find(entries, 'a'), { number: 1, notes: ['not-verified'] });
    assert.deepEqual(await find([entry(2, 'a', { verified: false })], 'a'), { number: 2, notes: [] });
  });

  test('an ID finds its file, unless it is the proved name of another', async () => {
    assert.equal((await find([entry(1, 'a'), entry(2, 'b')], idOf(2))).number, 2);
    assert.equal((await find([entry(1, 'a'), entry(2, idOf(1))], idOf(1))).number, 2);
    const made = entry(2, idOf(1), { verified: false });
    assert.equal((await find([entry(1, 'a'), made], idOf(1))).number, 1);
    await assert.rejects(find([entry(1, 'a')], '1'), { code: 'no-file' });
  });

  test('of several in one directory the newest is read, and none is removed', async () => {
    const entries = [entry(1, 'a'), entry(3, 'a'), entry(2, 'a')];
    assert.deepEqual(await find(entries, 'a'), { number: 3, notes: ['versions'] });
    await assert.rejects(find(entries, 'a', 'refuse'), { code: 'ambiguous' });
    const bad = new TamperedError('name', 'not its name');
    await assert.rejects(find(entries, 'a', 'newest', sessionWith(entries, bad)), { code: 'tampered' });
  });

  test('of one name in two directories the directory has to be said', async () => {
    const entries = [entry(1, 'a'), entry(2, 'a', { dirId: 7 }), entry(3, 'b/a')];
    await assert.rejects(find(entries, 'a'), { code: 'ambiguous' });
    assert.equal((await find(entries, '/a')).number, 1);
    assert.equal((await find(entries, 'dir/a')).number, 2);
    assert.equal((await find(entries, 'b/a')).number, 3);
  });
});

test('of a whole directory the newest of each name is taken; one that cannot be judged is a failure', async () => {
  const entries = [entry(1, 'a'), entry(2, 'a'), entry(3, 'b'), entry(4, 'c', { verified: false })];
  const choose = async (problem?: Version['problem']) => {
    const out = new Told();
    const batch = new Batch(out);
    const chosen = await newestOnly(
      sessionWith(entries, problem),
      entries,
      { out, signal } as unknown as Invocation,
      batch,
    );
    return { ids: chosen.map(({ fileId }) => Number.parseInt(fileId, 16)), failed: batch.failed, ...out };
  };
  const { ids, failed, notes } = await choose();
  assert.deepEqual([ids, failed, notes], [[2, 3, 4], 0, ['older-version']]);
  const bad = await choose(new TamperedError('volume', 'changed'));
  assert.deepEqual([bad.ids, bad.failed, bad.errors], [[2, 3, 4], 1, ['tampered']]);
});

suite('what an upload would repeat', () => {
  const wanted = { name: 'f', origin: '/here/f', mtime: 5 };
  const source = { size: 10, read: async () => new Uint8Array(10), check: async () => {} };
  const version = (number: number, metadata: Partial<Opened['metadata']>): Opened => ({
    entry: entry(number, 'f'),
    metadata: { name: 'f', size: 10, rev: 1, gen: 1, added: 1, mtime: 5, source: '/here/f', ...metadata },
  });
  /** The content is asked for, and is gone meanwhile. */
  const meet = async (versions: Opened[], checksum = false) => {
    let asked = 0;
    const szafa = {
      openFile: async () => {
        asked++;
        throw new ApiError(404, {});
      },
    } as unknown as Szafa;
    const found = await findExisting(szafa, versions, wanted, source, { checksum, signal });
    return [found.same?.by, found.from, asked];
  };

  test('the same place, size and time; nothing less, unless the content is compared', async () => {
    assert.deepEqual(await meet([]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([version(1, {})]), ['time', undefined, 0]);
    assert.deepEqual(await meet([version(1, { size: 11 })]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([version(1, { mtime: 6 })]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([version(1, {})], true), [undefined, undefined, 1]);
    assert.deepEqual(await meet([version(1, { mtime: 6 })], true), [undefined, undefined, 1]);
    assert.deepEqual(await meet([version(1, { source: '/there/f' })]), [undefined, '/there/f', 1]);
  });

  test('what came back to an older state is a new version; a newer one of another place is none of it', async () => {
    assert.deepEqual(await meet([version(2, { size: 9 }), version(1, {})]), [undefined, undefined, 0]);
    const other = version(2, { size: 9, source: '/there/f' });
    assert.deepEqual(await meet([other, version(1, {})]), ['time', '/there/f', 0]);
  });
});

test('two files that would have one name are not both taken; a path that is given twice is taken once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-plan-'));
  try {
    for (const name of ['a', 'b']) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'x'), name);
    }
    const plan = async (args: string[], flags: Invocation['flags'] = {}) => {
      const out = new Told();
      const batch = new Batch(out);
      const planned = await collect({ args, flags, out, signal } as unknown as Invocation, batch);
      return [planned.map(({ folder: into, name }) => `${into ?? ''}/${name}`), out.errors];
    };
    const [a, b] = [join(folder, 'a/x'), join(folder, 'b/x')];
    assert.deepEqual(await plan([a, b]), [['/x'], ['same-name']]);
    assert.deepEqual(await plan([a, a]), [['/x'], []]);
    assert.deepEqual(await plan([join(folder, 'a'), join(folder, 'b')]), [['a/x', 'b/x'], []]);
    assert.deepEqual(await plan([join(folder, 'a'), a], { dir: 'd' }), [['d/a/x', 'd/x'], []]);
    assert.deepEqual(await plan([join(folder, 'none'), b]), [['/x'], ['ENOENT']]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an account that was entered with a derived secret stays so, whatever comes after', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-mode-'));
  try {
    const mode = new AccountMode(folder, 'http://x', 'Ann');
    await mode.check('raw');
    await mode.remember('raw');
    assert.equal(await mode.known(), 'raw');
    await mode.check('raw');
    await mode.remember('derived');
    assert.equal(await mode.known(), 'derived');
    await mode.remember('raw');
    await assert.rejects(new AccountMode(folder, 'http://x', 'ann').check('raw'), { code: 'raw-refused' });
    await mode.check('derived');
    await new AccountMode(folder, 'http://y', 'ann').check('raw');
    await writeFile(mode.path, 'damaged');
    await assert.rejects(mode.check('raw'), { code: 'raw-refused' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
