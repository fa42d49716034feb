/** What accounts share with each other, where the page's worker decides: what is shown of keys, and what counts as a download. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenedLink, webEngine } from '@szafa/client';
import { Api } from '../../client/src/call.ts';
import { contactRow, ownOrReceived } from '../../web/src/sharing/received.worker.ts';
import { SharedDownload } from '../../web/src/sharing/shared-files.worker.ts';
import type { ReadableFile } from '../../web/src/transfers/file-opener.worker.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('of keys that are not those of before nothing is shown that could be typed in again', () => {
  const keys = { username: 'ada', fingerprint: '12345 '.repeat(12).trim() };
  assert.deepEqual(contactRow({ ...keys, state: 'changed' }), { username: 'ada', state: 'changed' });
  for (const state of ['known', 'verified'] as const)
    assert.deepEqual(contactRow({ ...keys, state }), { ...keys, state });
});

test('a file that is shared comes from where it is shared, and an own one from the account', async () => {
  const from = (name: string) => ({
    open: async (id: string) => `${name} ${id}` as unknown as ReadableFile,
    openOnce: async (id: string) => `${name} ${id} once` as unknown as ReadableFile,
  });
  const files = ownOrReceived(from('own'), from('received'));
  const { signal } = new AbortController();
  assert.equal(await files.open('0f8b'), 'own 0f8b');
  assert.equal(await files.open('share/1'), 'received share/1');
  assert.equal(await files.openOnce('0f8b', signal), 'own 0f8b once');
  assert.equal(await files.openOnce('share/2', signal), 'received share/2 once');
});

test('all that is read of a share is one download, until its ticket ends or could not be taken', async (t) => {
  const engine = webEngine();
  const api = new Api({ server: 'http://127.0.0.1:1' });
  const taken: string[] = [];
  let left = DAY_MS;
  let fails = true;
  const take = async ({ body: { ticket } }: { body: { ticket: string } }) => {
    taken.push(ticket);
    if (fails) throw new Error('no answer');
    return { expires_at: new Date(Date.now() + left).toISOString() };
  };
  const file = {
    ...{ name: 'a', fileId: new Uint8Array(16), fileKey: new Uint8Array(32), totalSha256: '0'.repeat(64) },
    layout: { size: 1, padded: 1, volumeSize: 1, lateVolumeSize: 1, count: 1 },
  };
  const opened = new OpenedLink({ api, engine, id: 'x', take }, [file as never], undefined, new Set());
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const download = new SharedDownload(opened, 'ticket');
  await assert.rejects(download.file(1), /no answer/);
  fails = false;
  await Promise.all([download.file(1), download.file(1)]);
  await download.file(1);
  assert.deepEqual(taken, ['ticket', 'ticket']);
  now += HOUR_MS - 1;
  await download.file(1);
  assert.equal(taken.length, 2);
  now += 1;
  left = 10 * 60_000;
  await download.file(1);
  assert.equal(taken.length, 3);
  // One that was taken a day ago, before a reload, ends within the hour.
  now += left - 59_000;
  await download.file(1);
  assert.equal(taken.length, 4, 'it is taken again before it ends');
});
