// Lists the test files and what they need. Plain JavaScript for Node 18.20 or later, because it runs before the pinned Node is
// installed.
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
 * Debian packages that test files need, and whether they need the built web app. All entries that match a file apply.
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
  // For a disk that refuses writes for a while.
  { files: /^tests\/web\/downloads\.long/, packages: ['e2fsprogs'] },
  // For a disk that ignores case.
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

/** API tests, which run on every pair of stores. */
export const ON_ALL_PAIRS = /^tests\/blackbox\//;
/** Tests of exchange between the web app and the command. They run on SQLite and a folder, and on PostgreSQL and S3. */
export const ON_TWO_PAIRS = /^tests\/web\/(links|requests|sharing-exchange)\.test/;
/** API tests that never use the volume store. They are skipped on the mixed pairs, which would test nothing new. */
export const WITHOUT_VOLUMES =
  /^tests\/blackbox\/(accounts|factors|keys|openapi|passkey-logins|passkeys|passwords|request-ids|sessions|watching)\.test/;
/** Debian packages for the pairs other than SQLite and a folder. */
export const PAIR_PACKAGES = CEPH;

const LONG = [
  // Tests that run for minutes, and installations with npm in other places.
  /\.long\.test\.ts$/,
  // Servers on PostgreSQL and S3. The tests of the two stores themselves are part of every run.
  /^tests\/(engines|nodes)\//,
  // Web tests except for the main path, because each takes seconds of CPU in Chromium. Their rules for accounts, trees, links and uploads
  // are also tested in the SDK and in the web app's worker in every run.
  /^tests\/web\/(?!(files|page|trust|viewing)\.test)/,
  // Tests that start many commands, often with a key derivation each. Every run covers the same rules elsewhere: client/test and
  // tests/blackbox in general; cli/test for comparing files, recovery keys and sessions; client/test/account-attacks for what a server
  // learns about a password; client/test/account-shares; tests/blackbox/operator-accounts for invitations. tests/faults/steps kills and
  // restarts a server at each step; tests/faults/kills, in every run, kills it at random.
  /^tests\/cross\/(account-shares|at-once|compare|factor|invitations|keys|keys-attacks|memory|tokens)\.test/,
  /^tests\/attacks\/(hostile-link|hostile-service|logins|store)\.test/,
  /^tests\/released\//,
  /^tests\/(consumer\/openapi|faults\/memory|faults\/steps)\.test/,
];
/**
 * Whether a file runs only in `npm run test:long`.
 * @param {string} file
 */
export const isForLong = (file) => LONG.some((pattern) => pattern.test(file));

/**
 * Whether a file does more work in `npm run test:long` (see tests/harness/long.ts). Files that would only repeat `npm test` are skipped.
 * @param {string} root
 * @param {string} file
 */
export const growsWhenLong = (root, file) => /\busually\(/.test(readFileSync(join(root, file), 'utf8'));

/**
 * Returns the paths of test files relative to the root, with `/`. If texts are given, only paths that contain one of them.
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
