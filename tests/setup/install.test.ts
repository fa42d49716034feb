/** How an installation starts the server. tests/setup/install.long.test.ts installs it from a clean folder. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../engines/daemon.ts';
import { command, Service, send, withService } from '../harness/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LAUNCHER = join(ROOT, 'server/bin/szafa-server');
const CERTIFICATE = join(ROOT, 'tests/cross/certificates/self-signed.pem');
const folder = mkdtempSync(join(tmpdir(), 'szafa-install-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function script(file: string, text: string): void {
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

suite('the launcher', () => {
  test('becomes the server: its process, its signals, its exit code', async () => {
    await withService({ command: [LAUNCHER] }, async (service) => {
      assert.match(readlinkSync(`/proc/${service.pid}/exe`), /\/bin\/node$/, 'no shell stays');
      assert.equal((await send(service.url, { path: '/readyz' })).status, 200);
      await service.terminate();
    });
    const refusing = new Service({ command: [LAUNCHER], env: { SZ_PORT: 'none' } });
    assert.equal(await refusing.startAndFail(), 2);
    await refusing.discard();
  });

  const checkout = join(folder, 'checkout');
  for (const path of ['scripts/node', 'server/bin/szafa-server'])
    cpSync(join(ROOT, path), join(checkout, path));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const launch = (...args: string[]) =>
    spawnSync(join(checkout, 'server/bin/szafa-server'), args, {
      encoding: 'utf8',
      env: { PATH: `${bin}:/usr/bin:/bin` },
    });

  test('says what to do where only an old Node is', () => {
    script(join(bin, 'node'), 'echo v18.20.4');
    const { status, stdout, stderr } = launch('status');
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(
      stderr,
      /^szafa: no Node 26 that runs: run "npm ci --omit=dev" in .*\/checkout, and .*libatomic1.*\n$/,
    );
  });

  test('takes a Node of the machine that is new enough, and the installed one before it', () => {
    const shows = (version: string) => `[ "$1" = --version ] && echo ${version} || echo ${version} "$@"`;
    script(join(bin, 'node'), shows('v26.0.1'));
    assert.equal(launch('a b', 'c').stdout, `v26.0.1 ${checkout}/server/src/main.ts a b c\n`);
    mkdirSync(join(checkout, 'node_modules/node-linux-any/bin'), { recursive: true });
    const installed = join(checkout, 'node_modules/node-linux-any/bin/node');
    script(installed, shows('v27.1.0'));
    assert.equal(launch('status').stdout, `v27.1.0 ${checkout}/server/src/main.ts status\n`);
    // As without its libraries.
    script(installed, 'exit 127');
    assert.match(launch('status').stdout, /^v26/);
  });

  test('"npm run build" fails where the page cannot be built', () => {
    for (const path of [
      'package.json',
      'package-lock.json',
      'web',
      'cli/src',
      'cli/scripts',
      'client/src',
      'format/src',
      'protocol/src',
      'scripts',
    ])
      cpSync(join(ROOT, path), join(checkout, path), {
        recursive: true,
        filter: (from) => !/\/(dist|node_modules)$/.test(from),
      });
    script(join(bin, 'node'), `exec ${process.execPath} "$@"`);
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts.build],
      {
        cwd: checkout,
        encoding: 'utf8',
        env: { PATH: `${bin}:/usr/bin:/bin` },
      },
    );
    assert.equal(status, 1, stderr);
    assert.match(stderr, /szafa: the web app could not be built: Error: Cannot find module '.*vite.*'\n$/);
  });
});

suite('szafa-server ready', () => {
  test('follows the port and TLS of the settings', async () => {
    for (const tls of [{}, { SZ_TLS_CERT: CERTIFICATE, SZ_TLS_KEY: CERTIFICATE }]) {
      const env = { SZ_HOST: '0.0.0.0', SZ_PORT: String(await freePort()), ...tls };
      const service = new Service({ env: { ...env, SZ_WORKERS: '1' } });
      try {
        await service.start();
        const ready = await command(service, ['ready'], env);
        assert.equal(ready.code, 0, ready.out + ready.errors);
        await service.terminate();
        const away = await command(service, ['ready', '--json'], env);
        assert.equal(away.code, 1);
        assert.match(
          String(away.lines[0]!['why']),
          new RegExp(`127.0.0.1:${env.SZ_PORT}: nothing listens there`),
        );
        // Asked before the server is started again.
        const waiting = command(service, ['ready', '--wait', '120'], env);
        await service.start();
        assert.equal((await waiting).code, 0);
      } finally {
        await service.discard();
      }
    }
  });

  test('is told how long to wait in seconds', async () => {
    const service = new Service();
    const { code, errors } = await command(service, ['ready', '--wait', 'long'], { SZ_DATA: folder });
    assert.equal(code, 2);
    assert.match(errors, /--wait must be a number of seconds/);
  });
});

test('deploy/szafa-server gives a command the settings that the unit has', () => {
  const values = {
    SZ_DATABASE: 'postgres://szafa:a$b`c@host/szafa?schema=x&sslmode=verify-full#1',
    SZ_SYSTEM_TOKEN: 'in "quotes" and \\ more',
    SZ_ORIGIN: "it's",
  };
  const lines = [
    '# settings',
    '',
    '; more',
    `SZ_DATABASE=${values.SZ_DATABASE}`,
    `SZ_SYSTEM_TOKEN='${values.SZ_SYSTEM_TOKEN}'`,
  ];
  // The last line may lack its end.
  writeFileSync(join(folder, 'szafa.env'), [...lines, `SZ_ORIGIN="${values.SZ_ORIGIN}"`].join('\n'));
  const opt = join(folder, 'opt');
  mkdirSync(join(opt, 'server/bin'), { recursive: true });
  script(
    join(opt, 'server/bin/szafa-server'),
    `exec ${process.execPath} -p 'JSON.stringify([process.env, process.argv.slice(1), process.cwd()])' -- "$@"`,
  );
  const text = readFileSync(join(ROOT, 'deploy/szafa-server'), 'utf8')
    .replaceAll('/opt/szafa', opt)
    .replace('/etc/szafa.env', join(folder, 'szafa.env'))
    // There is no such user here; tests/setup/debian.long.test.ts has one.
    .replace(/setpriv .*--init-groups /, '');
  writeFileSync(join(folder, 'szafa-server'), text);
  const run = spawnSync('sh', [join(folder, 'szafa-server'), 'account', 'show', 'a b'], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  const [env, args, cwd] = JSON.parse(run.stdout);
  assert.deepEqual({ ...env, ...values }, env);
  assert.deepEqual([env.SZ_DATA, args, cwd], ['/var/lib/szafa', ['account', 'show', 'a b'], opt]);
});
