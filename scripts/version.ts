import { globSync, readFileSync } from 'node:fs';

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
}

const read = (file: string) => readFileSync(file, 'utf8');

/** The version of the workspace, which every package shares. */
export const version = (JSON.parse(read('package.json')) as Manifest).version ?? '';

/** Returns the section of the current version in CHANGELOG.md, if there is one. */
export function changelogSection(): string | undefined {
  return read('CHANGELOG.md')
    .split(/^## /m)
    .find((section) => section.startsWith(`${version} `));
}

/** Lists places whose version differs from the one in the root package.json. */
export function versionFaults(): string[] {
  const faults: string[] = [];
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Manifest> };
  for (const file of ['package.json', ...globSync('{*,tests/*}/package.json')]) {
    const manifest = JSON.parse(read(file)) as Manifest;
    const folder = file === 'package.json' ? '' : file.slice(0, -'/package.json'.length);
    const named = [
      manifest.version,
      packages[folder]?.version,
      ...Object.entries(manifest.dependencies ?? {}).flatMap(([name, at]) =>
        name.startsWith('@szafa/') ? at : [],
      ),
    ];
    if (named.some((at) => at !== version)) faults.push(`${file}: not everything is version ${version}`);
  }
  if (!read('cli/src/main.ts').includes(`VERSION = '${version}'`))
    faults.push(`cli/src/main.ts: VERSION is not ${version}`);
  if (changelogSection() === undefined) faults.push(`CHANGELOG.md: no section for ${version}`);
  return faults;
}
