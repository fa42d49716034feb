/** Commands show what the server runs with, not what their shell has. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { command, freshName, register, Service, storeEnvironment, withService } from '../harness/index.ts';
import { MAIN } from '../harness/main.ts';

const SETTINGS = {
  SZ_REGISTRATION: 'invite',
  SZ_QUOTA_ENFORCE: '1',
  SZ_QUOTA: '12345',
  SZ_SHARES: 'off',
  SZ_ORIGIN: 'https://files.example.org',
};

test('status and account show the settings of the server that runs, and say when none does', async () => {
  const service = await new Service({ env: SETTINGS }).start();
  try {
    const [invited] = (await command(service, ['account', 'invite', '--json'])).lines;
    const { invite, link } = invited as Record<string, string>;
    assert.equal(link, `https://files.example.org/#invite=${invite}`);
    const username = freshName();
    const json = { username, password: 'secret-word', invite };
    assert.equal((await service.call({ method: 'POST', path: '/api/auth/register', json })).status, 200);
    const [status, node, end] = (await command(service, ['status', '--json'])).lines;
    const { registration, quota_enforced, sharing } = status!;
    assert.deepEqual([registration, quota_enforced, sharing], ['invite', true, false]);
    assert.equal(node!['pid'], service.pid);
    assert.match(String(node!['started_at']), /^20\d\d-/);
    assert.equal(end!['ok'], true);
    const quota = await command(service, ['account', 'quota', username]);
    assert.match(quota.out, /^quota: +12\.1 KiB\nown: +no\nenforced: +yes\nok\n$/m);
    assert.equal(quota.errors, '');

    for (const how of ['terminate', 'kill9'] as const) {
      await service[how]();
      const stopped = await command(service, ['status'], { SZ_REGISTRATION: 'closed' });
      assert.match(stopped.out, /^registration: +closed$[\s\S]*\nok\n$/m);
      assert.match(stopped.errors, /no server is running on this database.*those of this shell/);
      await service.start();
    }
  } finally {
    await service.stop();
  }
});

test('a reader that leaves is no error, for commands that show and for those that work', async () => {
  await withService({}, async (service) => {
    for (let i = 0; i < 3; i++) await register(service);
    for (const args of [['status', '--json'], ['account', 'list'], ['--help'], ['fsck'], ['check-store']]) {
      const child = spawn(process.execPath, [MAIN, ...args], {
        env: { PATH: process.env['PATH'] ?? '', SZ_DATA: service.data, ...storeEnvironment(service.id) },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.destroy();
      let errors = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      const [code] = await once(child, 'close');
      assert.equal(code, 0, `${args.join(' ')}: ${errors}`);
      // On a slow machine there is progress, too.
      assert.doesNotMatch(errors, /EPIPE|^ +at /m);
    }
  });
});

test('wrong words get a line that names them', async () => {
  await withService({}, async (service) => {
    const { code, errors } = await command(service, ['account', 'foo']);
    assert.equal(code, 2);
    assert.equal(errors, 'szafa: there is no command "account foo"; see szafa-server account --help\n');
    const { out } = await command(service, ['--help']);
    for (const word of ['factor-off', 'invitations', 'uninvite']) assert.ok(out.includes(word), word);
  });
});
