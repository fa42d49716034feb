import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Packs package folders with npm and returns the paths of the archives. */
export function npmPack(folders: string[], destination: string): string[] {
  const args = ['pack', '--ignore-scripts', '--pack-destination', destination, ...folders];
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack: ${stderr}`);
  return stdout
    .trim()
    .split('\n')
    .slice(-folders.length)
    .map((name) => join(destination, name));
}
