/** The tree that the page makes of a list, and the addresses of what is in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Item } from '../../web/src/core/bridge/calls.ts';
import { arrivals, chain, filesBelow, freePath, isWithin, nearest, treeOf } from '../../web/src/core/tree.ts';
import { formatAddress, parseAddress } from '../../web/src/files/address.ts';

function item(path: string, size = 1, createdAt = 1): Item {
  return { fileId: path, path, name: path, verified: true, size, createdAt, versions: 1 };
}

const plain = (path: string) => ({ path, verified: true });

test('folders have what is below them, at every depth', () => {
  const items = [item('top.txt', 1, 5), item('a/b/c/deep.txt', 10, 9), item('a/near.txt', 100, 7)];
  const tree = treeOf(items, [plain('empty'), plain('a/b/hollow'), { path: 'plain', verified: false }]);
  const folder = (path: string) => tree.folder(path)!;
  assert.deepEqual([tree.top.size, tree.top.count, tree.top.createdAt], [111, 3, 9]);
  assert.deepEqual([folder('a').size, folder('a').count, folder('a').createdAt], [110, 2, 9]);
  assert.deepEqual([folder('a/b/hollow').count, folder('empty').size], [0, 0]);
  assert.deepEqual(
    tree.top.folders.map(({ path }) => path),
    ['empty', 'a', 'plain'],
  );
  assert.deepEqual([folder('plain').verified, folder('a').verified], [false, true]);
  assert.equal(tree.file('a/near.txt')?.size, 100);
  assert.equal(tree.file('a/b'), undefined);
  assert.deepEqual(
    chain(folder('a/b/c')).map(({ path }) => path),
    ['', 'a', 'a/b', 'a/b/c'],
  );
  assert.deepEqual(
    [...filesBelow(folder('a'))].map(({ path }) => path),
    ['a/near.txt', 'a/b/c/deep.txt'],
  );
  assert.equal(nearest(tree, 'a/b/gone/further').path, 'a/b');
  assert.equal(nearest(tree, 'nowhere/at/all').path, '');
});

test('a name that nothing has: numbers go before the ending, and past what is given out', () => {
  const tree = treeOf([item('a/x.tar'), item('a/x (2).tar'), item('.hidden')], [plain('a/x (3).tar')]);
  assert.equal(freePath(tree, 'a/y.tar'), 'a/y.tar');
  assert.equal(freePath(tree, 'a/x.tar'), 'a/x (4).tar');
  assert.equal(freePath(tree, 'a/x.tar', new Set(['a/x (4).tar'])), 'a/x (5).tar');
  assert.equal(freePath(tree, '.hidden'), '.hidden (2)');
  assert.equal(freePath(tree, 'a'), 'a (2)');
});

test('a move has come about where the same files are at the new path, and not where others are', () => {
  const at = (path: string, fileId: string) => ({ ...item(path), fileId });
  const folders = (...paths: string[]) => paths.map((path) => ({ path, verified: true }));
  const before = treeOf([at('a', '1'), at('f/x', '2'), at('f/g/y', '3')], folders('empty'));
  const isThere = arrivals(before);
  const file = { from: 'a', to: 'b' };
  assert.ok(isThere(treeOf([at('b', '1')], []), file));
  assert.ok(!isThere(treeOf([at('a', '1'), at('b', '9')], []), file), 'another device put it there');
  assert.ok(!isThere(treeOf([at('b', '9')], []), file), 'and removed this one');
  assert.ok(!isThere(treeOf([], []), file));
  const folder = { from: 'f/', to: 'h/' };
  assert.ok(isThere(treeOf([at('h/x', '2'), at('h/g/y', '3'), at('f/new', '4')], []), folder));
  assert.ok(!isThere(treeOf([at('h/x', '2'), at('f/g/y', '3')], []), folder), 'a part of it');
  assert.ok(!isThere(treeOf([at('h/x', '9'), at('h/g/y', '8')], []), folder));
  const empty = { from: 'empty/', to: 'full/' };
  assert.ok(isThere(treeOf([], folders('full')), empty));
  assert.ok(!isThere(treeOf([], folders('full', 'empty')), empty));
  assert.ok(!isThere(before, { from: 'nothing', to: 'a' }));
});

test('a folder is within itself and what is above it, and not within one whose name it begins with', () => {
  assert.ok(isWithin('a/b', 'a') && isWithin('a', 'a') && isWithin('a', ''));
  assert.ok(!isWithin('ab', 'a') && !isWithin('a', 'a/b'));
});

test('ten thousand files in a thousand folders make a tree at once', (t) => {
  const items = Array.from({ length: 10_000 }, (_, i) =>
    item(`f${i % 10}/g${i % 100}/h${i % 1000}/${i}.txt`),
  );
  const began = performance.now();
  const tree = treeOf(items, []);
  const took = performance.now() - began;
  t.diagnostic(`${took.toFixed(1)} ms`);
  assert.equal(tree.folder('f7/g57/h257')?.count, 10);
  assert.ok(took < 1_000, `${took} ms`);
});

test('an address says the same place again, whatever the names are, and holds nothing that would end it', () => {
  const segment = fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('/', '_'));
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(path, (text) => {
      const folder = { place: { at: 'folder' as const, path: text } };
      const written = formatAddress(folder);
      assert.deepEqual(parseAddress(written), folder);
      // As a browser hands it out again.
      const { hash } = new URL(written, 'https://szafa.example/');
      assert.deepEqual(parseAddress(hash), folder);
      const shown = parseAddress(new URL(formatAddress({ ...folder, shown: text }), 'https://a.b/').hash);
      assert.equal(shown.shown, text);
    }),
  );
});

test('addresses as people read and type them', () => {
  assert.equal(
    formatAddress({ place: { at: 'folder', path: 'Zdjęcia/2026 lato' } }),
    '#/Zdjęcia/2026%20lato/',
  );
  assert.equal(formatAddress({ place: { at: 'folder', path: '' } }), '#/');
  assert.deepEqual(parseAddress('#trash'), { place: { at: 'trash' } });
  assert.deepEqual(parseAddress(''), { place: { at: 'folder', path: '' } });
  assert.deepEqual(parseAddress('#nonsense'), { place: { at: 'folder', path: '' } });
  assert.deepEqual(parseAddress('#/100%/a b.txt'), {
    place: { at: 'folder', path: '100%' },
    shown: '100%/a b.txt',
  });
});
