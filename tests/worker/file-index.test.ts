/** What the page's worker opens, and what it writes to disk: only what was listed, only what was verified. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { nodeEngine, type Szafa } from '@szafa/client/node';
import type { FileVector } from '../../format/vectors/kinds.ts';
import { runFile } from '../../format/vectors/vectors.ts';
import { FileIndex } from '../../web/src/files/file-index.worker.ts';
import { Transfers } from '../../web/src/transfers/transfers.worker.ts';

const engine = nodeEngine({ threads: 1 });
after(() => engine.close());

/** Records what it is asked to open. */
function cabinetOf(names: Record<string, string>) {
  const opened: unknown[] = [];
  let failures = 0;
  const szafa = {
    list: async () =>
      Object.entries(names).map(([fileId, name]) => ({
        fileId,
        path: name,
        name,
        verified: true,
        size: 1,
        dirId: null,
        createdAt: '2026-01-01T00:00:00Z',
        record: { file_id: fileId, file_name: name },
      })),
    dirs: async () => [],
    quota: async () => ({}),
    api: { call: async () => ({ rev: '1' }) },
    openFile: async (fileId: string, { record }: { record: unknown }) => {
      opened.push(record);
      if (failures-- > 0) throw new Error('lost');
      return { fileId, metadata: { name: fileId, size: 1 } };
    },
  } as unknown as Szafa;
  const fail = (times: number) => {
    failures = times;
  };
  return { fileIndex: new FileIndex(() => szafa), opened, fail };
}

test('a file is opened as the list shows it, once; one that is not listed is not opened', async () => {
  const names: Record<string, string> = { f: 'sealed' };
  const { fileIndex, opened, fail } = cabinetOf(names);
  await assert.rejects(fileIndex.open('f'), { code: 'gone' });
  await fileIndex.list();
  fail(1);
  await assert.rejects(fileIndex.open('f'), /lost/);
  await fileIndex.open('f');
  await fileIndex.open('f');
  const record = { file_id: 'f', file_name: 'sealed' };
  assert.deepEqual(opened, [record, record], 'tried again after a failure, and kept then');
  names['f'] = 'another name';
  await fileIndex.list();
  await fileIndex.open('f');
  assert.deepEqual(opened.at(-1), { file_id: 'f', file_name: 'another name' });
  delete names['f'];
  await fileIndex.list();
  await assert.rejects(fileIndex.open('f'), { code: 'gone' });
  names['f'] = 'sealed';
  await fileIndex.list();
  fileIndex.clear();
  await assert.rejects(fileIndex.open('f'), { code: 'gone' });
});

test('a list that comes for an account that has left is not kept for the next', async () => {
  const listed = Promise.withResolvers<void>();
  const parts = {
    dirs: async () => [],
    quota: () => listed.promise,
    api: { call: async () => ({ rev: '1' }) },
  };
  const entry = {
    fileId: 'f',
    path: 'of the first',
    size: 1,
    verified: true,
    createdAt: '2026-01-01T00:00:00Z',
  };
  let now = { ...parts, list: async () => [entry] } as unknown as Szafa;
  const fileIndex = new FileIndex(() => now);
  const late = fileIndex.list();
  fileIndex.clear();
  now = { ...parts, list: async () => [] } as unknown as Szafa;
  listed.resolve();
  await assert.rejects(late, { code: 'locked' });
  assert.equal(fileIndex.tree.file('of the first'), undefined);
});

test('names that could speak to a page are cleaned in the list', async () => {
  const { fileIndex } = cabinetOf({ f: 'a\u202eb\nc' });
  assert.equal((await fileIndex.list()).items[0]?.name, 'a\ufffdb\ufffdc');
});

const vectors = JSON.parse(
  readFileSync(new URL('../../format/vectors/files.json', import.meta.url), 'utf8'),
) as FileVector[];

/** Saves a file of the vectors; what the browser was asked to do. */
async function saved(vector: FileVector) {
  const asked: string[] = [];
  const written: Uint8Array[] = [];
  const handle = {
    createWritable: async () => ({
      write: async (bytes: Uint8Array) => void written.push(bytes.slice()),
      close: async () => void asked.push('close'),
      abort: async () => void asked.push('abort'),
    }),
  } as unknown as FileSystemFileHandle;
  const transfers = new Transfers(assert.fail, () => {});
  const outcome = await runFile(engine, vector, async (remote) => {
    await transfers.save('id', (signal) => remote.pieces({ signal }), handle);
    return new Uint8Array(Buffer.concat(written));
  });
  return { outcome, asked };
}

test('a saved file gets its name when everything was verified, and none otherwise', async () => {
  const good = vectors.find(({ expect, volumes }) => 'plain' in expect && volumes.length > 2)!;
  assert.deepEqual(await saved(good), { outcome: good.expect, asked: ['close'] });
  const bad = vectors.find(({ name }) => name === 'digest-total')!;
  assert.deepEqual(await saved(bad), { outcome: bad.expect, asked: ['abort'] });
});

test('a transfer that is stopped fails as stopped, whatever its work says, and only that one', async () => {
  const transfers = new Transfers(assert.fail, () => {});
  const work = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('of the network')), { once: true });
    });
  const [one, other] = [transfers.run('one', work), transfers.run('other', work)];
  other.catch(() => {}); // awaited below
  transfers.stop('one');
  await assert.rejects(one, { code: 'stopped' });
  assert.equal(await Promise.race([other.catch(() => 'ended'), Promise.resolve('runs')]), 'runs');
  transfers.stopAll();
  await assert.rejects(other, { code: 'stopped' });
  await assert.rejects(
    transfers.run('one', async () => Promise.reject(new Error('of its own'))),
    /of its own/,
  );
});

test('progress is told now and then, and always at an end', () => {
  const told: number[] = [];
  const transfers = new Transfers(assert.fail, ({ done }) => told.push(done));
  const tell = transfers.reporter('id');
  for (let done = 0; done <= 100; done += 10) tell({ done, total: 100 });
  assert.deepEqual(told, [0, 100]);
});
