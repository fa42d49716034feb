import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Finds a program in PATH and in the system folders, which a user's PATH may lack. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        // Missing or not executable: try the next folder.
        return false;
      }
    });
}

/** Waits until every byte written so far on the filesystem of a path is on disk; returns the seconds it took. */
export async function syncFilesystem(path: string): Promise<number> {
  const begun = performance.now();
  await run('sync', ['-f', path]);
  return (performance.now() - begun) / 1000;
}

const filesystems: Record<number, string> = {
  61267: 'ext4',
  16914836: 'tmpfs',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  2035054128: 'overlay',
};

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  kernel: string;
  node: string;
  filesystem: string;
  freeGiB: number;
}

export async function describeMachine(folder: string): Promise<Machine> {
  const { type, bavail, bsize } = await statfs(folder);
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    filesystem: filesystems[type] ?? `type 0x${type.toString(16)}`,
    freeGiB: Math.floor((bavail * bsize) / 2 ** 30),
  };
}
