import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Output } from '../src/output.ts';
import { pullPlan } from '../src/pull.ts';
import { givenSecret } from '../src/question.ts';
import { SessionStore } from '../src/session-store.ts';
import { readSettings } from '../src/settings.ts';
import { type Found, walk } from '../src/walk.ts';

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
      assert.equal(await givenSecret(source, 'password'), secret);
    }
    await rm(path);
    await assert.rejects(givenSecret(source, 'password'), { message: /no such file/, exit: 1 });
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
    const store = new SessionStore(join(await folder(stack), 'deep/config'), out);
    assert.equal(await store.load(), undefined);
    await store.prepare();
    await store.save(session);
    assert.equal((await stat(store.folder)).mode & 0o777, 0o700);
    assert.equal((await stat(store.path)).mode & 0o777, 0o600);
    assert.deepEqual([await store.load(), notes], [session, []]);
    await chmod(store.path, 0o644);
    assert.deepEqual([await store.load(), notes], [session, ['session-open']]);
    assert.equal((await stat(store.path)).mode & 0o777, 0o600);
    await store.remove();
    assert.equal(await store.load(), undefined);
  });

  test('a damaged one is not taken for none', async () => {
    await using stack = new AsyncDisposableStack();
    const store = new SessionStore(await folder(stack), new Output({ json: false, quiet: true }));
    for (const text of ['', 'x', '{}', '{"server":"x","username":"u","token":1}', 'null']) {
      await writeFile(store.path, text);
      await assert.rejects(store.load(), { message: /damaged/ }, text);
    }
    assert.equal(await readFile(store.path, 'utf8'), 'null');
  });
});

suite('walk', () => {
  test('files below a folder, in order, without links', async () => {
    await using stack = new AsyncDisposableStack();
    const top = join(await folder(stack), 'top');
    await mkdir(join(top, 'b/c'), { recursive: true });
    for (const name of ['z', 'a', 'b/y', 'b/c/x']) await writeFile(join(top, name), name);
    await symlink('a', join(top, 'link'));
    const skipped: string[] = [];
    const handlers = {
      fail: assert.fail,
      skip: (path: string, what: string) => skipped.push(`${path} ${what}`),
    };
    const found = await Array.fromAsync(walk(`${top}/`, handlers));
    const names = found.map(({ name, folder }: Found) => `${folder}: ${name}`);
    assert.deepEqual(names, ['top: a', 'top: z', 'top: b/y', 'top: b/c/x']);
    assert.deepEqual(skipped, [`${join(top, 'link')} a symbolic link`]);
    const [one] = await Array.fromAsync(walk(join(top, 'link'), handlers));
    assert.deepEqual([one?.name, one?.folder, one?.size], ['link', undefined, 1]);
    await assert.rejects(Array.fromAsync(walk('/dev/null', handlers)), { message: /is a device/ });
  });

  test('a name that is not UTF-8 is told, and the others go on', async () => {
    await using stack = new AsyncDisposableStack();
    const top = await folder(stack);
    await writeFile(Buffer.concat([Buffer.from(`${top}/bad`), Buffer.from([0xff])]), '');
    await writeFile(join(top, 'good'), '');
    const failed: unknown[] = [];
    const handlers = { fail: (error: unknown) => failed.push(error), skip: assert.fail };
    const found = await Array.fromAsync(walk(top, handlers));
    assert.deepEqual(
      found.map(({ name }) => name),
      ['good'],
    );
    assert.match((failed[0] as Error).message, /not UTF-8/);
  });
});
