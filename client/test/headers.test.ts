/** Headers kept between sessions: what a list and the cache tell costs no request, and what the cache tells is never believed. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { fromUtf8, labels, openShort, sealShort, utf8 } from '@szafa/format';
import { bytesSource, type Listed, type Szafa } from '../src/index.ts';
import { fileHeaders, fileRevs } from '../src/node/index.ts';
import { type HostileProxy, isVolume, startProxy } from './proxy.ts';
import { content, engine, newUser, type Service, sameUser, startService } from './service.ts';

let service: Service;
let proxy: HostileProxy;
before(async () => {
  service = await startService();
  proxy = await startProxy(service.url);
});
after(async () => {
  await proxy.stop();
  await service.stop();
});

const newFolder = () => mkdtempSync(join(service.folder, 'headers-'));
/** Its one database. */
const fileIn = (folder: string) =>
  join(folder, readdirSync(folder).find((name) => name.startsWith('headers-') && name.endsWith('.db'))!);
const rowsIn = (folder: string) => {
  const db = new DatabaseSync(fileIn(folder));
  try {
    return Number(db.prepare('SELECT count(*) AS n FROM headers').get()!['n']);
  } finally {
    db.close();
  }
};

/** What a run with this cache asks for the headers of all files, and the names and times that they have. */
async function run(szafa: Szafa, folder: string) {
  const headers = fileHeaders(folder, service.url);
  const session = await sameUser(szafa, proxy.url, { headers, revs: fileRevs(folder, service.url) });
  const from = proxy.requests.length;
  try {
    const versions = await session.versions(await session.list());
    const asked = proxy.requests.slice(from).filter(({ path }) => isVolume(path)).length;
    return { asked, versions, names: versions.map(({ metadata }) => metadata?.name).toSorted() };
  } finally {
    headers.close();
  }
}

async function withFiles(names: string[]): Promise<Szafa> {
  const szafa = await newUser(service.url);
  for (const [at, name] of names.entries()) await szafa.upload(bytesSource(content(10 + at)), { path: name });
  return szafa;
}

test('a header is asked for once; a file of our own never, nor one whose name is too long for the list', async () => {
  const folder = newFolder();
  const long = 'long '.repeat(100);
  const szafa = await withFiles(['a', 'b', long]);
  assert.deepEqual((await run(szafa, folder)).names, ['a', 'b', long]);
  const again = await run(szafa, folder);
  assert.equal(again.asked, 0);
  assert.deepEqual(again.names, ['a', 'b', long]);
  const headers = fileHeaders(folder, service.url);
  const own = await sameUser(szafa, service.url, { headers });
  await own.upload(bytesSource(content(5)), { path: 'c' });
  await own.upload(bytesSource(content(5)), { path: 'plain', plainName: true });
  headers.close();
  const third = await run(szafa, folder);
  assert.equal(third.asked, 0);
  assert.deepEqual(third.names, ['a', 'b', 'c', long, 'plain']);
  assert.equal(statSync(fileIn(folder)).mode & 0o777, 0o600);
  const bytes = readFileSync(fileIn(folder)).toString('latin1');
  assert.ok(!bytes.includes('plain') && !bytes.includes('long long'), 'only sealed bytes and digests');
});

test('a header of another record is none: a changed name, swapped headers, a changed byte', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a', 'b', 'c']);
  const { versions } = await run(szafa, folder);
  const [one, two, three] = versions.map(({ entry }) => entry.fileId) as [string, string, string];
  const db = new DatabaseSync(fileIn(folder));
  const paramsOf = (id: string) =>
    db.prepare('SELECT params FROM headers WHERE file_id = ?').get(id)!['params'];
  const params = String(paramsOf(one));
  db.prepare('UPDATE headers SET params = ? WHERE file_id = ?').run(String(paramsOf(two)), one);
  const parsed = JSON.parse(String(paramsOf(two))) as { mac: string };
  const changed = { ...parsed, mac: `${parsed.mac.startsWith('A') ? 'B' : 'A'}${parsed.mac.slice(1)}` };
  db.prepare('UPDATE headers SET params = ? WHERE file_id = ?').run(JSON.stringify(changed), two);
  db.prepare("UPDATE headers SET params = 'null' WHERE file_id = ?").run(three);
  db.close();
  const repaired = await run(szafa, folder);
  assert.deepEqual([repaired.asked, repaired.names], [3, ['a', 'b', 'c']]);
  assert.equal((await run(szafa, folder)).asked, 0);
  // The record that a header was seen beside is part of the question.
  const headers = fileHeaders(folder, service.url);
  const cache = headers.of(szafa.username);
  const record: Listed = versions[0]!.entry.record;
  const { mac } = JSON.parse(params) as { mac: string };
  assert.equal((await cache.load(record))?.['mac'], mac);
  assert.equal(await cache.load({ ...record, file_name: 'renamed' }), undefined);
  assert.equal(await cache.load({ ...record, sha256: '0'.repeat(64) }), undefined);
  headers.close();
});

test('a header that was opened once is known without its keys, beside its own record only', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a', 'b']);
  await szafa.upload(bytesSource(content(7)), { path: 'c', mtime: 1234, mode: 0o640, source: '/from/here' });
  // The first asks, the second opens what was kept.
  const [first] = [await run(szafa, folder), await run(szafa, folder)];
  const db = new DatabaseSync(fileIn(folder));
  type Kept = { mac: string; summary?: string };
  const ids = first.versions.map(({ entry }) => entry.fileId);
  const kept = () =>
    ids.map((id) => {
      const row = db.prepare('SELECT params FROM headers WHERE file_id = ?').get(id)!;
      return JSON.parse(String(row['params'])) as Kept;
    });
  const keep = (changed: Kept[]) => {
    const update = db.prepare('UPDATE headers SET params = ? WHERE file_id = ?');
    for (const [at, id] of ids.entries()) update.run(JSON.stringify(changed[at]), id);
  };
  const whole = kept();
  // Nothing but the summary can tell these.
  keep(whole.map((params) => ({ ...params, mac: whole[0]!.mac.toUpperCase() })));
  const known = await run(szafa, folder);
  assert.equal(known.asked, 0);
  const shown = ({ versions }: typeof known) =>
    versions.map(({ entry, metadata }) => ({ id: entry.fileId, metadata }));
  assert.deepEqual(shown(known), shown(first));
  // One of another file, or a changed one, is none: then the header itself is opened.
  const [a, b, c] = whole as [Kept, Kept, Kept];
  const flipped = `${c.summary!.slice(0, -40)}${c.summary!.at(-40) === 'A' ? 'B' : 'A'}${c.summary!.slice(-39)}`;
  const foreign: Kept[] = [
    { ...a, summary: b.summary! },
    { ...b, summary: a.summary! },
    { ...c, summary: flipped },
  ];
  keep(foreign);
  const opened = await run(szafa, folder);
  assert.deepEqual([opened.asked, shown(opened)], [0, shown(first)]);
  assert.deepEqual(kept(), whole, 'and kept anew');
  keep(foreign.map((params) => ({ ...params, mac: a.mac.toUpperCase() })));
  const asked = await run(szafa, folder);
  assert.deepEqual([asked.asked, shown(asked)], [3, shown(first)]);
  db.close();
});

test('a summary by a client that knew fewer fields of the metadata is none', async () => {
  const folder = newFolder();
  const szafa = await newUser(service.url);
  await szafa.upload(bytesSource(content(7)), { path: 'a', mode: 0o640 });
  const [first] = [await run(szafa, folder), await run(szafa, folder)];
  const { entry, metadata } = first.versions[0]!;
  const { mode: _, ...fewer } = metadata!;
  const { key } = await szafa.keys.current();
  const db = new DatabaseSync(fileIn(folder));
  const params = JSON.parse(String(db.prepare('SELECT params FROM headers').get()!['params'])) as {
    summary: string;
  };
  const opened = await openShort(engine, key, labels.summary, params.summary);
  const { of, fileId } = JSON.parse(fromUtf8(opened!)) as { of: string; fileId: string };
  const { file_id, file_name, sha256, size, chunk_count } = entry.record;
  const bound = [file_id, file_name, sha256, size, chunk_count];
  const known = (JSON.parse(of) as unknown[]).slice(bound.length).map((fields) => Number(fields) - 1);
  const text = JSON.stringify({ of: JSON.stringify([...bound, ...known]), fileId, metadata: fewer });
  const summary = await sealShort(engine, key, labels.summary, utf8(text));
  db.prepare('UPDATE headers SET params = ?').run(JSON.stringify({ ...params, summary }));
  db.close();
  const later = await run(szafa, folder);
  assert.deepEqual([later.asked, later.versions[0]!.metadata], [0, metadata]);
});

test('a list of before a new name that was seen here: what is kept beside the old one is not taken', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a']);
  let replayed: Buffer | undefined;
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    replayed ??= body;
    return { body: replayed };
  };
  for (const asked of [1, 0, 0]) assert.equal((await run(szafa, folder)).asked, asked);
  const [entry] = await szafa.list();
  await szafa.rename([{ entry: entry!, path: 'b' }]);
  const device = await sameUser(szafa, service.url, { revs: fileRevs(folder, service.url) });
  await device.list();
  const { versions } = await run(szafa, folder);
  proxy.hostility = () => undefined;
  const [{ problem, metadata } = {}] = versions;
  assert.deepEqual([problem?.code, metadata], ['tampered', undefined]);
});

test('a file with a plain name that another device moved has its new path, though the list has the same name', async () => {
  const folder = newFolder();
  const szafa = await newUser(service.url);
  await szafa.upload(bytesSource(content(7)), { path: 'here/plain', plainName: true });
  for (const asked of [1, 0, 0]) assert.equal((await run(szafa, folder)).asked, asked);
  const [entry] = await szafa.list();
  await szafa.rename([{ entry: entry!, path: 'there/plain' }]);
  const { versions } = await run(szafa, folder);
  assert.deepEqual(
    versions.map(({ entry: { path }, metadata }) => [path, metadata?.name]),
    [['there/plain', 'there/plain']],
  );
});

test('a file that is no database, or another one, or a folder, is an empty cache', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a']);
  await run(szafa, folder);
  const path = fileIn(folder);
  writeFileSync(path, 'this is no database '.repeat(500));
  assert.equal((await run(szafa, folder)).asked, 1);
  assert.equal((await run(szafa, folder)).asked, 0);
  rmSync(path);
  const other = new DatabaseSync(path);
  other.exec('CREATE TABLE headers (something)');
  other.close();
  assert.equal((await run(szafa, folder)).asked, 1);
  assert.equal((await run(szafa, folder)).asked, 0);
  rmSync(path);
  mkdirSync(path);
  for (let round = 0; round < 2; round++) assert.equal((await run(szafa, folder)).asked, 1);
});

test('of another account, or of another service, nothing is taken', async () => {
  const folder = newFolder();
  const [one, two] = [await withFiles(['a']), await withFiles(['b'])];
  await run(one, folder);
  const mine = fileIn(folder);
  await run(two, folder);
  const [theirs] = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => path !== mine);
  assert.ok(theirs, 'each account has a file of its own');
  // Even a row under the right id and record is only sealed bytes that do not open.
  const mineListed = (await run(one, folder)).versions[0]!.entry.record;
  const headers = fileHeaders(folder, service.url);
  const record = (await run(two, folder)).versions[0]!.entry.record;
  headers.of(two.username).save(record, (await headers.of(one.username).load(mineListed))!);
  headers.close();
  const again = await run(two, folder);
  assert.deepEqual([again.asked, again.names], [1, ['b']]);
  const elsewhere = fileHeaders(folder, 'https://elsewhere.example');
  assert.equal(await elsewhere.of(one.username).load(mineListed), undefined);
  elsewhere.close();
});

test('what a list no longer has goes, in its directory only; the oldest go beyond the bound', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a', 'b']);
  const dirId = await szafa.makeDir('dir');
  await szafa.upload(bytesSource(content(9)), { path: 'dir/c' });
  const { versions } = await run(szafa, folder);
  assert.equal(rowsIn(folder), 3);
  await szafa.remove(versions.find(({ metadata }) => metadata?.name === 'a')!.entry.fileId);
  const headers = fileHeaders(folder, service.url);
  const session = await sameUser(szafa, service.url, { headers });
  await session.list({ dirId });
  assert.equal(rowsIn(folder), 3);
  await session.list({ dirId: 0 });
  assert.equal(rowsIn(folder), 2);
  headers.close();
  const few = fileHeaders(folder, service.url, { most: 2 });
  const cache = few.of('somebody');
  const listed = (id: string): Listed => ({ file_id: id, file_name: id, sha256: id, dir_id: null });
  for (const id of ['1', '2', '3']) cache.save(listed(id), { id });
  few.close();
  const found = ['1', '2', '3'].map((id) => few.of('somebody').load(listed(id)));
  assert.deepEqual(found, [undefined, { id: '2' }, { id: '3' }]);
  few.close();
});

test('two processes with one cache: while one writes, the other does without, and both end well', async () => {
  const folder = newFolder();
  const szafa = await withFiles(['a', 'b']);
  await run(szafa, folder);
  const other = new DatabaseSync(fileIn(folder));
  other.exec('BEGIN EXCLUSIVE');
  const meanwhile = await run(szafa, folder);
  assert.deepEqual([meanwhile.asked, meanwhile.names], [2, ['a', 'b']]);
  other.exec('COMMIT');
  other.close();
  const both = await Promise.all([run(szafa, folder), run(szafa, folder)]);
  assert.deepEqual(
    both.map(({ names }) => names),
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  );
  assert.equal((await run(szafa, folder)).asked, 0);
  assert.equal(rowsIn(folder), 2);
});
