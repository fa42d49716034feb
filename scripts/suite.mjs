// Which test files there are, and what each of them needs. Plain JavaScript for any Node from 18.20 on: what is missing
// is installed before the pinned Node runs.
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

const FOLDERS = [
  'protocol/test',
  'format/test',
  'server/test',
  'client/test',
  'cli/test',
  'bench/test',
  'tests',
];

const CEPH = ['ceph-mon', 'ceph-osd', 'radosgw'];
const MOUNTS = ['strace', 'e2fsprogs'];

/**
 * Debian packages, and whether the built page is opened, by the paths of the files; all lines that fit count.
 * @type {{ files: RegExp, packages?: string[], page?: boolean }[]}
 */
const NEEDS = [
  { files: /^server\/test\/pull\//, packages: ['aria2'] },
  { files: /^server\/test\/.*s3.*\.test/, packages: CEPH },
  { files: /^tests\/(blackbox|cross|faults|engines|nodes|attacks)\//, packages: ['aria2'] },
  { files: /^tests\/(faults|attacks)\//, packages: MOUNTS },
  { files: /^tests\/attacks\/frames/, page: true },
  { files: /^tests\/attacks\/accel/, packages: ['nginx-light'] },
  { files: /^tests\/(engines|nodes)\//, packages: CEPH },
  { files: /^tests\/faults\/memory/, packages: CEPH },
  { files: /^tests\/nodes\//, packages: ['iproute2', 'nginx-light'] },
  { files: /^tests\/(worker\/zip|web\/(zip|links|account-shares))/, packages: ['unzip'] },
  { files: /^tests\/web\//, packages: ['aria2', 'chromium'], page: true },
  // A disk that takes nothing for a while.
  { files: /^tests\/web\/downloads\.long/, packages: ['e2fsprogs'] },
  // A disk that does not tell A from a.
  { files: /^tests\/cross\/case/, packages: ['exfat-fuse', 'exfatprogs'] },
  { files: /^tests\/setup\/command/, page: true },
  { files: /^tests\/setup\/alerts/, packages: ['prometheus'] },
  { files: /^tests\/setup\/(debian|install)\.long/, packages: ['git'] },
  { files: /^tests\/setup\/debian/, packages: ['buildah', 'mmdebstrap'] },
  {
    files: /^tests\/browsers\//,
    packages: ['chromium', 'firefox-esr', 'webkit2gtk-driver', 'xvfb', 'dbus'],
    page: true,
  },
];

/** The interface is tested on every pair of stores, each of which is a run of its own. */
export const ON_ALL_PAIRS = /^tests\/blackbox\//;
/** What page and command share with each other runs on SQLite and a folder, and on PostgreSQL and S3. */
export const ON_TWO_PAIRS = /^tests\/web\/(links|requests|sharing-exchange)\.test/;
/** What never reaches the volume store is the same with S3 and with a folder: the mixed pairs show nothing new of it. */
export const WITHOUT_VOLUMES =
  /^tests\/blackbox\/(accounts|factors|keys|openapi|passkey-logins|passkeys|passwords|request-ids|sessions|watching)\.test/;
/** Packages for the pairs beside SQLite and a folder. */
export const PAIR_PACKAGES = CEPH;

const LONG = [
  // Kills and soaks of minutes, and what npm installs elsewhere.
  /\.long\.test\.ts$/,
  // Servers on PostgreSQL and S3, alone and together. The contracts of both stores run on them in every run.
  /^tests\/(engines|nodes)\//,
  // Of the page all but the way through it: in Chromium each test takes seconds of CPU. What these show of accounts, trees, links
  // and uploads is a rule of the SDK or of the page's worker as well, and tested there in every run.
  /^tests\/web\/(?!(files|page|trust|viewing)\.test)/,
  // A process, and often a derivation of keys, for each of many commands; client/test has the rules, tests/blackbox what the server
  // does. And a restart for each step at which a server is killed: tests/faults/kills kills it anywhere in every run.
  // cli/test has what is compared before a transfer, and what becomes of a recovery key and a session; client/test/account-attacks what a
  // server gets of a password, client/test/account-shares shares with an account, and tests/blackbox/operator-accounts invitations.
  /^tests\/cross\/(account-shares|at-once|compare|factor|invitations|keys|keys-attacks|memory|tokens)\.test/,
  /^tests\/attacks\/(hostile-link|hostile-service|logins|store)\.test/,
  /^tests\/released\//,
  /^tests\/(consumer\/openapi|faults\/memory|faults\/steps)\.test/,
];
/**
 * `npm run test:long` only.
 * @param {string} file
 */
export const isForLong = (file) => LONG.some((pattern) => pattern.test(file));

/**
 * Whether the file does more of the same in `npm run test:long` (tests/harness/long.ts). What would do the same again does not run there.
 * @param {string} root
 * @param {string} file
 */
export const growsWhenLong = (root, file) => /\busually\(/.test(readFileSync(join(root, file), 'utf8'));

/**
 * Paths from the root, with `/`; only those that contain one of the texts, if there are any.
 * @param {string} root
 * @param {string[]} texts
 * @returns {string[]}
 */
export function testFiles(root, texts) {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.replaceAll(sep, '/')}`)
      .filter((file) => file.endsWith('.test.ts') && !file.includes('/node_modules/')),
  )
    .filter((file) => texts.length === 0 || texts.some((text) => file.includes(text)))
    .sort();
}

/**
 * @param {string[]} files
 * @returns {{ packages: string[], page: boolean }}
 */
export function needsOf(files) {
  const needed = NEEDS.filter((need) => files.some((file) => need.files.test(file)));
  return {
    packages: [...new Set(needed.flatMap(({ packages }) => packages ?? []))],
    page: needed.some(({ page }) => page),
  };
}
