/**
 * `npm run release`: builds a release into artefacts/release-VERSION/: the SDK and the command as npm packages, the command as one file,
 * the server as a source archive, the release notes, and SHA256SUMS of all files. The build is reproducible. `--dirty` allows
 * uncommitted changes, which the source archive does not contain.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { changelogSection, version, versionFaults } from './version.ts';

const folder = join('artefacts', `release-${version}`);
const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' }).trim();

const faults = versionFaults();
if (!process.argv.includes('--dirty') && run('git', 'status', '--porcelain') !== '')
  faults.push('there are uncommitted changes: commit them, or add -- --dirty');
if (faults.length > 0) {
  for (const fault of faults) console.error(fault);
  process.exit(1);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const script of ['client/scripts/pack.ts', 'cli/scripts/pack.ts']) {
  const archive = run(process.execPath, script).split('\n').at(-1)!;
  copyFileSync(archive, join(folder, basename(archive)));
}
run(process.execPath, 'cli/scripts/pack.ts', join(folder, 'szafa.cjs'));
const source = `szafa-${version}`;
run('git', 'archive', `--prefix=${source}/`, `--output=${join(folder, `${source}.tar.gz`)}`, 'HEAD');
writeFileSync(join(folder, 'NOTES.md'), `# szafa ${changelogSection()}`);

const sums = readdirSync(folder)
  .sort()
  .map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')}  ${name}\n`,
  );
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
process.stdout.write(`${folder}\n${sums.join('')}`);
