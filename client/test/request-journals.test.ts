/** What a visitor remembers of uploads by a request, on a real service: nothing is counted twice, and nothing stays counted that nobody can go on with. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { RequestVisit, type Szafa, webEngine } from '../src/index.ts';
import { fileJournal, fileSource } from '../src/node/index.ts';
import { proxy, service } from './hostile.ts';
import { content, newUser, optionsFor, quick, readAll } from './service.ts';

const { server: _, ...visiting } = optionsFor('', { engine: webEngine() });

/** A request for one file, the file, and a visitor's journal. */
async function setUp(name: string) {
  const owner = await newUser(service.url, { engine: quick });
  const { link } = await owner.requestLink({ folder: 'in', files: 1, size: 100_000 });
  const path = join(service.folder, name);
  const bytes = content(24_000, 7);
  writeFileSync(path, bytes);
  const journal = fileJournal(join(service.folder, `${name} journal`));
  const visit = await RequestVisit.begin(link.replace(service.url, proxy.url), visiting);
  const send = async (onWait?: () => void) => {
    const source = await fileSource(path);
    try {
      return await visit.upload(source, { name, volumeSize: 4096, parallel: 1, journal, onWait });
    } finally {
      await source.close();
    }
  };
  return { owner, visit, path, bytes, journal, send };
}

const uploading = async (owner: Szafa) => (await owner.requests())[0]!.uploading;

async function taken(owner: Szafa): Promise<Uint8Array> {
  const [delivery, ...none] = await owner.deliveries();
  assert.deepEqual(none, []);
  await owner.takeOver(delivery!);
  const [entry] = await owner.list();
  return readAll((await owner.openFile(entry!.fileId)).stream());
}

/** The service begins the upload, and the visitor never hears of it. */
async function lostAnswer(send: () => Promise<unknown>): Promise<void> {
  proxy.hostility = ({ path }) => (path.endsWith('/uploads') ? 'cut' : undefined);
  try {
    await assert.rejects(send(), { code: 'network' });
  } finally {
    proxy.hostility = () => undefined;
  }
}

test('an upload that was begun without the visitor hearing of it is the same one later', async () => {
  const { owner, bytes, send } = await setUp('unheard');
  await lostAnswer(send);
  assert.equal(await uploading(owner), 1);
  await send();
  assertBytes(await taken(owner), bytes);
});

test('one that was begun unheard can be given up, and is begun anew where the file is another by then', async () => {
  const { owner, visit, path, journal, send } = await setUp('changed');
  await lostAnswer(send);
  assert.equal(await visit.storedOf(journal, { place: path, name: 'changed' }), 0);
  await visit.abandon(journal, { place: path, name: 'changed' });
  assert.equal(await uploading(owner), 0);
  await lostAnswer(send);
  const other = content(9000, 3);
  writeFileSync(path, other);
  await send();
  assertBytes(await taken(owner), other);
});

test('what a request refused leaves nothing in the journal', async () => {
  const { journal, send } = await setUp('refused');
  await send();
  await assert.rejects(send(), { code: 'link-over', why: 'full' });
  assert.deepEqual(await journal.keys!(), []);
});

test('of two that upload one file by one link, with one journal, the second waits, and goes on if the first fails', async () => {
  const { owner, bytes, send } = await setUp('twice');
  const waits = Promise.withResolvers<void>();
  let [volumes, waited] = [0, false];
  proxy.before = async (method) => {
    if (method !== 'PUT' || ++volumes < 3) return undefined;
    // Sent by the second, which ought to wait: the third is held.
    if (volumes > 3) waits.resolve();
    await waits.promise;
    return 'cut';
  };
  const first = send();
  // Not before the first one is at work.
  while (volumes < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  const second = send(() => {
    waited = true;
    waits.resolve();
  });
  const goOn = () => waits.resolve();
  second.then(goOn, goOn);
  await assert.rejects(first, { code: 'network' });
  proxy.before = undefined;
  assert.ok(waited);
  assert.ok((await second).resumed >= 2);
  assertBytes(await taken(owner), bytes);
});
