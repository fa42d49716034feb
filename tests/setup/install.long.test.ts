/** The documented installation, in a clean folder, with each npm that Debian and Node's images have. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { send, withService } from '../harness/index.ts';
import { copyCheckout, documentedCommands, run, unitSetting } from './installation.ts';

const folder = mkdtempSync(join(tmpdir(), 'szafa-install-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const PAIRS = [
  { npm: '9.2.0', node: '18.20.8', from: 'Debian 12' },
  { npm: '10', node: '20.20.2', from: 'the image node:20' },
  { npm: '11', node: '20.20.2', from: 'a newer npm' },
];

for (const { npm, node, from } of PAIRS) {
  test(`npm ${npm} on Node ${node}, as from ${from}`, async () => {
    const tools = join(folder, `npm-${npm}`);
    const packaged = `node-${process.platform}-${process.arch}`;
    run('npm', [
      'install',
      '--no-audit',
      '--no-fund',
      '--prefix',
      tools,
      `npm@${npm}`,
      `${packaged}@${node}`,
    ]);
    const PATH = `${tools}/node_modules/${packaged}/bin:${tools}/node_modules/.bin:${process.env['PATH']}`;
    const env = { ...process.env, PATH };
    assert.equal(run('node', ['--version'], { env }), `v${node}\n`);
    assert.ok(run('npm', ['--version'], { env }).startsWith(`${npm.split('.')[0]}.`));

    const checkout = join(folder, `checkout-${npm}`);
    copyCheckout(checkout);
    const steps = documentedCommands().filter((line) => line.startsWith('npm '));
    assert.equal(steps.length, 2, steps.join('\n'));
    for (const step of steps) run('sh', ['-c', step], { cwd: checkout, env });
    // Why nothing may depend on it.
    if (!npm.startsWith('11')) assert.ok(!existsSync(join(checkout, 'node_modules/.bin/node')));
    const command = [unitSetting('ExecStart').replace('/opt/szafa', checkout)];
    await withService({ command, env: { PATH } }, async (service) => {
      assert.equal((await send(service.url, { path: '/readyz' })).status, 200);
      const page = await send(service.url, { path: '/' });
      assert.equal(page.status, 200, page.text);
      assert.match(page.text, /<script type="module"/);
    });
    rmSync(checkout, { recursive: true });
  });
}
