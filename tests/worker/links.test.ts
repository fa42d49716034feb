/** What of the tree goes into a link, and what is said about one that opens nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Entry, Tree } from '@szafa/client';
import type { FileRecord } from '@szafa/protocol';
import { aboutLink, explain, text } from '../../web/src/core/text/index.ts';
import { shareItems } from '../../web/src/sharing/links.worker.ts';

function entry(path: string): Entry {
  const fileId = path;
  const size = path.endsWith('/') ? 0 : 1;
  return {
    ...{ fileId, path, name: path, verified: true, size, dirId: null, createdAt: '2026-01-01T00:00:00Z' },
    age: { rev: 1, gen: 1, added: 1 },
    record: { file_id: fileId } as FileRecord,
  };
}

const given = (tree: Tree, ...paths: string[]) =>
  shareItems({ tree }, paths).map(({ entry: { fileId }, name }) => [fileId, name]);

test('a folder is shared under its own name, without what is above it, and with the folders in it that are empty', () => {
  const paths = ['a/top.txt', 'a/b/one.txt', 'a/b/c/two.txt', 'a/b/empty/', 'a/bc/other.txt', 'one.txt'];
  const tree = new Tree(paths.map((path) => entry(path)));
  assert.deepEqual(given(tree, 'a/b/').sort(), [
    ['a/b/c/two.txt', 'b/c/two.txt'],
    ['a/b/empty/', 'b/empty/'],
    ['a/b/one.txt', 'b/one.txt'],
  ]);
  assert.deepEqual(given(tree, 'a/top.txt'), [['a/top.txt', 'top.txt']]);
  // Two of one name are told apart by a number: where they are is nobody's business.
  assert.deepEqual(given(tree, 'a/b/one.txt', 'one.txt'), [
    ['a/b/one.txt', 'one.txt'],
    ['one.txt', 'one (2).txt'],
  ]);
  const twice = new Tree(['x/in/1', 'y/in/1', 'in'].map((path) => entry(path)));
  assert.deepEqual(given(twice, 'x/in/', 'y/in/', 'y/in/1', 'in').sort(), [
    ['in', 'in (3)'],
    ['x/in/1', 'in/1'],
    ['y/in/1', 'in (2)/1'],
  ]);
  assert.deepEqual(given(tree, 'a/b/c/', 'a/b/c/two.txt'), [['a/b/c/two.txt', 'c/two.txt']]);
  assert.throws(() => given(tree, 'a/top.txt', 'gone.txt'), { code: 'gone' });
  assert.throws(() => given(tree, 'gone/'), { code: 'gone' });
});

test('of a link that opens nothing it is said why, and what to do', () => {
  const about = (code: string, stage?: string) =>
    aboutLink({ code, message: 'from the SDK', ...(stage !== undefined && { stage }) });
  for (const why of ['expired', 'used up', 'ended', 'unknown'] as const) {
    assert.equal(about('link-over', why), text.link[why]);
  }
  assert.equal(about('link-over', 'a reason of later servers'), text.link.ended);
  assert.equal(about('link'), text.link.incomplete);
  for (const stage of ['link', 'link-key', 'share'])
    assert.equal(about('tampered', stage), text.link.changed);
  // A volume that was changed is none of that: the link is right.
  assert.equal(about('tampered', 'segment'), undefined);
  assert.match(
    explain({ code: 'tampered', message: 'x', stage: 'segment' }),
    /changed after it was uploaded/,
  );
  assert.match(explain({ code: 'link-over', message: 'x', stage: 'expired' }), /expired\. Ask the person/);
});
