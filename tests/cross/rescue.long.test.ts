/** The database is lost: `rescue` brings the accounts back, and their users go on with their own passwords. */
import assert from 'node:assert/strict';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Command } from '../engines/commands.ts';
import { eventually, freshName, Service } from '../harness/index.ts';
import { PASSWORD } from './account.ts';
import { Between } from './between.ts';
import { Device } from './device.ts';

const NEXT = 'another horse, another battery';

test('after rescue the users log in by the command with their own passwords, and read their files', async () => {
  await using stack = new AsyncDisposableStack();
  // What is in the folders is the point: they are SQLite's and the volume folder's, whatever else the tests run on.
  const env = { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1', SZ_DATABASE: '', SZ_VOLUMES: '' };
  const service = new Service({ env });
  stack.defer(() => service.stop());
  await service.start();
  const between = stack.use(await Between.start(service.url));
  const ann = await Device.make(between.url, { SZ_USER: freshName() });
  const ben = await Device.make(between.url, { SZ_USER: freshName() });
  for (const device of [ann, ben]) stack.defer(() => device.remove());
  await ann.ok(['register', '--recovery-file', 'key'], { env: { SZ_PASSWORD: PASSWORD } });
  await ann.ok(['passwd'], { env: { SZ_PASSWORD: PASSWORD, SZ_NEW_PASSWORD: NEXT } });
  await writeFile(ann.path('letter.txt'), 'dear ben');
  await ann.ok(['put', 'letter.txt', '--dir', 'post']);
  await ann.ok(['put', '-', '--name', 'note'], { input: 'a note' });
  await ben.ok(['register', '--passphrase'], {
    env: { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'rower chmura zamek lampa' },
  });
  await ben.ok(['put', '-', '--name', 'secret'], { input: 'deep' });
  await ann.ok(['rekey', '--recovery-file', 'new key'], { env: { SZ_PASSWORD: NEXT } });
  const keysOf = async (device: Device) => {
    const { token } = JSON.parse(await readFile(device.path('config/session.json'), 'utf8')) as {
      token: string;
    };
    return String((await service.call({ path: '/api/account/keys', token })).json['keys']);
  };
  const bags = [await keysOf(ann), await keysOf(ben)];
  const names = (await ann.ok(['ls', '--json'])).stdout;
  // Documents and manifests follow; until then a lost database loses what came last.
  const accounts = join(service.data, 'accounts');
  await eventually(async () => {
    const texts = await Promise.all(
      (await readdir(accounts)).map((name) => readFile(join(accounts, name), 'utf8')),
    );
    for (const bag of bags) assert.ok(texts.some((text) => text.includes(bag)));
    assert.ok(texts.some((text) => /"dirs":\[\{/.test(text)));
  });
  await eventually(async () => {
    const database = new DatabaseSync(join(service.data, 'szafa.db'), { readOnly: true });
    try {
      assert.deepEqual(database.prepare('SELECT file_id FROM stale_manifests').all(), []);
      assert.deepEqual(database.prepare('SELECT 1 FROM account_documents WHERE rev > written_rev').all(), []);
    } finally {
      database.close();
    }
  });
  await service.terminate();
  for (const name of await readdir(service.data)) {
    if (/^szafa\.db/.test(name)) await rename(join(service.data, name), join(service.home, name));
  }
  const args = ['rescue', '--passwords', join(service.home, 'passwords')];
  const { code, errors } = await new Command(args, { SZ_DATA: service.data }, service.home).ended;
  assert.equal(code, 0, errors);
  await service.start();
  between.target = service.url;

  // The machine of before, which remembers server and keys, and a new one.
  for (const folder of ['config', 'new']) {
    const there = { SZ_PASSWORD: NEXT, SZ_CONFIG: ann.path(folder) };
    await ann.ok(['login'], { env: there });
    assert.equal((await ann.ok(['get', 'post/letter.txt', '-o', '-'], { env: there })).stdout, 'dear ben');
    assert.equal((await ann.ok(['ls', '--json'], { env: there })).stdout, names);
    await ann.ok(['check'], { env: there });
  }
  const secrets = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'rower chmura zamek lampa' };
  await ben.ok(['login', '--passphrase'], { env: secrets });
  assert.equal((await ben.ok(['get', 'secret', '-o', '-'])).stdout, 'deep');
  // So does the recovery key.
  await ann.ok(['recover', '--key-file', 'new key', '--recovery-file', 'last key'], {
    env: { SZ_NEW_PASSWORD: PASSWORD },
  });
  assert.equal((await ann.ok(['get', 'note', '-o', '-'])).stdout, 'a note');
});
