/**
 * The documented installations on plain Debian: as a service, in a folder that mmdebstrap made and chroot entered, and as an image that buildah built.
 * There is no systemd in either: what its unit says is done by hand. Needs root, and packages from Debian and npm.
 */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { freePort } from '../engines/daemon.ts';
import { type ServiceOptions, send, withService } from '../harness/index.ts';
import { copyCheckout, documentedCommands, ROOT, run, unitSetting } from './installation.ts';

const folder = mkdtempSync(join(tmpdir(), 'szafa-debian-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** What the harness sets and an installation does not. */
const UNSET = ['NODE_COMPILE_CACHE', 'SZ_LANE', 'SZ_MIN_FREE', 'SZ_SYSTEM_TOKEN', 'SZ_WORKERS'];

/** The smallest Debian of that name. npm trusts the certificates there that this machine trusts. */
function makeDebian(suite: string): string {
  const root = join(folder, suite);
  run('mmdebstrap', ['--quiet', '--variant=minbase', suite, root]);
  const bundle = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(bundle)) {
    copyFileSync(bundle, join(root, 'etc/trusted-by-npm.crt'));
    writeFileSync(join(root, 'root/.npmrc'), 'cafile=/etc/trusted-by-npm.crt\n');
  }
  writeFileSync(join(root, 'etc/apt/apt.conf.d/99-test'), 'APT::Get::Assume-Yes "true";\n');
  return root;
}

/** A command in that Debian; its mounts are gone with it. */
const inside = (root: string, ...command: string[]) => [
  ...[
    'unshare',
    '--mount',
    'sh',
    '-c',
    'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$@"',
    root,
  ],
  ...command,
];

function runInside(root: string, script: string, input = ''): string {
  const [program = '', ...args] = inside(root, root, 'sh', '-euc', script);
  const env = { PATH: SYSTEM_PATH, HOME: '/root', DEBIAN_FRONTEND: 'noninteractive' };
  return run(program, args, { env, input });
}

async function assertServes(url: string): Promise<void> {
  assert.equal((await send(url, { path: '/readyz' })).status, 200);
  const page = await send(url, { path: '/' });
  assert.equal(page.status, 200, page.text);
  assert.match(page.text, /<script type="module"/);
}

suite('as a service', () => {
  for (const release of ['bookworm', 'trixie']) {
    test(release, async () => {
      const root = makeDebian(release);
      copyCheckout(join(root, 'repository'));
      const commands = documentedCommands().map((line) => line.replace('REPOSITORY', '/repository'));
      const begin = commands.findIndex((line) => line.startsWith('systemctl '));
      assert.ok(begin > 0, commands.join('\n'));
      const commit =
        'cd /repository && git init -q && git add -A && git -c user.name=t -c user.email=t@t commit -qm t && cd /';
      const clone = commands.findIndex((line) => line.startsWith('git clone '));
      runInside(
        root,
        ['apt-get update', ...commands.slice(0, clone), commit, ...commands.slice(clone, begin)].join('\n'),
      );

      // What systemd would do.
      const user = unitSetting('User');
      const data = `/var/lib/${unitSetting('StateDirectory')}`;
      runInside(root, `install -d -o ${user} -g ${user} -m ${unitSetting('StateDirectoryMode')} ${data}`);
      const port = String(await freePort());
      appendFileSync(join(root, unitSetting('EnvironmentFile')), `SZ_PORT=${port}\n`);
      const [, set = ''] = unitSetting('Environment').split('SZ_DATA=');
      assert.equal(set, data);
      const enter = inside(root, `--userspec=${user}:${user}`, root, 'sh', '-c', 'cd "$0" && exec "$@"');
      const options: ServiceOptions = {
        within: [...enter, unitSetting('WorkingDirectory')],
        command: unitSetting('ExecStart').split(' '),
        env: { PATH: SYSTEM_PATH, SZ_DATA: data, SZ_PORT: port },
        unset: UNSET,
      };
      await withService(options, async (service) => {
        // What is left of the documented commands, then those that an operator gives, by the installed wrapper.
        const ready = commands.find((line) => line.startsWith('szafa-server '));
        assert.ok(ready);
        runInside(root, ready);
        await assertServes(service.url);
        assert.match(runInside(root, 'szafa-server status'), /read.only/);
        assert.equal(runInside(root, `find ${data} -not -user ${user}`), '');
      });
      const [program = '', ...args] = inside(root, root, 'szafa-server', 'ready');
      assert.throws(() => run(program, args, { env: { PATH: SYSTEM_PATH } }), /nothing listens there/);
      rmSync(root, { recursive: true });
    });
  }
});

interface Image {
  Docker: {
    config: {
      User: string;
      Env: string[];
      Entrypoint: string[];
      Cmd: string[];
      WorkingDir: string;
      Healthcheck: { Test: string[] };
    };
  };
}

test('as a container', async () => {
  const root = makeDebian('bookworm');
  const base = join(folder, 'base.tar');
  run('tar', ['-cf', base, '--exclude=./dev/*', '-C', root, '.']);
  rmSync(root, { recursive: true });
  const policy = join(folder, 'policy.json');
  writeFileSync(policy, '{ "default": [{ "type": "insecureAcceptAnything" }] }');
  const [images, state] = [join(folder, 'images'), join(folder, 'run')];
  const storage = ['--root', images, '--runroot', state, '--storage-driver', 'vfs'];
  const buildah = (command: string, ...args: string[]) =>
    run('buildah', [...storage, command, ...args]).trim();
  const signed = `--signature-policy=${policy}`;
  const empty = buildah('from', 'scratch');
  buildah('add', '--quiet', empty, base, '/');
  buildah('commit', '--quiet', '--rm', signed, empty, 'localhost/base');

  // What lies about in a checkout that is used; none of it may get into the image.
  const context = join(folder, 'checkout');
  copyCheckout(context);
  const stray = [
    'data/szafa.db',
    '.git/config',
    'deploy/secrets/database',
    'deploy/.env',
    '.env',
    'artefacts/a',
    'web/dist/index.html',
    'node_modules/fastify/fastify.js',
  ];
  for (const file of stray) {
    mkdirSync(join(context, file, '..'), { recursive: true });
    writeFileSync(join(context, file), 'stray');
  }
  const from = ['--isolation', 'chroot', '--build-arg', 'BASE=localhost/base', signed];
  const named = ['--file', join(context, 'deploy/Dockerfile'), '--tag', 'localhost/szafa'];
  buildah('build', '--format', 'docker', ...from, ...named, context);

  const { config } = (JSON.parse(buildah('inspect', '--type', 'image', 'localhost/szafa')) as Image).Docker;
  const container = buildah('from', '--pull-never', signed, 'localhost/szafa');
  const files = join(buildah('mount', container), 'opt/szafa');
  const ours = ['.', '-name', 'node_modules', '-prune', '-o', '-type', 'f', '-print'];
  const listed = run('find', ours, { cwd: files }).trim().split('\n');
  const UNWANTED = /^\.\/(data|\.git|deploy|tests|bench|artefacts|docs)\b|\.test\.ts$|\.env$/;
  assert.deepEqual(
    listed.filter((file) => UNWANTED.test(file)),
    [],
  );
  const isStray = (file: string) =>
    existsSync(join(files, file)) && readFileSync(join(files, file), 'utf8') === 'stray';
  assert.deepEqual(stray.filter(isStray), []);
  assert.ok(listed.includes('./web/dist/index.html'));

  const [kind, ...health] = config.Healthcheck.Test;
  assert.deepEqual([config.User, kind], ['1000:1000', 'CMD']);
  assert.ok(config.Env.includes('SZ_HOST=0.0.0.0'), config.Env.join(' '));
  // "buildah run" passes no signals on, so the image's command is run as its chroot isolation does it.
  const [system, certificate] = [join(files, '../..'), '/opt/szafa/certificate.pem'];
  copyFileSync(join(ROOT, 'tests/cross/certificates/self-signed.pem'), join(system, certificate));
  const within = [
    ...inside(system, `--userspec=${config.User}`, system, 'sh', '-c', 'cd "$0" && exec "$@"'),
    config.WorkingDir,
  ];
  const check = (env: Record<string, string>) => run(within[0]!, [...within.slice(1), ...health], { env });
  for (const tls of [{}, { SZ_TLS_CERT: certificate, SZ_TLS_KEY: certificate }]) {
    const image = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    const env: Record<string, string> = { ...image, SZ_PORT: String(await freePort()), ...tls };
    const command = [...config.Entrypoint, ...config.Cmd];
    await withService({ within, command, env, unset: UNSET }, async (service) => {
      check(env);
      if (service.url.startsWith('http:')) await assertServes(`http://127.0.0.1:${env['SZ_PORT']}`);
      await service.terminate();
    });
    assert.throws(() => check(env), /nothing listens there/);
  }
});
