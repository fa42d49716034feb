import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { useDevice } from './account.ts';
import { packedCommand } from './packed.ts';

const service = useService();
const SHELL = ['sh', '-c', 'umask "$0"; exec "$@"'];

suite('szafa: modes', { concurrency: 3 }, () => {
  const shared = useDevice(service);
  const modeOf = async (path: string) => ((await stat(shared.device.path(path))).mode & 0o7777).toString(8);
  const under = (umask: string) => ({ command: [...SHELL, umask, process.execPath, packedCommand()] });

  test('each file comes back with the mode it had, whatever the umask; special bits do not', async () => {
    const { device } = shared;
    await mkdir(device.path('modes'));
    const modes = { open: 0o666, secret: 0o600, program: 0o755, mine: 0o400, special: 0o6755 };
    for (const [name, mode] of Object.entries(modes)) {
      await writeFile(device.path(`modes/${name}`), name);
      await chmod(device.path(`modes/${name}`), mode);
    }
    await device.ok(['put', 'modes']);
    for (const umask of ['000', '022', '077']) {
      await device.ok(['get', 'modes', '--output', `back${umask}`], under(umask));
      for (const [name, mode] of Object.entries(modes)) {
        assert.equal(
          await modeOf(`back${umask}/modes/${name}`),
          (mode & 0o777).toString(8),
          `${name}, umask ${umask}`,
        );
      }
    }
  });

  test('so does an empty folder, at the top as well; one that is there keeps its own', async () => {
    const { device } = shared;
    for (const [path, mode] of [
      ['top', 0o700],
      ['hollow/open', 0o777],
      ['hollow/closed', 0o500],
    ] as const) {
      await mkdir(device.path(path), { recursive: true });
      await chmod(device.path(path), mode);
    }
    // One that is named by a link is what the link leads to.
    await symlink('top', device.path('by-link'));
    await device.ok(['put', 'top', 'hollow', 'by-link']);
    await mkdir(device.path('again/hollow/open'), { recursive: true, mode: 0o755 });
    await device.ok(['get', 'top', 'hollow', 'by-link', '--output', 'again'], under('022'));
    const modes = await Promise.all(
      ['top', 'hollow/open', 'hollow/closed', 'by-link'].map((path) => modeOf(`again/${path}`)),
    );
    assert.deepEqual(modes, ['700', '755', '500', '700']);
    await device.ok(['get', 'hollow', '--output', 'wide'], under('077'));
    assert.equal(await modeOf('wide/hollow/open'), '777');
    await device.ok(['cp', '-r', 'hollow', 'copied']);
    await device.ok(['get', 'copied', '--output', 'wide'], under('077'));
    assert.equal(await modeOf('wide/copied/open'), '777');
    // What is a folder of the page, or of mkdir, has none.
    await device.ok(['mkdir', '-p', 'bare-folder/in']);
    await device.ok(['get', 'bare-folder', '--output', 'bare'], under('027'));
    assert.equal(await modeOf('bare/bare-folder/in'), '750');
  });

  test('a file that carries no mode gets what the umask says', async () => {
    const { device } = shared;
    await device.ok(['put', '-', '--name', 'piped', '--dir', 'bare'], { input: 'x' });
    for (const [umask, mode] of [
      ['022', '644'],
      ['077', '600'],
      ['002', '664'],
    ] as const) {
      await device.ok(['get', 'bare/piped', '--output', `piped${umask}`], under(umask));
      assert.equal(await modeOf(`piped${umask}`), mode);
    }
  });

  test('until it is whole, nobody else can read it', async () => {
    const { device } = shared;
    await writeFile(device.path('public'), randomBytes(4_000_000));
    await chmod(device.path('public'), 0o644);
    await device.ok(['put', 'public', '--volume-size', '256K']);
    await mkdir(device.path('slow'));
    const get = device.start(
      ['get', 'public', '--output', 'slow/', '--bwlimit', '768K', '--json'],
      under('000'),
    );
    await get.moved(1_000_000);
    const [part] = await readdir(device.path('slow'));
    assert.match(part!, /^\.szafa-.*\.part$/);
    assert.equal(await modeOf(`slow/${part}`), '600');
    assert.equal((await get.ended).code, 0);
    assert.equal(await modeOf('slow/public'), '644');
  });

  test('a mode that has changed since is told, and kept; a token that only adds keeps it with --force', async () => {
    const { device } = shared;
    await writeFile(device.path('closing'), 'x');
    await chmod(device.path('closing'), 0o644);
    await device.ok(['put', 'closing']);
    await chmod(device.path('closing'), 0o600);
    // With a configuration of its own, and the same keys.
    const env = { SZ_CONFIG: device.path('adds') };
    await mkdir(env.SZ_CONFIG, { mode: 0o700 });
    await device.ok(['token', 'create', 'adds', '--scope', 'append', '--output', 'adds/session.json']);
    const added = await device.ok(['put', 'closing'], { env });
    assert.match(added.stderr, /closing has mode 0644 on the server and 0600 here; --force/);
    const again = await device.ok(['put', 'closing']);
    assert.match(again.stderr, /closing has mode 0644 on the server and 0600 here; only the mode is changed/);
    await device.ok(['get', 'closing', '--output', 'closed']);
    assert.equal(await modeOf('closed'), '600');
    // What it keeps of a folder is added.
    await mkdir(device.path('adding'), { mode: 0o755 });
    await writeFile(device.path('adding/file'), 'x');
    await device.ok(['put', 'adding'], { env });
    await chmod(device.path('adding'), 0o700);
    await device.ok(['put', 'adding'], { env });
    await device.ok(['get', 'adding', '--output', 'added']);
    assert.equal(await modeOf('added/adding'), '700');
  });
});
