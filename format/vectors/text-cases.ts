/** Files whose names and other texts need care: lone surrogates, and names that are bytes on a disk. */
import type { Engine, Metadata } from '../../client/src/index.ts';
import { toBase64Url } from '../src/index.ts';
import { type Base, buildFile, type Faults, withKey } from './builder.ts';
import type { FileVector } from './kinds.ts';

/** `base` has the metadata that a reader must come to. */
export async function textFiles(engine: Engine, base: Base): Promise<FileVector[]> {
  const file = async (
    name: string,
    about: string,
    more: Partial<Metadata>,
    faults: Faults = {},
    expect?: FileVector['expect'],
  ): Promise<FileVector> => {
    const metadata = { ...base.metadata, ...more };
    const built = await buildFile(engine, { ...base, metadata }, faults);
    return { name, about, ...built, expect: expect ?? { metadata, plain: toBase64Url(base.plain) } };
  };
  const halved = (metadata: object) => JSON.parse(JSON.stringify(metadata).replaceAll('\ufffd', '\\ud800'));
  const texts = { name: 'a\ufffdb', source: '/\ufffd', link: '\ufffd', type: 't/\ufffd' };
  const faulty = (key: keyof Metadata, value: unknown) =>
    file(
      `metadata-more-${key}-${JSON.stringify(value).slice(0, 20)}`,
      `${key} in the metadata is ${JSON.stringify(value)}`,
      {},
      { metadata: withKey(key, value) },
      { stage: 'metadata', code: 'tampered' },
    );
  return [
    await file('good-surrogate', 'lone surrogates, each of which counts as U+FFFD', texts, {
      metadata: halved,
    }),
    await file('good-bytes', 'a path and a link with bytes that are not UTF-8', {
      name: 'caf\uefe9/\uefee\uefbe\uef80',
      link: '../caf\uefe9',
    }),
    await file('good-odd-path', 'parts that a reader leaves out: the name stays as it was sealed', {
      name: '../a//./b',
    }),
    await file('good-least', 'the least values', { nanos: -999_999, special: 0, mode: 0, hardlink: '-' }),
    await file('good-most', 'the highest values', {
      ...{ nanos: 999_999, special: 7, mode: 511, hardlink: '_'.repeat(64) },
      ...{ mtime: 2 ** 53 - 1, added: 2 ** 48 - 1, gen: 2 ** 32 - 1, rev: 2 ** 32 - 1 },
    }),
    await faulty('nanos', 1_000_000),
    await faulty('nanos', null),
    await faulty('special', -1),
    await faulty('special', null),
    await faulty('sparse', 'true'),
    await faulty('sparse', null),
    await faulty('hardlink', 'h'.repeat(65)),
    await faulty('hardlink', 'h\n'),
    await faulty('hardlink', 'ż'),
    await faulty('hardlink', 7),
    await faulty('hardlink', null),
  ];
}
