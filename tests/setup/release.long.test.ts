/** `npm run release` builds what is published, and its checksums are right. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, run } from './installation.ts';

test('the packages, the command in one file, the source and their checksums', () => {
  const [folder = ''] = run(process.execPath, ['scripts/release.ts', '--dirty'], { cwd: ROOT }).split('\n');
  const at = (name: string) => join(ROOT, folder, name);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const names = [
    'NOTES.md',
    `szafa-${version}.tar.gz`,
    `szafa-cli-${version}.tgz`,
    `szafa-client-${version}.tgz`,
    'szafa.cjs',
  ];
  assert.deepEqual(readdirSync(at('')).sort(), ['NOTES.md', 'SHA256SUMS', ...names.slice(1)]);
  const sums = names.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(at(name)))
        .digest('hex')}  ${name}\n`,
  );
  assert.equal(readFileSync(at('SHA256SUMS'), 'utf8'), sums.join(''));
  assert.match(
    readFileSync(at('NOTES.md'), 'utf8'),
    new RegExp(`^# szafa ${version.replaceAll('.', '\\.')} `),
  );
  assert.equal(
    execFileSync(process.execPath, [at('szafa.cjs'), '--version'], { encoding: 'utf8' }),
    `szafa ${version}\n`,
  );
});
