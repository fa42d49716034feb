/** Paths, and the tree that a list makes: without a service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileRecord } from '@szafa/protocol';
import fc from 'fast-check';
import { belowFirst, dirNameOf, firstOf } from '../src/files/paths.ts';
import {
  checkPath,
  type Entry,
  freePath,
  isWithin,
  joinPath,
  lastOf,
  type PruneOptions,
  parentOf,
  prunable,
  segmentsOf,
  TamperedError,
  Tree,
} from '../src/index.ts';

let number = 0;

function entry(path: string, more: Partial<Entry> & { gen?: number; added?: number } = {}): Entry {
  const { gen = 1, added = 1, verified = true, ...rest } = more;
  const fileId = `id${++number}`;
  return {
    ...{ fileId, path, name: path, verified, size: 1, dirId: null, createdAt: '2026-01-01T00:00:00Z' },
    ...(verified && { age: { rev: 1, gen, added } }),
    record: { file_id: fileId } as FileRecord,
    ...rest,
  };
}

const dir = (name: string, dirId: number, verified = true) => ({
  ...{ dirId, name, verified },
  ...{ fileCount: 0, size: 0, createdAt: '' },
});

const pathsOf = (some: { path: string }[]) => some.map(({ path }) => path);

test('what may be a path, and what may not', () => {
  for (const path of ['a', 'a/b', ' a / b ', '...', 'a\\..\\b', '.hidden', 'żółw/ß', 'a\nb', '🙂']) {
    assert.equal(checkPath(path), path);
  }
  const bad = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a/.',
    'a\0b',
    '\ud800',
    'a/\udc00/b',
  ];
  for (const path of bad) {
    assert.throws(() => checkPath(path), { code: 'name' }, JSON.stringify(path));
  }
  assert.throws(
    () => checkPath(`${'x'.repeat(5000)}/..`),
    (error: Error) => error.message.length < 200,
  );
});

test('a path comes apart and together again; the directory is its first part, where that fits', () => {
  const segment = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((text) => !/[/\0]|^\.{1,2}$/.test(text));
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), (segments) => {
      const path = segments.join('/');
      assert.equal(checkPath(path), path);
      assert.deepEqual(segmentsOf(path), segments);
      assert.equal(joinPath(parentOf(path), lastOf(path)), path);
      assert.equal(joinPath(firstOf(path), belowFirst(path)), path);
      assert.ok(isWithin(path, parentOf(path)) && isWithin(path, path) && !isWithin(path, `${path}x`));
      const fits = segments.length > 1 && Buffer.byteLength(segments[0]!) <= 32;
      assert.equal(dirNameOf(path), fits ? segments[0] : undefined);
    }),
  );
  assert.ok(!isWithin('ab/c', 'a') && isWithin('a/c', 'a') && isWithin('x', ''));
});

test('folders, sizes and counts at every depth; directories without files, and empty folders, are there as well', () => {
  const entries = [
    entry('top.txt', { size: 1 }),
    entry('photos/a.jpg', { size: 2 }),
    entry('photos/2026/b.jpg', { size: 4 }),
    entry('photos/2026/05/c.jpg', { size: 8 }),
    entry('photos/empty/', { size: 0 }),
  ];
  const tree = new Tree(entries, [dir('photos', 7), dir('unused', 8), dir('photos', 9, false)]);
  assert.deepEqual(pathsOf(tree.folders()), [
    'photos',
    'photos/2026',
    'photos/2026/05',
    'photos/empty',
    'unused',
  ]);
  assert.deepEqual([tree.top.size, tree.top.count], [15, 4]);
  const photos = tree.folder('photos')!;
  assert.deepEqual([photos.size, photos.count, photos.dirId], [14, 3, 7]);
  assert.deepEqual(pathsOf(photos.folders), ['photos/2026', 'photos/empty']);
  assert.deepEqual(pathsOf(photos.files), ['photos/a.jpg']);
  assert.equal(tree.folder('photos/empty')!.markers.length, 1);
  assert.deepEqual(pathsOf([...tree.within(photos)]).sort(), [
    'photos/2026/05/c.jpg',
    'photos/2026/b.jpg',
    'photos/a.jpg',
  ]);
  assert.equal(tree.file('photos'), undefined);
  assert.equal(tree.folder('photos/a.jpg'), undefined);
  assert.equal(tree.file('photos/empty'), undefined);
});

test('versions: the newest by what is sealed, whatever the order of the list; an unproven file never stands in', () => {
  const first = entry('v', { gen: 1, added: 90 });
  const second = entry('v', { gen: 2, added: 50 });
  const third = entry('v', { gen: 2, added: 60 });
  const claimed = entry('v', { verified: false });
  for (const order of [
    [first, second, third, claimed],
    [claimed, first, third, second],
    [second, claimed, first, third],
  ]) {
    const node = new Tree(order).file('v')!;
    assert.deepEqual(node.versions, [third, second, first]);
    assert.deepEqual([node.entry, node.unproven, node.verified], [third, [claimed], true]);
  }
  const alone = new Tree([claimed]).file('v')!;
  assert.deepEqual([alone.entry, alone.unproven, alone.verified], [claimed, [], false]);
  assert.equal(new Tree([first, third]).genOf('v'), 2);
  assert.equal(new Tree([]).genOf('v'), 0);
});

test('letters count as they are: another case or another spelling is another path; a file and a folder may share one', () => {
  const composed = 'caf\u00e9.txt';
  const tree = new Tree([
    entry(composed),
    entry(composed.normalize('NFD')),
    entry('A'),
    entry('a'),
    entry('a/b'),
  ]);
  assert.equal(tree.files().length, 5);
  assert.ok(tree.file('a') && tree.folder('a') && tree.file('A') && !tree.folder('A'));
});

test('hostile paths lead nowhere, lose no file, and cost no more than they are long', () => {
  const odd = ['../x', '/etc/passwd', 'a//b/./c', '..', '', '/', 'x/', `${'a/'.repeat(4_000)}end`];
  const claimed = entry('s/'.repeat(1_000_000), { verified: false });
  const tree = new Tree([...odd.map((path) => entry(path)), claimed]);
  assert.equal(
    tree.files().reduce((sum, { versions, unproven }) => sum + versions.length + unproven.length, 0),
    9,
  );
  for (const path of ['x', 'etc/passwd', 'a/b/c', 'unnamed']) assert.ok(tree.file(path), path);
  assert.ok(tree.folders().length < 300);
  // No bytes and a slash at the end are a folder only where the owner says so.
  assert.ok(new Tree([entry('f/', { size: 0, verified: false })]).file('f'));
});

test('any list makes a tree in which every file is once, below its folder, and the sums are right', () => {
  const part = fc.constantFrom('a', 'b', 'c', '..', '', '.', 'ż');
  const path = fc.array(part, { maxLength: 5 }).map((parts) => parts.join('/'));
  const some = fc.array(fc.record({ path, size: fc.nat(9), verified: fc.boolean(), gen: fc.nat(3) }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(some, (said) => {
      const entries = said.map(({ path: at, ...more }) => entry(at, more));
      const tree = new Tree(entries);
      const records = tree.files().flatMap(({ versions, unproven }) => [...versions, ...unproven]);
      const markers = [tree.top, ...tree.folders()].flatMap((folder) => folder.markers);
      assert.deepEqual(new Set([...records, ...markers]), new Set(entries));
      assert.equal(records.length + markers.length, entries.length);
      for (const folder of [tree.top, ...tree.folders()]) {
        const within = [...tree.within(folder)];
        assert.equal(folder.count, within.length);
        assert.equal(
          folder.size,
          within.reduce((sum, { size }) => sum + size, 0),
        );
        assert.ok(
          folder.files.every(
            (file) => parentOf(file.path) === folder.path && file.name === lastOf(file.path),
          ),
        );
        assert.equal(tree.folder(folder.path), folder);
      }
      for (const node of tree.files()) {
        assert.equal(tree.fileOf(node.entry), node);
        const gens = node.versions.map(({ age }) => age?.gen ?? 0);
        assert.deepEqual(
          gens,
          gens.toSorted((a, b) => b - a),
        );
      }
    }),
  );
});

test('of the versions of a file those go that are neither among the newest nor young, and whose age is proved', () => {
  const entries = [9, 7, 5, 3].map((added, at) => entry('f', { gen: 4 - at, added }));
  const gone = (options: PruneOptions, some = entries) =>
    prunable(new Tree(some).file('f')!, options).map(({ age }) => age?.gen);
  assert.deepEqual(gone({}), [3, 2, 1]);
  assert.deepEqual(gone({ keep: 3 }), [1]);
  assert.deepEqual(gone({ olderThan: 6 }), [2, 1]);
  assert.deepEqual(gone({ keep: 3, olderThan: 6 }), [1]);
  assert.deepEqual(gone({ keep: 0, olderThan: 100 }), [3, 2, 1]);
  const unproven = [1, 2].map(() => entry('f', { verified: false }));
  assert.deepEqual(gone({}, unproven), []);
  assert.deepEqual(gone({}, [entries[0]!, ...unproven]), []);
  // One under a name that it has no more is another file's version, and neither goes nor stays in for one.
  const replayed = entry('f', { gen: 9, problem: new TamperedError('rev', 'an older one') });
  assert.deepEqual(gone({}, [replayed, ...entries]), [3, 2, 1]);
  assert.deepEqual(
    gone({ keep: 2 }, [...entries, { ...replayed, age: { rev: 1, gen: 0, added: 1 } }]),
    [2, 1],
  );
});

test('a free path gets a number before its ending', () => {
  const tree = new Tree([entry('d/a.txt'), entry('d/a (2).txt'), entry('b'), entry('.x')]);
  assert.equal(freePath(tree, 'd/a.txt'), 'd/a (3).txt');
  assert.equal(freePath(tree, 'b'), 'b (2)');
  assert.equal(freePath(tree, '.x'), '.x (2)');
  assert.equal(freePath(tree, 'd'), 'd (2)');
  assert.equal(freePath(tree, 'new'), 'new');
});

test('ten thousand files make a tree at once', () => {
  const entries = Array.from({ length: 10_000 }, (_, at) =>
    entry(`photos/${at % 40}/${at % 7}/file ${at}.jpg`),
  );
  const times = Array.from({ length: 5 }, () => {
    const began = performance.now();
    assert.equal(new Tree(entries).top.count, 10_000);
    return performance.now() - began;
  });
  // A tenth of it on an idle machine; on a busy one, at least once.
  assert.ok(Math.min(...times) < 500, `${times.join(', ')} ms`);
});

test('no name is more than a name, and no number of folders too large', () => {
  const odd = ['__proto__/x', 'constructor', 'a/__proto__', 'toString/valueOf'];
  const tree = new Tree(odd.map((path) => entry(path)));
  assert.deepEqual(
    tree.files().map(({ path }) => path),
    odd,
  );
  assert.equal(tree.folder('hasOwnProperty'), undefined);
  const wide = new Tree(
    [],
    Array.from({ length: 130_000 }, (_, at) => dir(`d${at}`, at + 1)),
  );
  let folders = 0;
  for (const _ of wide.foldersWithin(wide.top)) folders++;
  assert.equal(folders, 130_001);
});

test('a path of thousands of parts makes no thousands of folders, and no file is lost', () => {
  const deep = (name: string, parts: number) => `${`${name}/`.repeat(parts - 1)}end`;
  assert.equal(checkPath(deep('d', 128)), deep('d', 128));
  assert.throws(() => checkPath(deep('d', 129)), { code: 'name', message: /more than 128 parts/ });
  const most = new Tree([entry(deep('d', 128))]);
  assert.equal(most.folders().length, 127);
  assert.ok(most.file(deep('d', 128)));
  const [last, beyond] = [entry(deep('d', 4000)), entry(deep('d', 4001))];
  const tree = new Tree([last, beyond, entry(deep('e', 129)), entry(`${deep('f', 4000)}/`, { size: 0 })]);
  assert.equal(tree.folders().length, 127 + 127 + 128);
  assert.equal(tree.files().length, 3);
  assert.notEqual(tree.fileOf(last), tree.fileOf(beyond));
  assert.equal(tree.fileOf(last)!.entry, last);
  assert.equal(tree.top.count, 3);
});
