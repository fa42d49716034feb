/** `get` onto a disk that does not tell A from a, as most of macOS and Windows are; here one of exFAT. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Output } from '../../cli/src/lib/print/output.ts';
import { Destination } from '../../cli/src/lib/transfer/get/destination.ts';
import { useService } from '../harness/index.ts';
import { loggedIn } from './account.ts';
import { assertError, type Device, type Outcome } from './device.ts';

const service = useService();
const found = (program: string) =>
  ['/usr/sbin', '/sbin', '/usr/bin'].map((at) => join(at, program)).find(existsSync);
const MAKE = found('mkfs.exfat');
const MOUNT = found('mount.exfat-fuse');

const missing =
  process.getuid?.() !== 0
    ? 'only root may mount'
    : !existsSync('/dev/fuse') || !existsSync('/dev/loop-control')
      ? 'this system has no FUSE, or no loop devices'
      : !MAKE || !MOUNT
        ? 'exfat-fuse and exfatprogs are not installed'
        : false;

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout.trim();
}

class Disk implements AsyncDisposable {
  readonly #folder: string;
  #device: string | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  get path(): string {
    return join(this.#folder, 'mounted');
  }

  static async mount(): Promise<Disk> {
    const folder = await mkdtemp(join(tmpdir(), 'szafa-case-'));
    const disk = new Disk(folder);
    try {
      const image = join(folder, 'image');
      await mkdir(disk.path);
      run('truncate', '-s', '16M', image);
      run(MAKE!, image);
      // It mounts devices only.
      disk.#device = run('losetup', '--find', '--show', image);
      run(MOUNT!, disk.#device, disk.path);
    } catch (error) {
      await disk.#remove();
      throw error;
    }
    return disk;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (let tries = 0; spawnSync('umount', [this.path]).status !== 0; tries++) {
      assert.ok(tries < 100, 'it cannot be unmounted');
      await sleep(50);
    }
    await this.#remove();
  }

  async #remove(): Promise<void> {
    if (this.#device !== undefined) run('losetup', '--detach', this.#device);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** As long as a disk has them: with a number it is shorter. */
const LONG = 'n'.repeat(251);

/** Names that only some disks tell apart, and what is in each; two have the same size and time. */
const FILES: Record<string, string> = {
  'set/A.txt': 'large A',
  'set/a.txt': 'a, which is longer',
  'set/Same': '1',
  'set/same': '2',
  'set/same (2)': 'by its own name',
  'set/Dir/x': 'in a large one',
  'set/dir/X': 'in a small one',
  'set/other': 'alone',
  // This disk has no such names at all.
  'set/12:30/what?.txt': 'unusual',
  [`set/N${LONG.slice(1)}.txt`]: 'long, and large',
  [`set/${LONG}.txt`]: 'long',
  // Of many that are alike this disk takes only the last two for one.
  ...Object.fromEntries(
    ['zzz', 'zz\uff5a', 'z\uff5az', 'z\uff5a\uff5a', '\uff3azz', '\uff5azz'].map((name, at) => [
      `set/${name}`,
      `z${at}`,
    ]),
  ),
};

async function contents(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return (
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')))
  ).sort();
}

const of = ({ lines }: Outcome, type: string) => lines.filter((line) => line.type === type);
const ALL = Object.values(FILES).sort();

async function give(device: Device): Promise<void> {
  for (const [path, content] of Object.entries(FILES)) {
    await mkdir(dirname(device.path(path)), { recursive: true });
    await writeFile(device.path(path), content);
    await utimes(device.path(path), 1e9, 1e9);
  }
  await device.ok(['put', 'set']);
}

test('names that the disk takes for one are all written, each under a name of its own, and told', {
  skip: missing,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const device = await loggedIn(service);
  stack.defer(() => device.remove());
  await give(device);
  const { path } = stack.use(await Disk.mount());
  await writeFile(join(path, 'a'), '');
  assert.ok(existsSync(join(path, 'A')), 'this disk tells A from a');
  const get = (...more: string[]) =>
    device.ok(['get', 'set', '--output', join(path, 'out'), '--json', ...more]);
  const first = await get();
  assert.deepEqual(await contents(join(path, 'out')), ALL);
  const told = of(first, 'note').filter(({ code }) => code === 'renamed');
  assert.deepEqual(told.map(({ path: at }) => String(at).slice(path.length)).sort(), [
    '/out/set/12_30/what_.txt',
    '/out/set/Dir/x (2)',
    '/out/set/a (2).txt',
    `/out/set/${LONG.slice(0, -10)} (2).txt`,
    '/out/set/same (2)',
    '/out/set/same (2) (2)',
    '/out/set/\uff5azz (2)',
  ]);
  const said = told.map(({ message }) => String(message));
  for (const why of [/ a disk may not tell it from /, /its own name is not possible here/])
    assert.ok(
      said.some((text) => why.test(text)),
      `${why}`,
    );
  // The same once more does nothing, and with --yes nothing goes over something else.
  assert.equal(of(await get(), 'downloaded').length, 0);
  await writeFile(join(path, 'out/set/A.txt'), 'changed here');
  assert.equal(of(await get('--yes'), 'downloaded').length, 1);
  assert.deepEqual(await contents(join(path, 'out')), ALL);
  // By a link too.
  const { link } = (await device.ok(['share', 'set', '--json'])).line('link');
  await device.ok(['get', String(link), '--output', join(path, 'shared')]);
  assert.deepEqual(await contents(join(path, 'shared')), ALL);
  assert.deepEqual((await readdir(path)).sort(), ['a', 'out', 'shared']);
  // One after the other: what is there by another name is another file, though size and time are the same, unless its bytes are too.
  const one = `${join(path, 'one')}/`;
  await device.ok(['get', 'set/Same', '--output', one]);
  const small = String((await device.ok(['share', 'set/same', '--json'])).line('link')['link']);
  for (const what of ['set/same', small]) {
    assertError(await device.run(['get', what, '--output', one]), 1, /one\/same is already there/, /--yes/);
  }
  await device.ok(['mv', 'set/Same', 'set/SAME']);
  const large = String((await device.ok(['share', 'set/SAME', '--json'])).line('link')['link']);
  for (const what of ['set/SAME', large]) {
    assert.equal(of(await device.ok(['get', what, '--output', one, '--json']), 'skipped').length, 1);
  }
  await device.ok(['mv', 'set/SAME', 'set/Same']);
  await rm(one, { recursive: true });
  // It has no links either.
  await mkdir(device.path('linked'));
  await symlink('file', device.path('linked/link'));
  await device.ok(['put', 'linked']);
  const refused = await device.run(['get', 'linked', '--output', join(path, 'out')]);
  assertError(refused, 1, /linked\/link: this disk has no symbolic links/, /another place with --output/);
  // A dry run writes nothing, and so does not know that one has another name; a disk that tells them apart gets them as they are.
  assert.equal(of(await get('--dry-run'), 'skipped').length, ALL.length - 1);
  const plain = await device.ok(['get', 'set', '--output', 'plain', '--json']);
  assert.deepEqual([of(plain, 'note'), of(plain, 'downloaded').length], [[], ALL.length]);
  assert.deepEqual(
    (await readdir(device.path('plain/set'))).sort(),
    (await readdir(device.path('set'))).sort(),
  );
});

test('of hundreds of names that the disk takes for one, each has its own soon', {
  skip: missing,
}, async () => {
  await using disk = await Disk.mount();
  const into = new Destination({ folder: disk.path }, new Output({ json: false, quiet: true }));
  const letters = [...'abcdefghi'];
  const names = Array.from({ length: 2 ** letters.length }, (_, at) =>
    letters.map((letter, bit) => ((at >> bit) & 1 ? letter.toUpperCase() : letter)).join(''),
  );
  const began = performance.now();
  const paths = names.map((name) => into.claim(name));
  assert.equal(new Set(paths.map((path) => path.toLowerCase())).size, names.length);
  // A second or two; where each tries all numbers from the first on, minutes.
  const took = performance.now() - began;
  assert.ok(took < 30_000, `${took} ms`);
});
