import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { loggedIn, PASSWORD, registered, useDevice } from './account.ts';
import { Between } from './between.ts';
import { assertError, Device } from './device.ts';

const MIB = 1024 * 1024;
const VOLUMES = 8;
const SCOPE = /this token has the scope (append|read); this needs a token with the scope/;

const service = useService();

suite('szafa: tokens', { concurrency: 3 }, () => {
  const shared = useDevice(service, registered);

  /** A machine that has a session which another device made for it, and no password. */
  async function machine(
    stack: AsyncDisposableStack,
    owner: Device,
    options: string[],
    server = service.url,
  ): Promise<Device> {
    const session = owner.path(`session-${randomBytes(4).toString('hex')}.json`);
    await owner.ok(['token', 'create', 'web1', ...options, '--output', session], {
      env: { SZ_SERVER: server },
    });
    const device = await Device.make(server);
    stack.defer(() => device.remove());
    await mkdir(device.env['SZ_CONFIG']!, { mode: 0o700 });
    await copyFile(session, join(device.env['SZ_CONFIG']!, 'session.json'));
    return device;
  }

  test('a machine backs itself up with an append token for one directory, and can do nothing else', async () => {
    await using stack = new AsyncDisposableStack();
    const owner = await loggedIn(service);
    stack.defer(() => owner.remove());
    await owner.ok(['mkdir', 'web1']);
    await owner.ok(['put', '-', '--name', 'secret', '--dir', 'papers'], { input: 'not for web1' });
    const web1 = await machine(stack, owner, ['--scope', 'append', '--dir', 'web1', '--expires', '1y']);
    const kept = join(web1.env['SZ_CONFIG']!, 'session.json');
    assert.equal((await stat(kept)).mode & 0o777, 0o600);
    assert.deepEqual(Object.keys(JSON.parse(await readFile(kept, 'utf8'))).sort(), [
      'kek',
      'server',
      'token',
      'username',
    ]);
    await mkdir(web1.path('etc/deep'), { recursive: true });
    await writeFile(web1.path('etc/hosts'), 'localhost');
    await writeFile(web1.path('etc/deep/passwd'), 'root');
    const put = ['put', 'etc', '--dir', 'web1', '--json'];
    assert.equal((await web1.ok(put)).line('summary')['files'], 2);
    // What is there is skipped, what has changed is a new version.
    await writeFile(web1.path('etc/hosts'), 'localhost, and more');
    const again = (await web1.ok(put)).line('summary');
    assert.deepEqual([again['files'], again['skipped']], [1, 1]);
    assert.equal((await owner.ok(['get', 'web1/etc/hosts', '--output', '-'])).stdout, 'localhost, and more');
    assert.deepEqual((await web1.ok(['ls', '-R'])).stdout.trim().split('\n'), [
      'web1/',
      'web1/etc/',
      'web1/etc/deep/',
      'web1/etc/deep/passwd',
      'web1/etc/hosts',
    ]);
    assert.doesNotMatch((await web1.ok(['ls'])).stdout, /papers|secret/);

    for (const args of [
      ['get', 'web1/etc/deep/passwd'],
      ['rm', 'web1/etc/deep/passwd'],
      ['rm', '--now', '--yes', 'web1/etc/deep/passwd'],
      ['mv', 'web1/etc/deep/passwd', 'web1/etc/hosts2'],
      ['token', 'create', 'more', '--scope', 'read'],
    ]) {
      assertError(await web1.run(args), 1, SCOPE, /token list/);
    }
    const outside = /this token is for (another|one) directory/;
    assertError(await web1.run(['put', 'etc/hosts']), 1, outside);
    assertError(await web1.run(['put', 'etc']), 1, outside);
    assert.equal((await owner.ok(['get', 'web1/etc/deep/passwd', '-o', '-'])).stdout, 'root');
  });

  test('an upload goes on with the next token, and an old one that is of no use is left to the server', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const owner = await loggedIn(between);
    stack.defer(() => owner.remove());
    const options = ['--scope', 'append'];
    const web1 = await machine(stack, owner, options, between.url);
    const bytes = randomBytes(VOLUMES * MIB - 1);
    await writeFile(web1.path('film'), bytes);
    const put = ['put', 'film', '--volume-size', '1M', '--json'];
    const interrupted = async () => {
      const before = between.stored;
      const running = web1.start([...put, '--bwlimit', '3M']);
      await running.until('three volumes', () => between.stored >= before + 3);
      running.child.kill('SIGKILL');
      await running.ended;
    };
    const renewed = async () => {
      const next = await machine(stack, owner, options, between.url);
      await copyFile(
        join(next.env['SZ_CONFIG']!, 'session.json'),
        join(web1.env['SZ_CONFIG']!, 'session.json'),
      );
    };
    await interrupted();
    await renewed();
    assert.ok(Number((await web1.ok(put)).line('uploaded')['resumed']) >= 2);
    assert.ok((await owner.ok(['get', 'film', '--output', '-'])).bytes.equals(bytes));

    // Another content: the upload that was begun cannot be used, and not be cancelled by this token.
    await writeFile(web1.path('film'), randomBytes(VOLUMES * MIB));
    await interrupted();
    await renewed();
    const other = randomBytes(VOLUMES * MIB + 7);
    await writeFile(web1.path('film'), other);
    assert.equal((await web1.ok(put)).line('uploaded')['resumed'], 0);
    assert.ok((await owner.ok(['get', 'film', '--output', '-'])).bytes.equals(other));
  });

  test('a token in a file, with the password for the keys: read gets, append puts', async () => {
    const { device } = shared;
    const tokenFile = async (scope: string) => {
      const { stdout } = await device.ok(['token', 'create', `for ${scope}`, '--scope', scope]);
      const path = device.path(`${scope}-token`);
      await writeFile(path, stdout);
      return {
        SZ_TOKEN_FILE: path,
        SZ_CONFIG: device.path(`config-${scope}`),
        SZ_USER: '',
        SZ_PASSWORD: PASSWORD,
      };
    };
    const [append, read] = [await tokenFile('append'), await tokenFile('read')];
    await device.ok(['put', '-', '--name', 'shared'], { env: append, input: 'by a token' });
    assertError(await device.run(['get', 'shared', '-o', '-'], { env: append }), 1, SCOPE);
    assert.equal((await device.ok(['get', 'shared', '-o', '-'], { env: read })).stdout, 'by a token');
    await writeFile(device.path('a'), 'a');
    assertError(await device.run(['put', 'a'], { env: read }), 1, SCOPE);
    // A token may end itself.
    await device.ok(['logout'], { env: read });
    assertError(await device.run(['quota'], { env: read }), 1, /./, /szafa login/);
  });

  test('tokens are listed with what they may do, and end at once', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await device.ok(['mkdir', 'web1']);
    const create = [
      'token',
      'create',
      'web1',
      '--scope',
      'append',
      '--dir',
      'web1',
      '--expires',
      '2199-12-31',
    ];
    const made = (await device.ok([...create, '--json'])).line('token');
    const listed = (await device.ok(['token', 'list', '--json'])).lines;
    assert.equal(listed.length, 2);
    const mine = listed.find(({ id }) => id === made['id'])!;
    const { device: name, scope, dir_name, expires_at, current } = mine;
    assert.deepEqual(
      [name, scope, dir_name, expires_at, current],
      ['web1', 'append', 'web1', '2199-12-31T23:59:59.000Z', false],
    );
    assert.equal(listed.find((one) => one['current'])!['scope'], 'full');
    const { stdout } = await device.ok(['token', 'list']);
    assert.match(stdout, /web1 .*may only append, in web1, expires 2199-12-31/);
    assert.match(stdout, /this session/);
    assert.doesNotMatch(stdout, new RegExp(String(made['token'])));
    const SZ_TOKEN = String(made['token']);
    await device.ok(['whoami'], { env: { SZ_TOKEN } });
    await device.ok(['token', 'end', String(made['id'])]);
    assertError(await device.run(['quota'], { env: { SZ_TOKEN } }), 1, /./, /szafa login/);
    assertError(await device.run(['token', 'end', String(made['id'])]), 1, /there is no session/);
  });

  test('a session goes only to a place that is free, and no token is left that nobody has', async () => {
    const { device } = shared;
    const create = ['token', 'create', 'x'];
    await writeFile(device.path('taken'), 'mine');
    const before = (await device.ok(['token', 'list'])).stdout;
    const taken = await device.run([...create, '--scope', 'read', '--output', 'taken']);
    assertError(taken, 1, /already exists/, /--yes/);
    assert.equal(await readFile(device.path('taken'), 'utf8'), 'mine');
    assertError(
      await device.run([...create, '--scope', 'read', '--output', 'no/such/place']),
      1,
      /no such file/,
    );
    assert.equal((await device.ok(['token', 'list'])).stdout, before, 'no token that nobody has');
    await device.ok([...create, '--scope', 'read', '--output', 'taken', '--yes']);
    assert.match(await readFile(device.path('taken'), 'utf8'), /"token":/);
  });
});
