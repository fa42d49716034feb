/** Paths and versions, from what docs/format.md says of them. */
import type { PathVector, VersionVector } from './tree-vectors.ts';

const parts = (name: string, path: string, ...expect: string[]): PathVector => ({
  ...{ kind: 'parts', name, path, expect },
});
const bytes = (name: string, hex: string, expect: string): PathVector => ({
  ...{ kind: 'bytes', name, bytes: hex, expect },
});
const many = (count: number) => Array.from({ length: count }, (_, at) => `p${at + 1}`);

export const paths: PathVector[] = [
  parts('plain', 'a/b/c', 'a', 'b', 'c'),
  parts('empty-first', '/etc/passwd', 'etc', 'passwd'),
  parts('empty-middle', 'a//b', 'a', 'b'),
  parts('dot', './a/./b', 'a', 'b'),
  parts('up-first', '../a', 'a'),
  parts('up-middle', 'a/../b', 'a', 'b'),
  parts('up-last', 'a/..', 'a'),
  parts('three-dots', 'a/...', 'a', '...'),
  parts('dot-name', '.a/..b', '.a', '..b'),
  parts('backslash', 'a\\..\\b', 'a\\..\\b'),
  parts('spellings', 'é/e\u0301', 'é', 'e\u0301'),
  parts('nothing', ''),
  parts('nothing-left', './..//', ...[]),
  parts('128-parts', many(128).join('/'), ...many(128)),
  parts('130-parts', many(130).join('/'), ...many(127), 'p128/p129/p130'),
  parts('130-parts-two-empty', `/${many(128).join('/').replace('p9/', 'p9//')}`, ...many(128)),
  bytes('ascii', '612e62', 'a.b'),
  bytes('utf8', 'c5bcf09f90a2', 'ż🐢'),
  bytes('latin-1', '63e974e9', 'c\uefe9t\uefe9'),
  bytes('first', '80', '\uef80'),
  bytes('last', 'ff', '\uefff'),
  bytes('cut', 'c5bcc5', 'ż\uefc5'),
  bytes('cut-long', 'f09f90', '\ueff0\uef9f\uef90'),
  bytes('overlong', 'c0af', '\uefc0\uefaf'),
  bytes('surrogate', 'eda080', '\uefed\uefa0\uef80'),
  bytes('own-first', 'eebe80', '\uefee\uefbe\uef80'),
  bytes('own-last', 'eebfbf', '\uefee\uefbf\uefbf'),
  bytes('before-own', 'eebdbf', '\uef7f'),
  bytes('behind-own', 'ef8080', '\uf000'),
  bytes('replacement', 'efbfbd', '\ufffd'),
];

type Version = VersionVector['versions'][number];
const version = (id: string, gen: number, added: number, file_id = '11'.repeat(16)): Version => ({
  ...{ id: id.repeat(32), file_id, gen, added },
});
const NOW = 1_767_225_600_000;
const ordered = (name: string, ...newestFirst: Version[]): VersionVector => ({
  name,
  // Listed the other way round: the order of the list must not count.
  versions: newestFirst.toReversed(),
  expect: newestFirst.map(({ id }) => id),
});

export const versions: VersionVector[] = [
  ordered('gen', version('a', 2, 1), version('b', 1, NOW)),
  ordered('gen-number', version('a', 10, NOW), version('b', 9, NOW)),
  ordered('gen-most', version('a', 2 ** 32 - 1, NOW), version('b', 2 ** 31 - 1, NOW)),
  ordered('added', version('a', 1, NOW + 1), version('b', 1, NOW)),
  ordered('added-most', version('a', 1, 2 ** 48 - 1), version('b', 1, NOW), version('c', 1, 0)),
  ordered('file-id', version('a', 1, NOW, '22'.repeat(16)), version('b', 1, NOW, '11'.repeat(16))),
  ordered('file-id-unsigned', version('a', 1, NOW, 'f0'.repeat(16)), version('b', 1, NOW, '0f'.repeat(16))),
  ordered(
    'file-id-last-byte',
    version('a', 1, NOW, `${'11'.repeat(15)}12`),
    version('b', 1, NOW, '11'.repeat(16)),
  ),
  ordered(
    'all',
    version('a', 3, 0),
    version('d', 2, NOW + 1),
    version('c', 2, NOW, '33'.repeat(16)),
    version('b', 2, NOW),
  ),
];
