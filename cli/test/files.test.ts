import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { diskPath } from '@szafa/client/node';
import { logout } from '../src/commands/accounts/login.ts';
import { configuredSecret } from '../src/lib/account/secrets.ts';
import { sessionStore } from '../src/lib/account/session-store.ts';
import { readSettings } from '../src/lib/account/settings.ts';
import { Output } from '../src/lib/print/output.ts';
import { exclusionsFrom } from '../src/lib/select/exclude.ts';
import { walk } from '../src/lib/select/walk.ts';
import { Batch } from '../src/lib/transfer/batch.ts';
import { pullPlan } from '../src/lib/transfer/pull.ts';
import type { Flags } from '../src/options.ts';

async function folder(stack: AsyncDisposableStack): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'szafa-cli-'));
  stack.defer(() => rm(made, { recursive: true, force: true }));
  return made;
}

suite('settings', () => {
  test('flags are stronger than the environment, an empty variable is none', () => {
    const env = { SZ_SERVER: 'http://a', SZ_USER: '', SZ_PASSWORD: 'p', HOME: '/home/ewa' };
    assert.equal(readSettings({ server: 'http://b' }, env).server, 'http://b');
    assert.equal(readSettings({}, env).server, 'http://a');
    assert.equal(readSettings({}, env).user, undefined);
    assert.deepEqual(readSettings({ 'password-file': 'f' }, env).password.text, undefined);
    assert.equal(readSettings({ retry: '5m' }, env).retrySeconds, 300);
  });

  test('the configuration folder: flag, SZ_CONFIG, XDG, home', () => {
    const config = (env: Record<string, string>, flag?: string) =>
      readSettings(flag ? { config: flag } : {}, { HOME: '/home/ewa', ...env }).config;
    assert.equal(config({}), '/home/ewa/.config/szafa');
    assert.equal(config({ XDG_CONFIG_HOME: '/x' }), '/x/szafa');
    assert.equal(config({ XDG_CONFIG_HOME: 'relative' }), '/home/ewa/.config/szafa');
    assert.equal(config({ XDG_CONFIG_HOME: '/x', SZ_CONFIG: '/y' }), '/y');
    assert.equal(config({ SZ_CONFIG: '/y' }, '/z'), '/z');
  });

  test('a password file loses its last newline and nothing else', async () => {
    await using stack = new AsyncDisposableStack();
    const path = join(await folder(stack), 'pw');
    const source = { text: undefined, file: path, names: 'X' };
    for (const [text, secret] of [
      ['a b \n', 'a b '],
      ['two\n\n', 'two\n'],
      ['dos\r\n', 'dos'],
      ['none', 'none'],
    ] as const) {
      await writeFile(path, text);
      assert.equal(await configuredSecret(source, 'password'), secret);
    }
    await rm(path);
    await assert.rejects(configuredSecret(source, 'password'), { message: /no such file/, exit: 1 });
  });

  test('--pull-address: a host, a port, a path; nothing else', () => {
    assert.equal(pullPlan({}), undefined);
    assert.deepEqual(pullPlan({ pull: true }), { address: undefined, oneAtATime: false });
    assert.equal(pullPlan({ 'pull-address': '192.0.2.7' })?.address?.href, 'http://192.0.2.7/');
    assert.equal(pullPlan({ 'pull-address': 'http://h:9000/x' })?.oneAtATime, true);
    for (const wrong of ['ftp://x', 'http://', 'http://u:p@h', 'http://h?x', '::']) {
      assert.throws(() => pullPlan({ 'pull-address': wrong }), { exit: 2 }, wrong);
    }
  });
});

suite('the session', () => {
  const session = { server: 'http://x', username: 'ewa', token: 't', kek: 'k' };

  test('is kept for its owner alone, also where it was not before', async () => {
    await using stack = new AsyncDisposableStack();
    const out = new Output({ json: false, quiet: false });
    const notes: string[] = [];
    out.note = (code) => notes.push(code);
    const config = join(await folder(stack), 'deep/config');
    const store = sessionStore({ settings: { config }, out });
    assert.equal(await store.load(), undefined);
    await store.prepare();
    await store.save(session);
    assert.equal((await stat(config)).mode & 0o777, 0o700);
    assert.equal((await stat(store.path)).mode & 0o777, 0o600);
    assert.deepEqual([await store.load(), notes], [session, []]);
    await chmod(store.path, 0o644);
    assert.deepEqual([await store.load(), notes], [session, ['session-open']]);
    assert.equal((await stat(store.path)).mode & 0o777, 0o600);
    await store.remove();
    assert.equal(await store.load(), undefined);
  });

  test('goes at a logout with what a killed command left of it, and with nothing else', async () => {
    await using stack = new AsyncDisposableStack();
    // The token has ended already, which is what a logout brings about.
    const server = createServer((_, response) => response.writeHead(401).end('{"detail":"no"}'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    stack.defer(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = await folder(stack);
    const out = new Output({ json: false, quiet: true });
    await sessionStore({ settings: { config }, out }).save({ ...session, server: url });
    for (const more of ['0123456789ab', '0123456789abc', 'mine']) {
      await copyFile(join(config, 'session.json'), join(config, `session.json.${more}`));
    }
    const settings = readSettings({ config }, {});
    const { signal } = new AbortController();
    const batch = new Batch(out, signal);
    await logout({ args: [], flags: {}, settings, out, batch, began: 0, signal });
    const left = (await readdir(config)).filter((name) => name.startsWith('session'));
    assert.deepEqual(left.sort(), ['session.json.0123456789abc', 'session.json.mine']);
  });

  test('a damaged one is not taken for none', async () => {
    await using stack = new AsyncDisposableStack();
    const out = new Output({ json: false, quiet: true });
    const store = sessionStore({ settings: { config: await folder(stack) }, out });
    for (const text of ['', 'x', '{}', '{"server":"x","username":"u","token":1}', 'null']) {
      await writeFile(store.path, text);
      await assert.rejects(store.load(), { message: /damaged/ }, text);
    }
    assert.equal(await readFile(store.path, 'utf8'), 'null');
  });
});

suite('walk', () => {
  /** What it finds, and what it tells beside that. */
  async function walked(path: string, flags: Flags = {}) {
    const told: string[] = [];
    const found = await Array.fromAsync(
      walk(path, exclusionsFrom(flags), {
        fail: (error, at) => told.push(`failed ${at}: ${(error as Error).message}`),
        skip: (at, what) => told.push(`skipped ${at}: ${what}`),
        exclude: (at) => told.push(`excluded ${at}`),
      }),
    );
    const shown = found.filter((one) => one.kind !== 'folder' || one.isEmpty);
    return { found, names: shown.map(({ kind, name }) => `${kind} ${name}`), told };
  }

  async function tree(stack: AsyncDisposableStack, files: string[]): Promise<string> {
    const top = join(await folder(stack), 'top');
    for (const name of files) {
      await mkdir(join(top, name, name.endsWith('/') ? '' : '..'), { recursive: true });
      if (!name.endsWith('/')) await writeFile(join(top, name), name);
    }
    return top;
  }

  test('files, links and empty folders below a folder, in order', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await tree(stack, ['z', 'a', 'b/y', 'b/c/x', 'b/empty/']);
    await symlink('../a', join(top, 'b/link'));
    execFileSync('mkfifo', [join(top, 'pipe')]);
    const { found, names, told } = await walked(`${top}/`);
    const all = ['file a', 'file z', 'link b/link', 'file b/y', 'file b/c/x', 'folder b/empty/'];
    assert.deepEqual(names, all);
    // Each folder comes with what is kept of it, after the files in it.
    const folders = found.flatMap((one) => (one.kind === 'folder' ? [one] : []));
    assert.deepEqual(
      folders.map(({ name, isEmpty }) => [name, isEmpty]),
      [
        ['', false],
        ['b/', false],
        ['b/c/', false],
        ['b/empty/', true],
      ],
    );
    assert.ok(folders.every(({ attributes }) => attributes.mtime! > 0 && attributes.mode! >= 0o700));
    assert.deepEqual(told, [`skipped ${join(top, 'pipe')}: a pipe`]);
    const link = found.find(({ kind }) => kind === 'link');
    assert.equal(link?.kind === 'link' && link.target, '../a');
    assert.ok(found.every(({ folder: of }) => of === 'top'));
    // A link that is named itself is what it leads to.
    const [one] = (await walked(join(top, 'b/link'))).found;
    assert.deepEqual([one?.kind, one?.name, one?.folder, one?.size], ['file', 'link', undefined, 1]);
    await assert.rejects(walked('/dev/null'), { message: /is a device/ });
    assert.deepEqual((await walked(join(top, 'b/empty'))).names, ['folder ']);
  });

  test('patterns leave files and whole folders out, as git reads them', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await tree(stack, [
      'a.tmp',
      'A.TMP',
      'keep.tmp',
      'src/a.tmp',
      'src/m.c',
      'out/x',
      'src/out/x',
    ]);
    const { names, told } = await walked(top, { exclude: ['*.tmp', '!keep.tmp', '/out/'] });
    assert.deepEqual(names, ['file A.TMP', 'file keep.tmp', 'file src/m.c', 'file src/out/x']);
    assert.deepEqual(
      told,
      ['a.tmp', 'out', 'src/a.tmp'].map((name) => `excluded ${join(top, name)}`),
    );
    const list = join(top, '../list');
    await writeFile(list, '# a comment\r\n\r\n*.tmp\r\nout\r\n');
    assert.deepEqual((await walked(top, { 'exclude-from': [list] })).names, ['file A.TMP', 'file src/m.c']);
    assert.deepEqual((await walked(join(top, 'a.tmp'), { exclude: ['*.tmp'] })).names, []);
    // What is wanted empty is kept so.
    assert.deepEqual((await walked(join(top, 'out'), { exclude: ['*'] })).names, ['folder ']);
    assert.throws(() => exclusionsFrom({ 'exclude-from': [join(top, 'none')] }), {
      code: 'exclude-file',
      exit: 2,
    });
  });

  test('.szafaignore counts below its folder, the deeper one more, --exclude most', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await tree(stack, ['a.log', 'in/a.log', 'in/b.log', 'in/deep/a.log', 'in/deep/b.log']);
    await writeFile(join(top, '.szafaignore'), '*.log\n.szafaignore\n');
    await writeFile(join(top, 'in/.szafaignore'), '!b.log\n/deep/b.log\n');
    assert.deepEqual((await walked(top)).names, ['file in/b.log', 'folder in/deep/']);
    assert.deepEqual((await walked(top, { exclude: ['!a.log', 'b.log'] })).names, [
      'file a.log',
      'file in/a.log',
      'file in/deep/a.log',
    ]);
    // One that is no file says nothing.
    await rm(join(top, '.szafaignore'));
    await mkdir(join(top, '.szafaignore'));
    assert.ok((await walked(top)).names.includes('file a.log'));
  });

  test('names and targets that are not UTF-8 keep their bytes, each spelled as a character', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await folder(stack);
    const bytes = (text: string) => Buffer.concat([Buffer.from(text), Buffer.from([0xff])]);
    await writeFile(bytes(`${top}/bad`), 'bytes');
    // A name that has such a character itself is no other name's.
    await writeFile(join(top, 'own\uefff'), '');
    await writeFile(join(top, 'g\ufffdd'), '');
    await symlink(bytes('to'), join(top, 'link'));
    const { found, names, told } = await walked(top);
    assert.deepEqual(names, ['file bad\uefff', 'file g\ufffdd', 'link link', 'file own\uefee\uefbf\uefbf']);
    const link = found.find(({ kind }) => kind === 'link');
    assert.equal(link?.kind === 'link' && link.target, 'to\uefff');
    assert.deepEqual(told, []);
    assert.equal(readFileSync(diskPath(found[0]!.path), 'utf8'), 'bytes');
    assert.deepEqual(diskPath(found[0]!.path), bytes(`${top}/bad`));
  });
});
