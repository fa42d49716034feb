import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Service, type ServiceOptions } from '../harness/index.ts';

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000 });
  const why = error?.message ?? stderr.trim();
  assert.equal(status, 0, `${command} ${args.join(' ')} failed (these tests mount, as root): ${why}`);
}

/** A service whose data folder lies on a filesystem of the test's own. */
export class MountedService extends Service {
  readonly #disk: Disk;

  constructor(disk: Disk, options: ServiceOptions = {}) {
    super(options);
    this.#disk = disk;
  }

  override get data(): string {
    return join(this.#disk.path, 'data');
  }
}

/** A small filesystem that can be filled up, or, with an image behind it, lose what was not synced. */
export class Disk {
  readonly #folder: string;
  readonly #bytes: number;
  readonly #kind: 'tmpfs' | 'ext4';

  private constructor(folder: string, bytes: number, kind: 'tmpfs' | 'ext4') {
    this.#folder = folder;
    this.#bytes = bytes;
    this.#kind = kind;
  }

  static async create(kind: 'tmpfs' | 'ext4', bytes: number): Promise<Disk> {
    const disk = new Disk(await mkdtemp(join(tmpdir(), 'szafa-disk-')), bytes, kind);
    await mkdir(disk.path);
    if (kind === 'ext4') {
      run('truncate', '-s', String(bytes), disk.#image);
      run('mkfs.ext4', '-q', '-F', disk.#image);
    }
    disk.#mount();
    return disk;
  }

  get path(): string {
    return join(this.#folder, 'mounted');
  }

  get #image(): string {
    return join(this.#folder, 'image');
  }

  #mount(): void {
    if (this.#kind === 'ext4') run('mount', '-o', 'loop', this.#image, this.path);
    else run('mount', '-t', 'tmpfs', '-o', `size=${this.#bytes},mode=700`, 'tmpfs', this.path);
  }

  /** The power goes: everything that is not synced is lost. Nobody may have a file open when it comes back. */
  cutPower(): void {
    // EXT4_IOC_SHUTDOWN with NOLOGFLUSH; Node has no ioctl.
    const ioctl = `open(my $top, '<', $ARGV[0]) or die $!; my $how = pack('L', 2);`;
    run('perl', '-e', `${ioctl} ioctl($top, 0x8004587D, $how) or die $!`, this.path);
  }

  /** Whoever writes waits until `thaw`, as on a disk that is slow without end. */
  freeze(): void {
    run('fsfreeze', '--freeze', this.path);
  }

  thaw(): void {
    run('fsfreeze', '--unfreeze', this.path);
  }

  async powerBack(): Promise<void> {
    await this.#unmount();
    this.#mount();
  }

  /** A process whose end has been told lets go of its folder and files a moment later. */
  async #unmount(): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      if (spawnSync('umount', [this.path]).status === 0) return;
      await sleep(50);
    }
    run('umount', this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unmount();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
