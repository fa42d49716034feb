/** Symbolic links in a zip of one's own folder, made by the page's worker from a real service and unpacked by a program that others wrote. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bytesSource } from '@szafa/client/node';
import { engine, newUser, quick, type Service, startService, transport } from '../../client/test/service.ts';
import { FileIndex } from '../../web/src/files/file-index.worker.ts';
import { zippedFiles } from '../../web/src/transfers/zip/zipped-files.worker.ts';

let service: Service;
const folder = mkdtempSync(join(tmpdir(), 'szafa-links-'));
before(async () => {
  service = await startService();
});
after(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
  transport.close();
  await engine.close();
});

/** Each with its target; those that are empty are files. */
const THERE = {
  'box/deep/file': '',
  'box/near': 'deep/file',
  'box/deep/up': '../near',
  'box/deep/folder': './../deep',
  top: 'box/near',
};
const LEFT_OUT = {
  'box/absolute': '/etc/passwd',
  'box/out': '../other',
  'box/deep/around': 'folder/../../../x',
  'box/windows': 'C:\\Windows',
  'box/share': '\\\\host\\share',
};

test('links within their folder come out of a zip as links; those that lead elsewhere are left out and counted', async () => {
  const szafa = await newUser(service.url, { engine: quick });
  for (const [path, link] of Object.entries({ ...THERE, ...LEFT_OUT })) {
    const bytes = Buffer.from(link === '' ? 'content' : '');
    await szafa.upload(bytesSource(bytes), { path, ...(link !== '' && { link }) });
  }
  const fileIndex = new FileIndex(() => szafa);
  const { items } = await fileIndex.list();
  const parts = items.map(({ fileId, path }) => ({ fileId, path }));
  let left = 0;
  const pieces: Uint8Array[] = [];
  for await (const piece of zippedFiles(
    { name: 'all.zip', parts },
    (fileId, signal) => fileIndex.openOnce(fileId, signal),
    AbortSignal.timeout(60_000),
    () => {},
    () => left++,
  )) {
    pieces.push(piece.slice());
  }
  assert.equal(left, Object.keys(LEFT_OUT).length);
  writeFileSync(join(folder, 'all.zip'), Buffer.concat(pieces));
  const kinds = execFileSync('unzip', ['-Z', join(folder, 'all.zip')], { encoding: 'utf8' });
  assert.match(kinds, /^-[^\n]*\n(l[^\n]*\n){4}\d/m, 'the links are behind the file');
  execFileSync('unzip', ['-q', join(folder, 'all.zip'), '-d', join(folder, 'out')]);
  const lines = execFileSync('find', [join(folder, 'out'), '-not', '-type', 'd', '-printf', '%P\\t%l\\n']);
  const found = lines
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  assert.deepEqual(Object.fromEntries(found), THERE);
  assert.equal(readFileSync(join(folder, 'out', 'top'), 'utf8'), 'content');
});
