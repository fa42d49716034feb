import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { admin, freshName, withService } from '../harness/index.ts';
import { PASSWORD } from './account.ts';
import { assertError, Device } from './device.ts';
import { Terminal } from './terminal.ts';

test('szafa register takes an invitation from the environment, a file or a question; a disabled account is told', async () => {
  await withService({ env: { SZ_REGISTRATION: 'invite' } }, async (service) => {
    const invite = async () => String((await admin(service).post(pathOf('invite'))).json['invite']);
    const device = await Device.make(service.url);
    try {
      const names = [freshName(), freshName(), freshName()] as const;
      const env = { SZ_PASSWORD: PASSWORD };
      assertError(await device.run(['register', names[0]], { env }), 1, /needs an invitation/, /--invite/);
      const wrong = { ...env, SZ_INVITE: 'nosuchinvitation' };
      assertError(
        await device.run(['register', names[0]], { env: wrong }),
        1,
        /the invitation is wrong, used or expired/,
      );
      assertError(
        await device.run(['register', names[0], '--invite'], { env }),
        2,
        /no invitation/,
        /SZ_INVITE/,
      );
      await device.ok(['register', names[0]], { env: { ...env, SZ_INVITE: await invite() } });
      await writeFile(device.path('invite'), `${await invite()}\n`);
      await device.ok(['register', names[1]], { env: { ...env, SZ_INVITE_FILE: device.path('invite') } });
      const asked = new Terminal(device, ['register', names[2], '--invite', '--no-recovery'], { env });
      const given = await invite();
      await asked.answer(/invitation: /, given);
      assert.equal(await asked.ended, 0, asked.screen);
      assert.ok(!asked.screen.includes(given), 'it is not shown');

      assert.equal((await device.ok(['whoami', '--json'])).line('user')['username'], names[2]);
      await admin(service).post(pathOf('disableAccount', { username: names[2] }));
      assertError(await device.run(['ls']), 1, /this account is disabled/);
      assertError(await device.run(['login', names[2]], { env }), 1, /this account is disabled/);
    } finally {
      await device.remove();
    }
  });
});
