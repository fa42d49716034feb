import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { useService } from '../harness/index.ts';
import { useDevice } from './account.ts';
import { LAUNCHER } from './device.ts';
import { packedCommand } from './packed.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A Node of this machine that is older than the one szafa needs, where there is one. */
function oldNode(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    if (!existsSync(node)) continue;
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' });
    if (Number(version.slice(1).split('.')[0]) < 26) return node;
  }
  return undefined;
}

/** Pretends an old version to the launcher, for machines that have no old Node. */
async function pretender(folder: string): Promise<string[]> {
  const file = join(folder, 'old.mjs');
  const text = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });\n`;
  await writeFile(file, text);
  return [process.execPath, '--import', file];
}

const service = useService();

test('the launcher knows every package that brings Node', async () => {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const launcher = await readFile(LAUNCHER, 'utf8');
  const names = Object.keys(manifest.optionalDependencies).filter((name) => name.startsWith('node-'));
  assert.ok(names.length > 0);
  for (const name of names) assert.ok(launcher.includes(`'${name}/bin/node`), name);
});

suite('szafa: the launcher', () => {
  const shared = useDevice(service);

  test('npx @szafa/cli, in the checkout', () => {
    const { device } = shared;
    const env = {
      ...device.env,
      PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${device.env['PATH']}`,
    };
    const run = spawnSync('npx', ['@szafa/cli', 'whoami', '--json'], { cwd: ROOT, env, encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    assert.equal((JSON.parse(run.stdout) as { type: string }).type, 'user');
  });

  test('an old Node hands over to the pinned one, with input, output, exit code and signals', async () => {
    await using stack = new AsyncDisposableStack();
    const { device } = shared;
    const folder = await mkdtemp(join(tmpdir(), 'szafa-old-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const old = oldNode();
    const command = [...(old ? [old] : await pretender(folder)), LAUNCHER];
    await device.ok(['put', '-', '--name', 'handed over'], { command, input: 'bytes' });
    assert.equal((await device.ok(['get', 'handed over', '-o', '-'], { command })).stdout, 'bytes');
    assert.equal((await device.run(['nonsense'], { command })).code, 2);

    await writeFile(device.path('slow'), Buffer.alloc(2_000_000));
    const slow = ['put', 'slow', '--bwlimit', '100K', '--json'];
    const running = device.start(slow, { command });
    await running.until('its beginning', (text) => /"bytes_done":[1-9]/.test(text));
    running.child.kill('SIGINT');
    assert.equal((await running.ended).code, 130);

    // However the launcher ends, nothing goes on without it: the pipes close when the last holder is gone.
    const killed = device.start(slow, { command });
    await killed.until('its beginning', (text) => /"bytes_done":[1-9]/.test(text));
    killed.child.kill('SIGKILL');
    const began = Date.now();
    assert.equal((await killed.ended).signal, 'SIGKILL');
    // It had twenty seconds of its own left.
    assert.ok(Date.now() - began < 12_000, 'the command ends soon after its launcher');
  });

  test('without any Node that is new enough it says what to do', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'szafa-alone-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, 'bin'));
    await copyFile(LAUNCHER, join(folder, 'bin/szafa.mjs'));
    const old = oldNode();
    const [node, ...before] = old ? [old] : await pretender(folder);
    for (const file of [join(folder, 'bin/szafa.mjs'), packedCommand()]) {
      const run = spawnSync(node!, [...before, file, 'ls'], { encoding: 'utf8' });
      assert.equal(run.status, 1);
      assert.match(
        run.stderr,
        /^szafa: this is Node 2\d\.\S+, but szafa needs Node 26 or later\nhint: .+\n$/,
      );
    }
  });
});
