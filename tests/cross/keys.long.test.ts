/** What keys.test.ts leaves out: many runs of a command that derives keys in no time. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD } from './account.ts';
import { Between } from './between.ts';
import { assertError, Device } from './device.ts';
import { CHANGE, elsewhere, NEXT, OLD, reads, withFile } from './life.ts';
import { quickCommand } from './packed.ts';

const service = useService();

suite('szafa: the life of an account, in detail', { concurrency: 3 }, () => {
  test('passwd refuses: a wrong one, a weak one, the same one, none; nothing changes', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await withFile(stack, service, quickCommand());
    const run = (env: Record<string, string>) => device.run(['passwd'], { env });
    assertError(await run({ ...CHANGE, SZ_PASSWORD: 'wrong horse battery' }), 12, /current password/);
    assertError(await run({ ...OLD, SZ_NEW_PASSWORD: 'password1' }), 2, /too easy to guess/);
    assertError(await run({ ...OLD, SZ_NEW_PASSWORD: PASSWORD }), 2, /same as the current one/);
    assertError(await run(OLD), 2, /no new password/, /SZ_NEW_PASSWORD/);
    assertError(await run({ SZ_NEW_PASSWORD: NEXT }), 2, /no current password/, /SZ_PASSWORD/);
    const raw = await device.run(['passwd', '--raw-password'], { env: CHANGE });
    assertError(raw, 2, /never left this machine/);
    await reads(device, elsewhere(device, PASSWORD));
  });

  test('cut off at any step: the old password or the new one counts, and the next run says which', async () => {
    await using stack = new AsyncDisposableStack();
    const between = stack.use(await Between.start(service.url));
    const device = await withFile(stack, between, quickCommand());
    const run = ['passwd', '--retry', '1s'];
    // The request does not arrive.
    between.outward = (path, body) => {
      if (path === '/api/auth/password') throw new Error('cut');
      return body;
    };
    assertError(await device.run(run, { env: CHANGE }), 1, /was not changed/, /old one is still valid/);
    between.outward = (_path, body) => body;
    await reads(device, elsewhere(device, PASSWORD));
    // It arrives, and the line is dead from then on.
    let dead = false;
    between.inward = (path, body) => {
      dead ||= path === '/api/auth/password';
      if (dead) throw new Error('cut');
      return body;
    };
    assertError(await device.run(run, { env: CHANGE }), 1, /not known whether the password/, /same command/);
    dead = false;
    between.inward = (_path, body) => body;
    // This machine was cut off before it could write its new key down.
    assertError(await device.run(['get', 'papers/kept', '-o', 'out']), 12, /does not open/, /szafa login/);
    assert.match((await device.ok(run, { env: CHANGE })).stdout, /is valid already/);
    await reads(device);
    // Only the answer is lost: that is found out at once.
    between.inward = (path, body) => {
      if (path === '/api/auth/password') throw new Error('cut');
      return body;
    };
    const back = { env: { SZ_PASSWORD: NEXT, SZ_NEW_PASSWORD: PASSWORD } };
    assert.match((await device.ok(run, back)).stdout, /is changed/);
    await reads(device, elsewhere(device, PASSWORD));
  });

  test('a passphrase changes beside the password, and the password beside it', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url, { SZ_USER: freshName() }, quickCommand());
    stack.defer(() => device.remove());
    const [phrase, another] = ['rower chmura zamek lampa', 'lampa zamek chmura rower'];
    await device.ok(['register', '--passphrase'], { env: { ...OLD, SZ_PASSPHRASE: phrase } });
    await device.ok(['put', '-', '--name', 'papers/kept'], { input: 'kept' });
    const env = { ...OLD, SZ_NEW_PASSPHRASE: another };
    assert.match((await device.ok(['passwd', '--passphrase'], { env })).stdout, /the passphrase is changed/);
    await reads(device);
    await device.ok(['passwd'], { env: CHANGE });
    await reads(device);
    const login = (secret: string) =>
      device.run(['login', '--passphrase'], {
        env: { SZ_PASSWORD: NEXT, SZ_PASSPHRASE: secret, SZ_CONFIG: device.path('other') },
      });
    assertError(await login(phrase), 12, /does not open/);
    assert.equal((await login(another)).code, 0);
  });

  test('without a terminal there is no key unless a file is named; a note says so', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url, { SZ_USER: freshName() }, quickCommand());
    stack.defer(() => device.remove());
    const both = ['register', '--no-recovery', '--recovery-file', 'x'];
    assertError(await device.run(both, { env: OLD }), 2, /cannot be combined/);
    assert.match((await device.ok(['register'], { env: OLD })).stderr, /Create one with "szafa recovery"/);
    const quiet = await Device.make(service.url, { SZ_USER: freshName() }, quickCommand());
    stack.defer(() => quiet.remove());
    assert.equal((await quiet.ok(['register', '--no-recovery'], { env: OLD })).stderr, '');
  });
});
