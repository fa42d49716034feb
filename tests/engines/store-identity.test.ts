import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { assertReadable, usually } from '../harness/index.ts';
import { fill, useEngines } from './commands.ts';
import { House, KINDS } from './house.ts';

const engines = useEngines();

for (const kind of usually([KINDS[0], KINDS.at(-1)!], KINDS)) {
  describe(`a database and a store that are no pair: ${kind}`, () => {
    test('an empty database, a foreign one and a store that is not there are refused; nothing is made or removed', async () => {
      const house = new House(engines, kind);
      const { user, files } = await fill(await house.start());
      await house.service.terminate();
      const volumes = await house.volumes();
      assert.ok(volumes.length > 5, String(volumes));

      await house.useDatabase('new');
      for (let times = 0; times < 2; times++) {
        assert.match(await house.refused(), /^szafa: the database is new.* "szafa-server rescue"/m);
      }
      const checked = await house.run('fsck', '--repair');
      assert.equal(checked.code, 2, checked.errors);
      assert.match(checked.errors, /^szafa: the database is new/m);
      assert.deepEqual(await house.volumes(), volumes, 'an empty database');

      await house.hideVolumes(true);
      // The new database is paired with another store.
      await house.start();
      await house.service.terminate();
      if (kind.endsWith('folder')) await rm(join(house.service.data, 'volumes'), { recursive: true });
      await house.hideVolumes(false);
      assert.match(
        await house.refused(),
        /^szafa: the database belongs to store [0-9a-f]{32}, the volume store is/m,
      );
      assert.equal((await house.run('fsck')).code, 2);
      assert.deepEqual(await house.volumes(), volumes, 'a foreign database');

      await house.useDatabase('first');
      await house.hideVolumes(true);
      assert.match(
        await house.refused(),
        /^szafa: the volume store has no id.* whether the disk is mounted/m,
      );
      assert.equal((await house.run('fsck')).code, 2);
      if (kind.endsWith('folder')) assert.equal(existsSync(join(house.service.data, 'volumes')), false);
      await house.hideVolumes(false);

      await house.start();
      for (const { fileId, file } of files) await assertReadable(user, fileId, file);
      // There may be new documents: the restarted service writes those that are pending, such as the account's.
      const now = new Set(await house.volumes());
      assert.deepEqual(
        volumes.filter((name) => !now.has(name)),
        [],
        'a store that was not there',
      );
      await house.service.stop();
    });
  });
}
