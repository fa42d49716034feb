/** Sealed names of files and directories. */
import type { Master } from '../src/index.ts';
import type { NameVector } from './kinds.ts';
import { boundTo, dirName, namePlain, sealName } from './writer-cases.ts';

/** `total` is the digest of a file. */
export function nameVectors(masters: Master[], total: string): NameVector[] {
  const master = masters[0]!.key;
  const names: NameVector[] = [];
  const bound = boundTo(Uint8Array.fromHex(total), 1234, 3);
  const fields = {
    kind: 'file',
    key: master.toHex(),
    total_sha256: total,
    size: 1234,
    chunk_count: 3,
  } as const;
  const listed = (rev: number) => ({
    rev,
    gen: rev + 1 < 2 ** 32 ? rev + 1 : rev,
    added: 1_767_225_600_000 + rev,
  });
  const fileName = (name: string, rev: number) =>
    sealName('file', master, bound, namePlain(name, listed(rev)));
  for (const [given, rev, kept = given] of [
    ['', 1],
    ['a', 1],
    ['raport.txt', 1],
    ['raport.txt', 2],
    ['raport.txt', 2 ** 32 - 1],
    ['żółw/ß.bin', 1],
    ['n'.repeat(32), 1],
    ['n'.repeat(33), 1],
    ['x'.repeat(160), 1],
    ['y'.repeat(161), 1, 'y'.repeat(160)],
    [`${'ż'.repeat(79)}aż`, 1, `${'ż'.repeat(79)}a`],
    ['ż'.repeat(100), 1, 'ż'.repeat(80)],
  ] as [given: string, rev: number, kept?: string][]) {
    const expect = { name: kept, ...listed(rev), whole: kept === given };
    names.push({ name: `file-${names.length}`, ...fields, given, text: fileName(given, rev), expect });
  }
  const text = fileName('raport.txt', 1);
  const first = text[0] === 'A' ? 'B' : 'A';
  const sealedRaw = (flag: number, ...name: number[]) => {
    const plain = new Uint8Array(15 + 32);
    plain.set([flag, 0, 0, 0, 1, 0, 0, 0, 1]);
    plain.set(name, 15);
    return sealName('file', master, bound, plain);
  };
  const nameFaults: [string, Partial<NameVector>][] = [
    ['not-utf8', { text: sealedRaw(0, 0x61, 0xc5) }],
    ['flag', { text: sealedRaw(2, 0x61) }],
    ['too-short', { text: sealName('file', master, bound, new Uint8Array(46)) }],
    ['sha256', { total_sha256: '0'.repeat(64) }],
    ['sha256-not-hex', { total_sha256: 'x'.repeat(64) }],
    ['size', { size: 1235 }],
    ['count', { chunk_count: 4 }],
    ['key', { key: masters[1]!.key.toHex() }],
    ['iv', { text: first + text.slice(1) }],
    ['end', { text: `${text.slice(0, -4)}AAAA` }],
    ['shorter', { text: text.slice(0, -4) }],
    ['padding', { text: `${text}=` }],
    ['plain', { text: 'raport.txt' }],
    ['plain-letters', { text: 'CertificateOfIncorporationAndOtherPapersOfTheYear2026OfTheCompany' }],
    ['empty', { text: '' }],
    ['as-directory', { kind: 'dir' }],
  ];
  for (const [name, fault] of nameFaults)
    names.push({ name: `file-${name}`, ...fields, text, ...fault, expect: null });
  // More volumes than a file can have: bound or not, it is no sealed name.
  const many = sealName(
    'file',
    master,
    boundTo(Uint8Array.fromHex(total), 1234, 10_001),
    namePlain('raport.txt', listed(1)),
  );
  const most = sealName(
    'file',
    master,
    boundTo(Uint8Array.fromHex(total), 1234, 10_000),
    namePlain('raport.txt', listed(1)),
  );
  names.push(
    { name: 'file-10001-volumes', ...fields, chunk_count: 10_001, text: many, expect: null },
    {
      ...{ name: 'file-10000-volumes', ...fields, chunk_count: 10_000, text: most },
      expect: { name: 'raport.txt', ...listed(1), whole: true },
    },
  );
  const noRecord = { rev: 0, gen: 0, added: 0, whole: true };
  for (const given of ['a', 'Zdjęcia', 'd'.repeat(32)]) {
    const dir = { kind: 'dir', text: dirName(master, given) } as const;
    const name = `dir-${given.length}`;
    names.push(
      { name, ...dir, key: master.toHex(), given, expect: { name: given, ...noRecord } },
      { name: `${name}-key`, ...dir, key: masters[1]!.key.toHex(), expect: null },
    );
  }
  names.push({
    name: 'dir-unpadded',
    kind: 'dir',
    key: master.toHex(),
    text: sealName('dir', master, new Uint8Array(0), Buffer.from('Zdjęcia')),
    expect: null,
  });
  return names;
}
