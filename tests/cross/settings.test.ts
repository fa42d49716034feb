import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clientSettings } from '@szafa/protocol';
import { countArguments } from '../../cli/src/command.ts';
import { commands } from '../../cli/src/command-table.ts';
import { Service, useService } from '../harness/index.ts';
import { useDevice } from './account.ts';
import { assertError } from './device.ts';
import { packedCommand } from './packed.ts';

const service = useService();
const NOBODY = 65534;

suite('szafa: settings', { concurrency: 3 }, () => {
  const shared = useDevice(service);

  test('every name that the command reads is listed, and none of them stops a service in the same shell', async () => {
    const folder = fileURLToPath(new URL('../../cli/src/', import.meta.url));
    const sources = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
    const texts = await Promise.all(sources.map((name) => readFile(folder + name, 'utf8')));
    const read = new Set(texts.join('\n').match(/\bSZ_[A-Z_]+/g));
    assert.deepEqual([...read].sort(), clientSettings.toSorted());
    await using stack = new AsyncDisposableStack();
    const own = new Service({ env: Object.fromEntries(clientSettings.map((name) => [name, 'x'])) });
    stack.defer(() => own.stop());
    await own.start();
    assert.equal((await own.call({ path: '/healthz' })).status, 200);
  });

  test('a configuration folder that cannot be used is an error at once, in every command', async () => {
    const { device } = shared;
    await writeFile(device.path('a-file'), '');
    await mkdir(device.path('big'));
    const least = (name: string) =>
      Array.from({ length: countArguments(commands[name]!.usage ?? '')[0] }, () => 'big');
    const keeping = Object.keys(commands).filter((name) => !commands[name]!.needsNoConfig);
    for (const name of keeping) {
      const config = { SZ_CONFIG: '/proc/nope', SZ_PASSWORD: 'x', SZ_TOKEN: 'x' };
      const outcome = await device.run([name, ...least(name), '--yes'], { env: config });
      assertError(outcome, 1, /folder \/proc\/nope cannot be used \(ENOENT\)/, /--config or SZ_CONFIG/);
    }
    for (const [config, code] of [
      [device.path('a-file'), 'ENOTDIR'],
      [device.path('a-file/below'), 'ENOTDIR'],
      ['/dev/null', 'ENOTDIR'],
    ] as const) {
      assertError(
        await device.run(['ls', '--config', config]),
        1,
        new RegExp(`cannot be used \\(${code}\\)`),
      );
    }
    await device.ok(['completion', 'bash'], { env: { SZ_CONFIG: '/proc/nope' } });
  });

  test('one that may not be written to, and one that cannot be made', async () => {
    const { device } = shared;
    const root = process.getuid?.() === 0;
    await mkdir(device.path('closed'), { mode: 0o555 });
    if (root) {
      await chown(device.home, NOBODY, NOBODY);
      await chmod(dirname(packedCommand()), 0o755);
    }
    const as = root ? { uid: NOBODY } : {};
    for (const config of [device.path('closed'), device.path('closed/below/it')]) {
      const outcome = await device.run(['quota', '--config', config], as);
      assertError(outcome, 1, /cannot be used \(EACCES\)/, /--config/);
    }
  });
});
