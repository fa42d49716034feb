/**
 * Checks that released migrations do not change, because existing databases have run them. scripts/released-migrations.json lists their
 * digests in order. `scripts/node scripts/migrations.ts --release` adds new ones and is part of a release.
 */
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { migrations } from '../server/src/schema.ts';
import { VERSION } from '../server/src/version.ts';

interface ReleasedMigration {
  /** The first release with this migration. */
  release: string;
  sha256: string;
}

const LIST = new URL('released-migrations.json', import.meta.url);
/** Placeholders, so that a migration has the same digest for all database engines. */
const ANY_ENGINE = { serial: '(serial)', clustered: '(clustered)' };

const digests = () => migrations.map((migration) => hash('sha256', JSON.stringify(migration(ANY_ENGINE))));
const readList = () => JSON.parse(readFileSync(LIST, 'utf8')) as ReleasedMigration[];

/** Lists released migrations that were changed or removed. */
export function migrationFaults(released = readList(), current = digests()): string[] {
  return released.flatMap(({ release, sha256 }, at) =>
    current[at] === sha256
      ? []
      : `server/src/schema.ts: migration ${at + 1} was released with ${release} and must not change; append a new one`,
  );
}

if (import.meta.main && process.argv.includes('--release')) {
  const released = readList();
  const added = digests().slice(released.length);
  const list = [...released, ...added.map((sha256) => ({ release: VERSION, sha256 }))];
  writeFileSync(LIST, `${JSON.stringify(list, null, 2)}\n`);
}
