/** Which files a command means: by name, by ID, by what is there already. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import {
  ApiError,
  bytesSource,
  type Entry,
  nodeEngine,
  type RemoteFile,
  type Szafa,
  Tree,
} from '@szafa/client/node';
import { layoutOf, sealVolume, totalSha256 } from '@szafa/format';
import type { Invocation } from '../src/command.ts';
import { passwordMode } from '../src/lib/account/secrets.ts';
import { Output } from '../src/lib/print/output.ts';
import { findExisting, type ReadableVersion } from '../src/lib/select/existing.ts';
import { collectFiles } from '../src/lib/select/plan.ts';
import { findTargets, selectFiles } from '../src/lib/select/selection.ts';
import { Batch } from '../src/lib/transfer/batch.ts';
import { Destination } from '../src/lib/transfer/get/destination.ts';
import { stateOf } from '../src/lib/transfer/get/write.ts';

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

function entry(number: number, path: string, more: Partial<Entry> = {}): Entry {
  return { fileId: idOf(number), path, name: path, verified: true, dirId: null, size: 1, ...more } as Entry;
}

const file = (number: number, path: string, more: Partial<Entry> = {}) => entry(number, path, more);

/** Of a file whose newest version has the highest number. */
const version = (number: number, path: string) =>
  entry(number, path, { age: { gen: number, added: number, rev: 1 } });

const numberOf = ({ fileId }: Entry) => Number.parseInt(fileId, 16);

suite('what a path, a pattern or an ID names', () => {
  const all = (entries: Entry[], text: string) => {
    const out = new Told();
    const { targets, base, kind } = findTargets(new Tree(entries), text, out);
    const paths = targets.map((target) => ('file' in target ? target.file.path : `${target.folder.path}/`));
    const first = targets[0]!;
    const number = 'file' in first ? numberOf(first.version ?? first.file.entry) : undefined;
    return { paths, base, kind, number, notes: out.notes };
  };
  const entries = [file(1, 'a'), file(2, 'd/a'), file(3, 'd/e/b.jpg'), file(4, 'd/e/c.txt'), file(5, 'd/*')];

  test('a path is from the top, with or without slashes around it', () => {
    assert.deepEqual(all(entries, 'a').paths, ['a']);
    assert.deepEqual(all(entries, '/d/a').paths, ['d/a']);
    assert.deepEqual(all(entries, 'd/e/').paths, ['d/e/']);
    assert.deepEqual(all(entries, '/').paths, ['/']);
    assert.equal(all(entries, 'd/e').base, 'd');
    assert.throws(() => all(entries, 'b.jpg'), { code: 'no-file', hint: 'write the whole path: d/e/b.jpg' });
    assert.throws(() => all(entries, 'a/'), { code: 'no-file' });
  });

  test('a pattern names what fits, below the folders before its first sign; a file of that very name comes first', () => {
    const found = (text: string) => all(entries, text).paths;
    assert.deepEqual(found('d/*'), ['d/*']);
    assert.deepEqual(found('d/?'), ['d/e/', 'd/*', 'd/a']);
    assert.deepEqual(found('**/*.jpg'), ['d/e/b.jpg']);
    assert.deepEqual(found('d/e/*.[jt]*'.replace('[jt]', '')), ['d/e/b.jpg', 'd/e/c.txt']);
    assert.deepEqual(found('d/**'), ['d/e/', 'd/*', 'd/a']);
    assert.deepEqual(found('**/?'), ['d/', 'a', 'd/e/', 'd/*', 'd/a']);
    assert.equal(all(entries, 'd/e/*.jpg').base, 'd/e');
    assert.equal(all(entries, '**/*.jpg').base, '');
    assert.throws(() => all(entries, 'x*'), { code: 'no-file', message: /nothing on the server matches/ });
  });

  test('what has its path without proof does not stand in for what has proof', () => {
    const claimed = file(2, 'a', { verified: false });
    assert.deepEqual(all([claimed, file(1, 'a')], 'a'), {
      ...{ paths: ['a'], base: '', kind: 'file', number: 1 },
      notes: ['not-verified'],
    });
    assert.deepEqual(all([claimed], 'a').number, 2);
  });

  test('an ID names its version, unless it is the proved path of another file', () => {
    assert.equal(all([version(1, 'a'), version(2, 'a')], 'a').number, 2);
    assert.equal(all([version(1, 'a'), version(2, 'a')], idOf(1)).number, 1);
    assert.equal(all([file(1, 'a'), file(2, idOf(1))], idOf(1)).number, 2);
    const made = file(2, idOf(1), { verified: false });
    assert.equal(all([file(1, 'a'), made], idOf(1)).number, 1);
  });
});

suite('the files to read', () => {
  const choose = (entries: Entry[], args: string[], versions?: 'all') => {
    const out = new Told();
    const batch = new Batch(out, signal);
    const invocation = { args, out, batch, signal } as unknown as Invocation;
    const { files, emptyFolders: empty, ...rest } = selectFiles(new Tree(entries), invocation, versions);
    const emptyFolders = empty.map(({ below }) => below);
    return {
      ...rest,
      emptyFolders,
      files: files.map(({ below, top, entry: of }) => [below, top, numberOf(of)]),
      ...out,
    };
  };

  test('a folder keeps its name, a pattern the folders behind its first sign; of versions the newest, or the one that is named', () => {
    const entries = [version(1, 'd/e/a'), version(2, 'd/e/a'), file(3, 'd/b'), file(4, 'f')];
    assert.deepEqual(choose(entries, ['d']).files, [
      ['d/b', 'd', 3],
      ['d/e/a', 'd', 2],
    ]);
    assert.deepEqual(choose(entries, ['d/e']).files, [['e/a', 'e', 2]]);
    assert.deepEqual(choose(entries, ['d/*']).files, [
      ['e/a', 'e', 2],
      ['b', '', 3],
    ]);
    assert.deepEqual(choose(entries, ['d/e/a', 'd/e/a']).files, [['a', '', 2]]);
    assert.deepEqual(choose(entries, [idOf(1)]).files, [['d/e/a', '', 1]]);
    assert.deepEqual(choose(entries, [idOf(1)], 'all').files, [['d/e/a', '', 1]]);
    assert.equal(choose(entries, ['/']).files.length, 3);
    assert.equal(choose(entries, ['/'], 'all').files.length, 4);
    assert.deepEqual([choose(entries, ['f']).single, choose(entries, ['f*']).single], [true, false]);
    assert.equal(choose(entries, ['d']).single, false);
    assert.deepEqual(choose(entries, ['f', 'none', 'nor*']).errors, ['no-file', 'no-file']);
  });

  test('folders with nothing in them are told', () => {
    const entries = [entry(1, 'd/e/', { size: 0 }), entry(2, 'd/f/', { size: 0 }), file(3, 'd/f/a')];
    const { files, emptyFolders } = choose(entries, ['d']);
    assert.deepEqual([files, emptyFolders], [[['d/f/a', 'd', 3]], ['d/e']]);
    assert.deepEqual(choose(entries, ['d/e']).emptyFolders, ['e']);
  });
});

suite('what an upload would repeat', () => {
  const source = { size: 10, mtime: 5, read: async () => new Uint8Array(10), check: async () => {} };
  const opened = (number: number, metadata: Partial<ReadableVersion['metadata']>): ReadableVersion => ({
    entry: entry(number, 'f'),
    metadata: { name: 'f', size: 10, rev: 1, gen: 1, added: 1, mtime: 5, source: '/here/f', ...metadata },
  });
  /** The content is asked for, and is gone meanwhile. */
  const meet = async (versions: ReadableVersion[], checksum = false) => {
    let asked = 0;
    const szafa = {
      openFile: async () => {
        asked++;
        throw new ApiError(404, {});
      },
    } as unknown as Szafa;
    const found = await findExisting({ szafa, signal }, versions, source, { origin: '/here/f', checksum });
    return [found.same?.by, found.from, asked];
  };

  test('the same place, size and time; nothing less, unless the content is compared', async () => {
    assert.deepEqual(await meet([]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([opened(1, {})]), ['time', undefined, 0]);
    assert.deepEqual(await meet([opened(1, { size: 11 })]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([opened(1, { mtime: 6 })]), [undefined, undefined, 0]);
    assert.deepEqual(await meet([opened(1, {})], true), [undefined, undefined, 1]);
    assert.deepEqual(await meet([opened(1, { mtime: 6 })], true), [undefined, undefined, 1]);
    assert.deepEqual(await meet([opened(1, { source: '/there/f' })]), [undefined, '/there/f', 1]);
    assert.deepEqual(await meet([opened(1, { link: 'x' })], true), [undefined, undefined, 0]);
  });

  test('what came back to an older state is a new version; a newer one of another place is none of it', async () => {
    assert.deepEqual(await meet([opened(2, { size: 9 }), opened(1, {})]), [undefined, undefined, 0]);
    const other = opened(2, { size: 9, source: '/there/f' });
    assert.deepEqual(await meet([other, opened(1, {})]), ['time', '/there/f', 0]);
  });
});

test('get --checksum finds a copy of the same size and time that is another file, and leaves an equal one', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'szafa-checksum-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const engine = stack.adopt(nodeEngine(), (one) => one.close());
  const path = join(folder, 'f');
  const write = async (content: string, when: number) => {
    await writeFile(path, content);
    await utimes(path, when, when);
  };
  // What the server has, as an upload would have sealed it.
  const bytes = bytesSource(Buffer.from('right'));
  const layout = layoutOf(bytes.size);
  const place = { fileId: new Uint8Array(16), fileKey: new Uint8Array(32).fill(7), idx: 1, isLast: true };
  const sealed = await sealVolume(engine, place, bytes, { offset: 0, length: bytes.size });
  const totalSha = (await totalSha256(engine, [sealed.digest])).toHex();
  const remote = {
    ...{ engine, layout, metadata: { size: bytes.size, mtime: 5000 } },
    header: { ...place, totalSha256: totalSha },
    openHead: async () => ({ head: sealed.salt, isLast: true }),
  } as unknown as RemoteFile;
  const destination = new Destination({ file: path }, new Told());
  const state = (checksum: boolean) =>
    stateOf(path, remote.metadata, async () => remote, { flags: { checksum }, signal, destination });
  assert.equal(await state(true), 'absent');
  await write('wrong', 5);
  assert.deepEqual([await state(false), await state(true)], ['same', 'other']);
  await write('right', 6);
  assert.deepEqual([await state(false), await state(true)], ['other', 'same']);
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
      const batch = new Batch(out, signal);
      const planned = await collectFiles({ args, flags, out, batch, signal } as unknown as Invocation);
      return [planned.filter(({ kind }) => kind === 'file').map(({ to }) => to), out.errors];
    };
    const [a, b] = [join(folder, 'a/x'), join(folder, 'b/x')];
    assert.deepEqual(await plan([a, b]), [['x'], ['same-name']]);
    assert.deepEqual(await plan([a, a]), [['x'], []]);
    assert.deepEqual(await plan([join(folder, 'a'), join(folder, 'b')]), [['a/x', 'b/x'], []]);
    assert.deepEqual(await plan([join(folder, 'a'), a], { dir: 'd' }), [['d/a/x', 'd/x'], []]);
    assert.deepEqual(await plan([join(folder, 'a')], { dir: '/d/e/' }), [['d/e/a/x'], []]);
    assert.deepEqual(await plan([a], { dir: '/', name: 'in/y' }), [['in/y'], []]);
    assert.deepEqual(await plan([join(folder, 'none'), b]), [['x'], ['ENOENT']]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an account that was entered with a derived secret stays so, whatever comes after', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-mode-'));
  try {
    const mode = passwordMode(folder, 'http://x', 'Ann');
    await mode.check('raw');
    await mode.save('raw');
    assert.equal(await mode.load(), 'raw');
    await mode.check('raw');
    await mode.save('derived');
    assert.equal(await mode.load(), 'derived');
    await mode.save('raw');
    await assert.rejects(passwordMode(folder, 'http://x', 'ann').check('raw'), { code: 'raw-refused' });
    await mode.check('derived');
    await passwordMode(folder, 'http://y', 'ann').check('raw');
    await writeFile(mode.path, 'damaged');
    await assert.rejects(mode.check('raw'), { code: 'raw-refused' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
