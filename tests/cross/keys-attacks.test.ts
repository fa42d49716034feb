/** The life of an account by the command, beside a service that lies. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { loggedIn, PASSWORD } from './account.ts';
import { Between } from './between.ts';
import { assertError, type Outcome } from './device.ts';
import { opens, withFile } from './kept-file.ts';

const service = useService();
const NEXT = 'another horse, another battery';
const OLD = { SZ_PASSWORD: PASSWORD };
const CHANGE = { ...OLD, SZ_NEW_PASSWORD: NEXT };

const isDone = (outcome: Outcome) => assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr);

suite('szafa: an account under attack', { concurrency: 3 }, () => {
  test('a password that never left the machine is not sent by any command', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    let sent = '';
    between.outward = (_path, body) => {
      sent += body;
      return body;
    };
    // The service says that this is another account, which was never used here.
    const lies: Record<string, object> = {
      '/api/auth/me': { username: 'somebody' },
      '/api/auth/factors': { totp: true, passkeys: [], passkeys_offered: false },
    };
    between.inward = (path, body) => (lies[path] ? Buffer.from(JSON.stringify(lies[path])) : body);
    for (const args of [
      ['passwd'],
      ['recovery', '--recovery-file', 'key'],
      ['rekey', '--recovery-file', 'key'],
      ['account', 'delete', '--yes'],
      ['factor', 'totp', 'off'],
      ['login'],
    ]) {
      const outcome = await device.run([...args, '--raw-password'], { env: CHANGE });
      assert.ok(!sent.includes(PASSWORD) && !sent.includes(NEXT), args.join(' '));
      assertError(outcome, 2, /never left this machine/);
      assert.ok(!(await readdir(device.home)).includes('key'));
    }
    assert.ok(await opens(service, device, PASSWORD));
  });

  test('a recovery key that may count is never taken away', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between);
    // The service does it, and what comes back is the page of a hotel; nothing can be asked afterwards, either.
    let hotel = false;
    between.inward = (path, body) => {
      hotel ||= path === '/api/auth/password' || path === '/api/auth/recover/finish';
      return hotel ? Buffer.from('<html>') : body;
    };
    const lost = await device.run(['rekey', '--retry', '1s', '--recovery-file', 'key'], { env: OLD });
    assert.notEqual(lost.code, 0);
    hotel = false;
    const recover = (next: string) => [
      'recover',
      '--retry',
      '1s',
      '--key-file',
      'key',
      '--recovery-file',
      next,
    ];
    const again = await device.run(recover('key too'), { env: { SZ_NEW_PASSWORD: NEXT } });
    assert.notEqual(again.code, 0);
    between.inward = (_path, body) => body;
    assert.ok(await opens(service, device, NEXT));
    const third = ['recover', '--key-file', 'key too', '--recovery-file', 'third'];
    isDone(await device.run(third, { env: { SZ_NEW_PASSWORD: PASSWORD } }));
    assert.ok(await opens(service, device, PASSWORD));
  });

  test('logout takes away what a killed command left of a session', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    const session = await readFile(device.path('config/session.json'));
    await writeFile(device.path('config/session.json.0123456789ab'), session, { mode: 0o600 });
    await writeFile(device.path('config/session.json.mine'), 'kept by hand');
    await device.ok(['logout']);
    const left = (await readdir(device.path('config'))).filter((name) => name.startsWith('session'));
    assert.deepEqual(left, ['session.json.mine']);
  });

  test('no device name speaks to a terminal, in words or in JSON', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    const evil = 'a\u001b[31m\u009b31m\u007f\u202e\u2066b\nc\u2028\u{e0001}\ud800';
    let changes: object = { device: evil, created_at: evil };
    between.inward = (path, body) => {
      if (path !== '/api/auth/sessions') return body;
      const { sessions } = JSON.parse(body.toString());
      return Buffer.from(
        JSON.stringify({ sessions: sessions.map((one: object) => ({ ...one, ...changes })) }),
      );
    };
    const shown = await device.ok(['sessions']);
    const json = await device.ok(['sessions', '--json']);
    for (const { stdout } of [shown, json]) {
      assert.equal(stdout.trimEnd().split('\n').length, 1);
      assert.doesNotMatch(stdout.trimEnd(), /[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }
    assert.equal(json.line('open-session')['device'], evil);
    changes = { scope: evil };
    const refused = await device.run(['sessions']);
    assertError(refused, 1, /unexpected JSON/);
    assert.doesNotMatch(refused.stderr.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\u2028\u2029]/u);
  });
});
