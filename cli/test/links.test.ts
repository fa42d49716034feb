/** What a download may make on a disk: paths that stay below their folder, and links that lead nowhere else. */
import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type ReceivedShare, SzafaError } from '@szafa/client/node';
import type { CliError } from '../src/errors.ts';
import { Output } from '../src/lib/print/output.ts';
import { Destination, targetFor } from '../src/lib/transfer/get/destination.ts';
import { isNamed, trustedShares } from '../src/lib/transfer/get/from-account.ts';
import { checkLink, linkState, makeLink } from '../src/lib/transfer/get/links.ts';

async function folder(stack: AsyncDisposableStack): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'szafa-links-'));
  stack.defer(() => rm(made, { recursive: true, force: true }));
  return made;
}

const quiet = new Output({ json: false, quiet: true });

suite('symbolic links', () => {
  test('lead to what is in the same folder, and nowhere else', () => {
    const allowed = (target: string, path = '/top/in/$(reboot)') => {
      try {
        checkLink(path, target, '/top');
        return true;
      } catch (error) {
        const { code, hint } = error as CliError;
        assert.equal(code, 'link-outside');
        // People paste it into a shell.
        assert.doesNotMatch(hint, /top|\$/);
        return false;
      }
    };
    for (const good of ['a', './a', '../a', 'b/c', '..', '.', '/top/x', '../in', '...']) {
      assert.ok(allowed(good), good);
    }
    for (const bad of ['/etc/passwd', '../../x', '../../../x', '/', '', 'a\0b', '/topmost/x', '../../top2']) {
      assert.ok(!allowed(bad), bad);
    }
    // y may be a link to a folder above: the way back from there leads out.
    assert.ok(!allowed('y/..'));
    assert.ok(!allowed('../y/../z'));
    assert.ok(!allowed('y/../../../etc'));
  });

  test('are made whole with their time, replace what may be replaced, and never a folder', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await folder(stack);
    const path = join(top, 'link');
    assert.equal(linkState(path, 'to'), 'absent');
    makeLink(path, 'to', { time: { mtime: -1000 }, overwrite: false });
    assert.deepEqual([readlinkSync(path), lstatSync(path).mtimeMs], ['to', -1000]);
    assert.deepEqual([linkState(path, 'to'), linkState(path, 'other')], ['same', 'other']);
    const other = (overwrite: boolean) => makeLink(path, 'other', { time: {}, overwrite });
    assert.throws(() => other(false), { code: 'target-exists' });
    other(true);
    assert.equal(readlinkSync(path), 'other');
    await rm(path);
    await mkdir(path);
    assert.throws(() => other(true), { code: 'folder-in-the-way' });
    assert.deepEqual(readdirSync(top), ['link'], 'nothing is left behind');
    const long = 'n'.repeat(255);
    makeLink(join(top, long), 'to', { time: {}, overwrite: false });
    assert.deepEqual(readdirSync(top), ['link', long]);
  });
});

suite('where files are written', () => {
  test('one file may get a name, a folder or several go below', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await folder(stack);
    assert.deepEqual(await targetFor(undefined, true), { folder: '.' });
    assert.deepEqual(await targetFor(join(top, 'new'), true), { file: join(top, 'new') });
    assert.deepEqual(await targetFor(`${top}/new/`, true), { folder: `${top}/new/` });
    assert.deepEqual(await targetFor(top, true), { folder: top });
    assert.deepEqual(await targetFor(join(top, 'new'), false), { folder: join(top, 'new') });
  });

  test('nothing is written through a link', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await folder(stack);
    await mkdir(join(top, 'elsewhere'));
    await mkdir(join(top, 'out'));
    await symlink('../elsewhere', join(top, 'out/d'));
    await symlink('out', join(top, 'named'));
    const into = new Destination({ folder: join(top, 'out') }, quiet);
    assert.throws(() => into.ensure('d/x'), { code: 'through-link' });
    assert.throws(() => into.ensure('d/e/x'), { code: 'through-link' });
    into.ensure('e/f/x');
    into.ensure('e/g', true);
    assert.deepEqual(readdirSync(join(top, 'out/e')).sort(), ['f', 'g']);
    await writeFile(join(top, 'out/file'), '');
    assert.throws(() => into.ensure('file/x'), { code: 'ENOTDIR' });
    assert.deepEqual(readdirSync(join(top, 'elsewhere')), []);
    // The folder that somebody named may be one.
    new Destination({ folder: join(top, 'named') }, quiet).ensure('h/x');
    assert.ok(lstatSync(join(top, 'out/h')).isDirectory());
  });

  test('paths stay below, and no two files get one', () => {
    const into = new Destination({ folder: '/out' }, quiet);
    assert.equal(into.claim('../../etc/passwd'), '/out/etc/passwd');
    assert.equal(into.claim('a\\b'), '/out/a_b');
    assert.throws(() => into.claim('a_b'), { code: 'same-path' });
  });
});

suite('paths of what others share', () => {
  test('fit patterns, by themselves or by a folder above them, however many signs there are', () => {
    for (const [name, wanted] of [
      ['a/b/c.txt', '**/*.txt'],
      ['c.txt', '**/*.txt'],
      ['a/b/c.txt', 'a/*'],
      ['a/b/c.txt', 'a/**'],
      ['a', 'a/**'],
      ['a/b/', '*/?'],
      ['a/b/c', '**'],
      ['a/b/c', 'a/**/c'],
      ['a/c', 'a/**/**/c'],
    ] as const)
      assert.ok(isNamed(name, wanted), `${name} ${wanted}`);
    for (const [name, wanted] of [
      ['a/b/c.txt', '*.txt'],
      ['a/b', 'b*'],
      ['a', 'a/*'],
      ['a/b/c', 'a/**/d'],
    ] as const)
      assert.ok(!isNamed(name, wanted), `${name} ${wanted}`);
    // On every way at once: one after the other these are more than anybody waits for.
    assert.ok(!isNamed('a/'.repeat(60), `${'**/a/'.repeat(25)}b`));
  });

  test('keys that changed stop everything, wherever in the list they are', () => {
    const share = (code?: string) =>
      ({ id: 'x', from: 'bob', problem: code && new SzafaError(code, code) }) as unknown as ReceivedShare;
    const invocation = { out: quiet } as unknown as Parameters<typeof trustedShares>[2];
    const shares = [share('tampered'), share(), share('contact-changed')];
    assert.throws(() => trustedShares(shares, 'bob', invocation), { code: 'contact-changed' });
    assert.equal(trustedShares(shares.slice(0, 2), 'bob', invocation).length, 1);
    assert.throws(() => trustedShares(shares.slice(0, 1), 'bob', invocation), { code: 'tampered' });
  });
});
