/** Today's code opens, checks and rescues what every released version left: see make.ts. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import pg from 'pg';
import { Device } from '../cross/device.ts';
import { Command } from '../engines/commands.ts';
import { Postgres } from '../engines/postgres.ts';
import { eventually, Service, sha256 } from '../harness/index.ts';
import { ROOT } from '../setup/installation.ts';
import { claimHome, HOME, PASSWORD, PORT, UNFINISHED, USERNAME } from './contents.ts';

const folder = join(ROOT, 'tests/released');
const versions = readdirSync(folder).filter((name) => /^\d+\.\d+\.\d+$/.test(name));

for (const version of versions) {
  const unpack = (name: string, to: string) =>
    execFileSync('tar', ['-xzf', join(folder, version, `${name}.tar.gz`), '--no-same-owner', '-C', to]);
  const files = JSON.parse(readFileSync(join(folder, version, 'files.json'), 'utf8')) as Record<
    string,
    string
  >;

  /** A server on the data folder of a fixture. */
  async function serve(
    stack: AsyncDisposableStack,
    name: string,
    env: Record<string, string>,
  ): Promise<Service> {
    const service = new Service({ env });
    stack.defer(() => service.discard());
    unpack(name, await service.makeHome());
    return service;
  }

  async function operate(service: Service, env: Record<string, string>, ...args: string[]): Promise<void> {
    const { code, errors } = await new Command(args, { SZ_DATA: service.data, ...env }, service.home).ended;
    assert.equal(code, 0, errors);
  }

  async function logIn(stack: AsyncDisposableStack, service: Service): Promise<Device> {
    const device = await Device.make(service.url, { SZ_USER: USERNAME, SZ_PASSWORD: PASSWORD });
    stack.defer(() => device.remove());
    await device.ok(['login']);
    return device;
  }

  async function assertWhole(device: Device): Promise<void> {
    await device.ok(['get', 'tree']);
    for (const [path, digest] of Object.entries(files))
      assert.equal(sha256(readFileSync(device.path(path))), digest, path);
    assert.equal((await device.ok(['versions', 'tree/letter.txt', '--json'])).lines.length, 2);
    await rm(device.path('tree'), { recursive: true });
  }

  describe(`the fixture of ${version}`, () => {
    test('the data folder opens, passes fsck, and is rescued without its database', async () => {
      await using stack = new AsyncDisposableStack();
      const service = await serve(stack, 'sqlite', {});
      await service.start();
      const device = await logIn(stack, service);
      await assertWhole(device);
      assert.equal((await device.ok(['trash', '--json'])).lines.length, 1);
      assert.equal((await device.ok(['shares', '--json'])).lines.length, 1);
      assert.equal((await device.ok(['requests', '--json'])).lines.length, 1);
      await operate(service, {}, 'fsck');
      await service.terminate();
      for (const name of ['szafa.db', 'szafa.db-wal', 'szafa.db-shm'])
        rmSync(join(service.data, name), { force: true });
      await operate(service, {}, 'rescue', '--passwords', join(service.home, 'passwords'));
      await service.start();
      const again = await logIn(stack, service);
      await assertWhole(again);
    });

    test('the PostgreSQL dump opens with its volumes, and passes fsck', async () => {
      await using stack = new AsyncDisposableStack();
      const postgres = await Postgres.start();
      stack.defer(() => postgres.stop());
      const env = { SZ_DATABASE: `${postgres.url}?schema=szafa` };
      const service = await serve(stack, 'postgres', env);
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      await client.query(readFileSync(join(service.home, 'dump.sql'), 'utf8'));
      await client.end();
      await service.start();
      await assertWhole(await logIn(stack, service));
      await operate(service, env, 'fsck');
    });

    test('the state of a client: its session lists, and its journal has the interrupted upload', async () => {
      await using stack = new AsyncDisposableStack();
      await claimHome();
      stack.defer(() => rm(HOME, { recursive: true, force: true }));
      unpack('client', HOME);
      const service = await serve(stack, 'sqlite', { SZ_PORT: String(PORT) });
      await eventually(async () => void (await service.start()));
      const device = await Device.make(service.url);
      stack.defer(() => device.remove());
      const options = { cwd: HOME, env: { SZ_CONFIG: join(HOME, 'config') } };
      assert.match((await device.ok(['ls'], options)).stdout, /tree/);
      const { from, stored } = (await device.ok(['transfers', '--json'], options)).line('transfer');
      assert.equal(from, join(HOME, UNFINISHED));
      assert.ok(Number(stored) > 0);
      // A file from an archive is another one than the journal knows, so it is sent from the start.
      await device.ok(['put', UNFINISHED], options);
      const { bytes } = await device.ok(['cat', UNFINISHED], options);
      assert.ok(bytes.equals(readFileSync(join(HOME, UNFINISHED))));
    });
  });
}
