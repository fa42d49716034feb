import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { freshName, register, useService, usually } from '../harness/index.ts';
import { PASSWORD, registered, useDevice } from './account.ts';
import { assertError, Device } from './device.ts';

const service = useService();

suite('szafa: accounts', { concurrency: 3 }, () => {
  const shared = useDevice(service, registered);

  test('register keeps a session that only its owner can read, and no password', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    const config = device.path('config');
    assert.equal((await stat(config)).mode & 0o777, 0o700);
    for (const name of await readdir(config)) {
      assert.equal((await stat(join(config, name))).mode & 0o777, 0o600, name);
      assert.doesNotMatch(await readFile(join(config, name), 'utf8'), new RegExp(PASSWORD));
    }
    const whoami = await device.ok(['whoami', '--json']);
    const user = { type: 'user', username: device.env['SZ_USER'], server: service.url };
    assert.deepEqual(whoami.line('user'), user);
  });

  test('the service never sees the password', async () => {
    const { device } = shared;
    const answer = await service.call({
      method: 'POST',
      path: '/api/auth/login',
      json: { username: device.env['SZ_USER'], password: PASSWORD },
    });
    assert.equal(answer.status, 401);
  });

  test('a username that is taken, and one that breaks the rule', async () => {
    const { device } = shared;
    const env = { SZ_PASSWORD: PASSWORD, SZ_CONFIG: device.path('other') };
    assertError(await device.run(['register'], { env }), 1, /exists|taken/i);
    assertError(await device.run(['register', 'a b'], { env }), 2, /username must be/);
    assertError(
      await device.run(['register', 'ewa'], { env: { ...env, SZ_PASSWORD: 'x' } }),
      2,
      /password must have 8 to 1024/,
    );
    assertError(
      await device.run(['register', 'ewa'], { env: { ...env, SZ_PASSWORD: '' } }),
      2,
      /no password/,
      /SZ_PASSWORD/,
    );
  });

  test('a wrong password is 12, in words and in JSON', async () => {
    const { device } = shared;
    const env = { SZ_PASSWORD: 'not the password', SZ_CONFIG: device.path('other') };
    assertError(await device.run(['login'], { env }), 12, /login was refused/);
    const json = await device.run(['login', '--json'], { env });
    assert.equal(json.code, 12);
    const { code, exit, hint } = json.line('error');
    assert.deepEqual([code, exit, typeof hint], ['wrong-password', 12, 'string']);
    assert.equal(json.stderr, '');
  });

  test('token works for other programs; quota and logout; after that nothing is left to use', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await registered(service);
    stack.defer(() => device.remove());
    const token = (await device.ok(['token'])).stdout.trim();
    assert.equal((await device.ok(['token', '--json'])).line('token')['token'], token);
    assert.equal((await service.call({ path: '/api/auth/me', token })).status, 200);
    const quota = (await device.ok(['quota', '--json'])).line('quota');
    assert.deepEqual(Object.keys(quota), ['type', 'used_bytes', 'quota_bytes', 'remain_bytes', 'percent']);
    assert.match((await device.ok(['quota'])).stdout, /0 B of 10\.0 GiB used \(0 %\)/);

    await device.ok(['logout']);
    assert.equal((await service.call({ path: '/api/auth/me', token })).status, 401);
    const left = await readdir(device.path('config'));
    assert.ok(!left.includes('session.json'), left.join());
    assertError(await device.run(['whoami']), 1, /not logged in/, /szafa login/);
    assertError(await device.run(['logout']), 1, /not logged in/);
  });

  test('a token that the service does not know any more asks for a login', async () => {
    const { device } = shared;
    assertError(await device.run(['ls'], { env: { SZ_TOKEN: 'gone' } }), 1, /./, /szafa login/);
  });

  test('a second device needs server, username and password, and reads everything', async () => {
    await using stack = new AsyncDisposableStack();
    const first = await registered(service);
    stack.defer(() => first.remove());
    await writeFile(first.path('letter.txt'), 'from the first');
    await first.ok(['put', 'letter.txt', '--dir', 'post']);

    const second = await Device.make(service.url);
    stack.defer(() => second.remove());
    await writeFile(second.path('pw'), `${PASSWORD}\n`);
    await second.ok(['login', first.env['SZ_USER']!, '--password-file', 'pw']);
    assert.equal((await second.ok(['get', 'post/letter.txt', '--output', '-'])).stdout, 'from the first');
    await second.ok(['put', 'pw', '--dir', 'post']);
    const names = (await first.ok(['ls', 'post', '--json'])).lines.map(({ name, verified }) => [
      name,
      verified,
    ]);
    assert.deepEqual(names, [
      ['letter.txt', true],
      ['pw', true],
    ]);
  });

  test('without a session the environment is enough, and nothing is kept', async () => {
    const { device } = shared;
    const env = { SZ_PASSWORD: PASSWORD, SZ_CONFIG: device.path('nothing-kept') };
    await device.ok(['put', '-', '--name', 'note'], { env, input: 'x' });
    assert.equal((await device.ok(['get', 'note', '--output', '-'], { env })).stdout, 'x');
    const kept = await readdir(device.path('nothing-kept'));
    assert.ok(!kept.includes('session.json'), kept.join());
    const wrong = await device.run(['ls'], { env: { ...env, SZ_PASSWORD: 'wrong password' } });
    assertError(wrong, 12, /login was refused/);
  });

  test('SZ_TOKEN takes the place of a session, with the password for the keys', {
    skip: usually('for test:long', false),
  }, async () => {
    const { device } = shared;
    const SZ_TOKEN = (await device.ok(['token'])).stdout.trim();
    const env = { SZ_TOKEN, SZ_CONFIG: device.path('token-only'), SZ_USER: '' };
    assert.match((await device.ok(['whoami'], { env })).stdout, new RegExp(device.env['SZ_USER']!));
    await device.ok(['put', '-', '--name', 'by token'], {
      env: { ...env, SZ_PASSWORD: PASSWORD },
      input: 'y',
    });
    assert.equal((await device.ok(['get', 'by token', '-o', '-'])).stdout, 'y');
    assertError(await device.run(['get', 'by token'], { env }), 2, /no password/);
    assertError(await device.run(['ls'], { env: { ...env, SZ_USER: 'somebody' } }), 2, /token belongs to/);

    // The token of another account: the keys of the kept session stay out of it.
    const other = await register(service);
    const foreign = { SZ_TOKEN: other.token, SZ_USER: '' };
    assertError(
      await device.run(['put', '-', '--name', 'x'], { env: foreign, input: 'x' }),
      2,
      /no password/,
    );
    assert.deepEqual((await other.get('/api/files')).json, { files: [] });
  });

  test('files under a passphrase of their own open with it alone', async () => {
    await using stack = new AsyncDisposableStack();
    const secrets = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'another phrase altogether' };
    const device = await Device.make(service.url, { SZ_USER: freshName() });
    stack.defer(() => device.remove());
    await device.ok(['register', '--passphrase'], { env: secrets });
    await device.ok(['put', '-', '--name', 'deep'], { input: 'secret' });

    const env = { SZ_PASSWORD: PASSWORD, SZ_CONFIG: device.path('other') };
    assertError(await device.run(['login'], { env }), 12, /password/, /--passphrase/);
    assertError(await device.run(['get', 'deep', '-o', '-'], { env }), 12, /password/, /--passphrase/);
    assert.doesNotMatch((await device.ok(['ls'], { env })).stdout, /deep/);
    await device.ok(['login', '--passphrase'], { env: secrets });
    assert.equal((await device.ok(['get', 'deep', '-o', '-'])).stdout, 'secret');
  });

  test('an account of another client: the raw password logs in, a passphrase seals', {
    skip: usually('for test:long', false),
  }, async () => {
    await using stack = new AsyncDisposableStack();
    const other = await register(service);
    const device = await Device.make(service.url, { SZ_USER: other.username });
    stack.defer(() => device.remove());
    const env = { SZ_PASSWORD: other.password };
    const derived = await device.run(['login'], { env });
    assertError(derived, 12, /refused/);
    assert.doesNotMatch(derived.stderr, /--raw-password/);
    const login = await device.ok(['login', '--raw-password'], { env });
    assert.match(login.stderr, /--passphrase/);
    assertError(await device.run(['put', '-', '--name', 'x'], { input: 'x' }), 1, /no keys/, /--passphrase/);
    await device.ok(['login', '--raw-password', '--passphrase'], {
      env: { ...env, SZ_PASSPHRASE: 'mine alone and nobody knows' },
    });
    await device.ok(['put', '-', '--name', 'x'], { input: 'sealed' });
    assert.equal((await device.ok(['get', 'x', '-o', '-'])).stdout, 'sealed');
  });
});
