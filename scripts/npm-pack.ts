import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Packs a folder that is a package; the path of what it became. */
export function npmPack(folder: string, destination: string): string {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', folder, '--pack-destination', destination], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm pack ${folder}: ${stderr}`);
  return join(destination, stdout.trim().split('\n').at(-1)!);
}
