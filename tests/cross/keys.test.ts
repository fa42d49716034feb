/** The life of an account by the command: passwords, recovery keys, sessions, a new master key, the end. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD, registered } from './account.ts';
import { Between } from './between.ts';
import { assertError, Device } from './device.ts';
import { CHANGE, elsewhere, NEXT, OLD, reads, withFile } from './life.ts';
import { confirmKey, Terminal } from './terminal.ts';

const service = useService();
const sessionOf = async (device: Device) =>
  JSON.parse(await readFile(device.path('config/session.json'), 'utf8')) as { token: string; kek: string };

suite('szafa: the life of an account', { concurrency: 3 }, () => {
  test('passwd: the new password counts everywhere, this session goes on, others end', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFile(stack, service);
    await device.ok(['login'], elsewhere(device, PASSWORD, 'other'));
    const before = await sessionOf(device);
    const answer = await device.ok(['passwd', '--json'], { env: CHANGE });
    const { username, what, result } = answer.line('password');
    assert.deepEqual([username, what, result], [device.env['SZ_USER'], 'password', 'changed']);
    assert.doesNotMatch(answer.stdout + answer.stderr, /horse/);
    const after = await sessionOf(device);
    assert.equal(after.token, before.token);
    assert.notEqual(after.kek, before.kek);
    await reads(device);
    await reads(device, elsewhere(device, NEXT));
    assertError(await device.run(['ls'], elsewhere(device, PASSWORD)), 12, /login was refused/);
    const other = { env: { SZ_CONFIG: device.path('other') } };
    assertError(await device.run(['ls'], other), 1, /token/, /szafa login/);
    // Who runs it again is told, with a session and without.
    assert.match((await device.ok(['passwd'], { env: CHANGE })).stdout, /is valid already/);
    const once = { env: { ...CHANGE, SZ_CONFIG: device.path('elsewhere') } };
    assert.match((await device.ok(['passwd'], once)).stdout, /is valid already/);
  });

  test('the recovery key: in a file at registration, used, replaced; others open nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url, { SZ_USER: freshName() });
    stack.defer(() => device.remove());
    const name = device.env['SZ_USER']!;
    await writeFile(device.path('taken'), 'mine');
    const onto = await device.run(['register', '--recovery-file', 'taken'], { env: OLD });
    assertError(onto, 1, /already exists/, /--recovery-file/);
    assert.equal(await readFile(device.path('taken'), 'utf8'), 'mine');
    const made = await device.ok(['register', '--json', '--recovery-file', 'first'], { env: OLD });
    assert.equal(made.line('session')['recovery_file'], 'first');
    assert.equal((await stat(device.path('first'))).mode & 0o777, 0o600);
    const first = await readFile(device.path('first'), 'utf8');
    assert.match(first, new RegExp(`account: ${name}\n`));
    assert.match(first, /\n {4}(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}\n {4}(?:[0-9A-Z]{4}-){6}[0-9A-Z]{4}\n/);
    await device.ok(['put', '-', '--name', 'papers/kept'], { input: 'kept' });
    const again = (env: object) =>
      device.run(['register', '--recovery-file', 'none'], { env: { ...OLD, ...env } });
    assertError(await again({ SZ_CONFIG: device.path('another machine') }), 1, /is taken/);
    assertError(await again({}), 1, /are known here already/, /szafa login/);
    assert.ok(!(await readdir(device.home)).includes('none'), 'a key that will never count is taken away');

    const recover = (key: string, next: string, env: Record<string, string> = {}) =>
      device.run(['recover', '--json', '--key-file', key, '--recovery-file', next], {
        env: { SZ_NEW_PASSWORD: NEXT, SZ_CONFIG: device.path('new machine'), ...env },
      });
    const back = await recover('first', 'second');
    assert.equal(back.code, 0, back.stdout + back.stderr);
    assert.equal(back.line('recovered')['file'], 'second');
    await reads(device, { env: { SZ_CONFIG: device.path('new machine') } });
    await reads(device, elsewhere(device, NEXT));
    assertError(await device.run(['ls']), 1, /token/, /szafa login/);
    assertError(await device.run(['ls'], elsewhere(device, PASSWORD)), 12, /refused/);
    assert.equal((await recover('first', 'third')).code, 12, 'it was used');
    const mistyped = (await readFile(device.path('second'), 'utf8')).replace(
      /\n {4}(.)/,
      (_, char) => `\n    ${char === '7' ? '8' : '7'}`,
    );
    await writeFile(device.path('mistyped'), mistyped);
    const wrong = await recover('mistyped', 'third');
    assert.deepEqual([wrong.code, wrong.line('error')['code']], [1, 'recovery-key']);
    const weak = await recover('second', 'third', { SZ_NEW_PASSWORD: 'password1' });
    assert.equal(weak.line('error')['code'], 'weak-secret');
    assert.ok(!(await readdir(device.home)).includes('third'));

    const env = { SZ_PASSWORD: NEXT };
    await device.ok(['login'], { env });
    assertError(await device.run(['recovery'], { env }), 2, /no terminal/, /--recovery-file/);
    const renewed = await device.run(['recovery', '--recovery-file', 'fourth'], { env: OLD });
    assertError(renewed, 12, /current password is wrong/);
    await device.ok(['recovery', '--recovery-file', 'fourth'], { env });
    assert.equal((await recover('second', 'third')).code, 12, 'it was replaced');
    assert.equal((await recover('fourth', 'fifth', { SZ_NEW_PASSWORD: PASSWORD })).code, 0);
    await reads(device, elsewhere(device, PASSWORD));
  });

  test('on a terminal the key is shown once, and counts when a part of it was typed', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url);
    stack.defer(() => device.remove());
    const name = freshName();
    const never = new Terminal(device, ['register', name], { env: OLD });
    for (let tried = 0; tried < 3; tried++) await never.answer(/type groups [^\n]*: /, 'something else');
    assert.equal(await never.ended, 1);
    assert.match(never.screen, /was not confirmed/);
    const register = new Terminal(device, ['register', name], { env: OLD });
    const key = await confirmKey(register);
    assert.equal(await register.ended, 0, register.screen);
    await device.ok(['put', '-', '--name', 'papers/kept'], { input: 'kept' });
    const env = { SZ_CONFIG: device.path('other') };
    const recover = new Terminal(device, ['recover', name], { env });
    await recover.answer(/recovery key: /, key.slice(0, -1));
    await recover.answer(/not 55[\s\S]*recovery key: /, key.replaceAll('-', ' ').toLowerCase());
    await recover.answer(/new password: /, NEXT);
    await recover.answer(/new password again: /, NEXT);
    const next = await confirmKey(recover);
    assert.notEqual(next, key);
    assert.equal(await recover.ended, 0, recover.screen);
    assert.doesNotMatch(recover.screen, /another horse/);
    await reads(device, { env });
    const leave = new Terminal(device, ['account', 'delete'], { env });
    await leave.answer(/type the name of the account to continue: /, 'somebody');
    assert.equal(await leave.ended, 1);
    await reads(device, { env });
    const leaving = new Terminal(device, ['account', 'delete'], { env });
    await leaving.answer(/with all its files[\s\S]*to continue: /, name);
    await leaving.answer(/password: /, NEXT);
    assert.equal(await leaving.ended, 0, leaving.screen);
    assertError(await device.run(['ls'], { env }), 1, /not logged in/);
  });

  test('sessions by device; one ends, all others end', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    for (const name of ['laptop', 'phone', '\u001b[31mred']) {
      const { env } = elsewhere(device, PASSWORD, `as ${name}`);
      await device.ok(['login', '--device', name], { env });
    }
    const list = async () => (await device.ok(['sessions', '--json'])).lines;
    const listed = await list();
    const own = listed.find(({ current }) => current)!;
    assert.equal(listed.length, 4);
    assert.equal(own['device'], (await import('node:os')).hostname());
    const shown = (await device.ok(['sessions'])).stdout;
    assert.match(shown, /laptop .*used \d{4}-\d\d-\d\d/);
    assert.match(shown, /this session/);
    assert.doesNotMatch(shown, /\u001b/);
    const laptop = listed.find(({ device: name }) => name === 'laptop')!;
    await device.ok(['sessions', 'end', String(laptop['id']).slice(0, 12)]);
    const asLaptop = { env: { SZ_CONFIG: device.path('as laptop') } };
    assertError(await device.run(['whoami'], asLaptop), 1, /token/);
    assertError(await device.run(['sessions', 'end', 'nothing']), 1, /no session/);
    assertError(await device.run(['sessions', 'end', String(own['id'])]), 2, /szafa logout|this command/);
    for (const wrong of [
      ['sessions', 'end'],
      ['sessions', 'stop'],
      ['sessions', '--all'],
      ['sessions', 'end', 'x', '--all'],
    ]) {
      assertError(await device.run(wrong), 2, /sessions/);
    }
    assert.equal((await device.ok(['sessions', 'end', '--all', '--json'])).line('ended')['sessions'], 2);
    assert.equal((await list()).length, 1);
  });

  test('account delete: needs --yes and the password; then the name is free, also for this machine', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFile(stack, service);
    assertError(await device.run(['account', 'delete'], { env: OLD }), 1, /no terminal/, /--yes/);
    assertError(await device.run(['account', 'delete', '--yes']), 2, /no password/);
    const wrong = await device.run(['account', 'delete', '--yes'], { env: { SZ_PASSWORD: NEXT } });
    assert.notEqual(wrong.code, 0);
    await reads(device);
    assertError(await device.run(['account', 'keep']), 2, /no "account keep"/);
    const gone = await device.ok(['account', 'delete', '--yes', '--json'], { env: OLD });
    assert.equal(gone.line('account-deleted')['username'], device.env['SZ_USER']);
    const left = (await readdir(device.path('config'))).filter((name) => /^(session|keys-)/.test(name));
    assert.deepEqual(left, []);
    assertError(await device.run(['ls'], { env: OLD }), 12, /refused/);
    await device.ok(['register'], { env: OLD });
    assert.deepEqual((await device.ok(['ls', '--json'])).lines, []);
  });

  test('rekey: cut off it leaves nothing unreadable, and the next run finishes it', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    await device.ok(['put', '-', '--name', 'shown', '--plain-names'], { input: 'shown' });
    const list = async () =>
      (await device.ok(['ls', '--json'])).lines.map(({ name, verified, size }) => [name, verified, size]);
    const before = await list();
    const rekey = (file: string) =>
      device.run(['rekey', '--json', '--retry', '1s', '--recovery-file', file], { env: OLD });
    between.outward = (path, body) => {
      if (path === '/api/files/names') throw new Error('cut');
      return body;
    };
    const cut = await rekey('key');
    assert.deepEqual([cut.code, cut.line('error')['code']], [1, 'network']);
    assert.match(await readFile(device.path('key'), 'utf8'), /Recovery key/);
    between.outward = (_path, body) => body;
    assert.deepEqual(await list(), before);
    await reads(device);
    await device.ok(['put', '-', '--name', 'later'], { input: 'later' });
    between.requests.length = 0;
    const rest = await rekey('unused');
    assert.equal(rest.code, 0, rest.stdout);
    const { epoch, files, folders, finished } = rest.line('rekeyed');
    assert.deepEqual([epoch, files, folders, finished], [2, 2, 1, true]);
    assert.ok(!(await readdir(device.home)).includes('unused'));
    assert.deepEqual((await list()).toSorted(byName), [...before, ['later', true, 5]].toSorted(byName));
    await reads(device, elsewhere(device, PASSWORD));
    // A new one, which replaces the recovery key, too.
    assertError(await device.run(['rekey', '--no-recovery'], { env: OLD }), 2, /has a recovery key/);
    await device.ok(['request', 'in']);
    const second = await rekey('key too');
    assert.equal(second.line('rekeyed')['requests'], 1);
    assert.match(second.stdout, /a request has ended/);
    assert.deepEqual([second.line('rekeyed')['epoch'], second.line('rekeyed')['files']], [3, 3]);
    const recover = (key: string) =>
      device.run(['recover', '--key-file', key, '--recovery-file', `next ${key}`], {
        env: { SZ_NEW_PASSWORD: NEXT, SZ_CONFIG: device.path('other') },
      });
    assertError(await recover('key'), 12, /recovery key is wrong/);
    assert.equal((await recover('key too')).code, 0);
    await reads(device, elsewhere(device, NEXT));
  });

  test('rekey: the old key is retired at the end, also by the next run, and what came under it can be taken over', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    const KEYS = '/api/account/keys';
    // The same session elsewhere, which is shown the keys of before for ever.
    const elder = { SZ_CONFIG: device.path('elder') };
    await mkdir(elder.SZ_CONFIG);
    await copyFile(device.path('config/session.json'), join(elder.SZ_CONFIG, 'session.json'));
    let old: Buffer | undefined;
    between.inward = (path, body) => {
      if (path === KEYS && !old) old = body;
      return body;
    };
    await device.ok(['ls']);
    between.inward = (_path, body) => body;
    const rekey = (...args: string[]) =>
      device.run(['rekey', '--json', '--retry', '1s', ...args], { env: OLD });
    between.outward = (path, body) => {
      if (path === KEYS && body.length > 0) throw new Error('cut');
      return body;
    };
    assert.equal((await rekey('--recovery-file', 'key')).line('error')['code'], 'unchanged');
    between.outward = (_path, body) => body;
    const rest = await rekey();
    const { epoch, finished, retired } = rest.line('rekeyed');
    assert.deepEqual([rest.code, epoch, finished, retired], [0, 2, true, true]);
    between.inward = (path, body) => (path === KEYS ? old! : body);
    await device.ok(['put', '-', '--name', 'late'], { input: 'late', env: elder });
    between.inward = (_path, body) => body;
    const shown = (await device.run(['ls', '--json'])).lines.find(({ problem }) => problem);
    const id = String(shown!['file_id']);
    assertError(
      await device.run(['get', id, '-o', '-']),
      1,
      /under master key 1, which a rekey has retired/,
      /--accept-retired/,
    );
    const taken = await rekey('--accept-retired', id);
    assert.deepEqual([taken.code, taken.line('rekeyed')['files']], [0, 1]);
    assert.equal((await device.ok(['get', 'late', '-o', '-'])).stdout, 'late');
    assertError(
      await device.run(['rekey', '--leave-rest', '--no-recovery'], { env: OLD }),
      2,
      /has a recovery key/,
    );
  });

  test('a damaged pin stops its own account alone, and is told with what to do', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, service);
    const config = device.path('config');
    const [pin] = (await readdir(config)).filter((name) => name.startsWith('keys-'));
    await writeFile(join(config, pin!), '{"server":');
    const damaged = await device.run(['login'], { env: OLD });
    assertError(damaged, 1, /keys-.*is damaged/, /nothing was sent.*delete it/);
    // Another server, from the same folder.
    const other = { SZ_SERVER: between.url, SZ_USER: freshName(), ...OLD };
    const there = await device.ok(['register'], { env: other });
    assert.match(there.stderr, /keys-.*is damaged/);
    await device.ok(['put', '-', '--name', 'x'], { env: other, input: 'x' });
  });
});

function byName(a: unknown[], b: unknown[]): number {
  const isDir = (one: unknown[]) => (one[0] === 'papers' ? 0 : 1);
  return isDir(a) - isDir(b) || String(a[0]).localeCompare(String(b[0]));
}
