import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { concat, labels, layoutOf, SALT_BYTES, seal, toBase64Url, u32, utf8 } from '@szafa/format';
import { fileJournal, readIfPresent, unfinishedDownloads } from '../src/node/index.ts';
import { uploadLog } from '../src/transfers/upload/journal.ts';
import { engine } from './service.ts';

const folder = mkdtempSync(join(tmpdir(), 'szafa-journal-'));
after(() => rmSync(folder, { recursive: true }));

test('a record that no upload writes, sealed by the right key, ends what is remembered there', async () => {
  const secrets = { fileId: engine.random(16), fileKey: engine.random(32) };
  const layout = layoutOf(3000, 1000);
  const state = { transferId: 'some', path: 'a', place: 'b', identity: 'c', layout, ...secrets };
  const master = engine.random(32);
  const volume = () => ({ salt: engine.random(SALT_BYTES), digest: engine.random(32) });
  const journal = fileJournal(join(folder, 'malformed'));
  const log = uploadLog(journal, 'key', engine, [master], state);
  const file = toBase64Url(secrets.fileId);
  for (const [about, record] of [
    ['not UTF-8', Uint8Array.of(0xff)],
    ['no JSON', utf8('{')],
    ['no object', utf8('null')],
    ['no base64url', utf8(JSON.stringify({ file, volume: 2, salt: 'A', digest: 'AAAA' }))],
    ['no text', utf8(JSON.stringify({ file, volume: 2 }))],
  ] as const) {
    const sealed = await seal(engine, master, labels.journal, record);
    const broken = concat(u32(sealed.length), sealed);
    await log.begin(state);
    await log.volume(1, volume());
    await journal.append('key', broken);
    const { state: remembered, volumes } = (await log.load())!;
    assert.deepEqual([remembered.transferId, [...volumes.keys()]], ['some', [1]], about);
    await log.volume(3, volume());
    assert.deepEqual([...(await log.load())!.volumes.keys()], [1, 3], 'what comes behind it is found again');
    await journal.store('key', broken);
    assert.equal(await log.load(), undefined, about);
  }
});

test('a state under which nothing could be sealed, asked for or opened again is none', async () => {
  const master = engine.random(32);
  const journal = fileJournal(join(folder, 'states'));
  const log = uploadLog(journal, 'key', engine, [master]);
  const state = {
    ...{ transfer_id: 'some', path: 'a', place: 'b', identity: 'c', size: 3000, volume_size: 1000 },
    file_id: toBase64Url(engine.random(16)),
    file_key: toBase64Url(engine.random(32)),
  };
  const loaded = async (changed: object) => {
    const sealed = await seal(
      engine,
      master,
      labels.journal,
      utf8(JSON.stringify({ state: { ...state, ...changed } })),
    );
    await journal.store('key', concat(u32(sealed.length), sealed));
    return log.load();
  };
  assert.equal((await loaded({}))?.state.transferId, 'some');
  for (const changed of [
    { file_id: 'AQID' },
    { file_key: 'AQID' },
    { file_key: toBase64Url(new Uint8Array(32)) },
    { transfer_id: undefined },
    { path: 5 },
    { place: null },
    { identity: {} },
    { volume_size: 0 },
  ]) {
    assert.equal(await loaded(changed), undefined, JSON.stringify(changed));
  }
});

test('a note of a download that no download wrote is none', async () => {
  const journal = fileJournal(join(folder, 'downloads'));
  const about = { fileId: 'a', path: 'b', target: '/c', size: 2, part: '/d', stored: 1 };
  const listed = async (note: unknown) => {
    await journal.store('0'.repeat(64), utf8(`szafa download\n${JSON.stringify(note)}\n`));
    return unfinishedDownloads(journal);
  };
  assert.deepEqual(await listed(about), [{ ...about, key: '0'.repeat(64) }]);
  for (const note of [
    null,
    5,
    [],
    {},
    { ...about, path: 5 },
    { ...about, part: null },
    { ...about, size: -1 },
  ]) {
    assert.deepEqual(await listed(note), [], JSON.stringify(note));
  }
});

for (const [what, make] of [
  ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path, { recursive: true })],
] as const) {
  test(`${what} where a file of ours should be is named, and not waited for`, {
    timeout: 5000,
  }, async (t) => {
    const at = (name: string) => join(folder, what, name);
    const isTold = (path: string) => ({
      code: 'in-the-way',
      message: `${path} is in the way: it is not a file`,
    });
    mkdirSync(at('journal'), { recursive: true });
    const key = '0'.repeat(64);
    make(at(`journal/${key}.journal`));
    // Whoever does wait has somebody at the other end then.
    const { O_RDWR, O_NONBLOCK } = constants;
    if (what === 'a pipe')
      t.after(() => closeSync(openSync(at(`journal/${key}.journal`), O_RDWR | O_NONBLOCK)));
    const journal = fileJournal(at('journal'));
    await assert.rejects(journal.load(key), isTold(at(`journal/${key}.journal`)));
    await assert.rejects(journal.append(key, utf8('x')), { syscall: 'open' });
    mkdirSync(at('claims'));
    make(at('claims/claims.db'));
    await assert.rejects(fileJournal(at('claims')).locks.take(['a']), isTold(at('claims/claims.db')));
    assert.equal(await readIfPresent(at('nothing')), undefined);
  });
}

test('what cannot be opened at all is named too: a socket, a link to itself', async (t) => {
  const [socket, loop] = [join(folder, 'socket'), join(folder, 'loop')];
  const server = createServer().listen(socket);
  t.after(() => server.close());
  await once(server, 'listening');
  symlinkSync('loop', loop);
  for (const path of [socket, loop]) {
    await assert.rejects(readIfPresent(path), {
      code: 'in-the-way',
      message: `${path} is in the way: it is not a file`,
    });
  }
});
