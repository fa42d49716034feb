import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { limits } from '@szafa/protocol';
import { insertFile } from '../src/files/file-changes-table.ts';
import { fileList, readPage, streamList } from '../src/files/file-list.ts';
import { Metadata } from '../src/metadata.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { migrate } from '../src/schema.ts';
import { toFile } from '../src/transfers/create-transfer.ts';
import { toTransfer } from '../src/transfers/transfer-rows.ts';
import { fresh, NOW, newId, newTransfer } from './metadata.fixture.ts';

const COUNT = 5500;
let folder = '';
let metadata: Metadata;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'szafa-list-'));
  const sql = new SqliteStore(join(folder, 'szafa.db'));
  await migrate(sql);
  await sql.transaction(async (tx) => {
    for (let at = 0; at < COUNT; at++) {
      const ids = { transferId: fresh('t'), fileId: newId(), creator: 'ann', now: NOW };
      await insertFile(tx, toFile(toTransfer(newTransfer(), ids, 'done'), NOW));
    }
  });
  metadata = new Metadata(sql);
});
after(async () => {
  await metadata.close();
  await rm(folder, { recursive: true, force: true });
});

test('a page is bounded whatever is asked for, and the next one goes on from there', async () => {
  const seen = new Set<string>();
  for (let cursor: string | undefined, pages = 0; ; pages++) {
    const page = await readPage(fileList(metadata.files, 'ann', {}), {
      limit: '999999',
      ...(cursor ? { cursor } : {}),
    });
    assert.ok(page.files.length <= limits.listPage);
    for (const file of page.files) seen.add(file.file_id);
    cursor = page.next_cursor;
    if (cursor === undefined) break;
    assert.ok(pages < 10);
  }
  assert.equal(seen.size, COUNT);
});

test('others are served between the pages of a whole list, however fast it is read', async () => {
  let turns = 0;
  let running = true;
  const turn = () => {
    turns++;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  let text = '';
  for await (const part of await streamList(fileList(metadata.files, 'ann', {}), {})) text += part;
  running = false;
  assert.equal((JSON.parse(text) as { files: unknown[] }).files.length, COUNT);
  assert.ok(turns >= COUNT / limits.listPage - 1, `${turns} turns of the event loop`);
});
