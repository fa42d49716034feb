/** Directories and sessions are limited, and a long list of them holds up nobody else. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import { assertError, assertOk, register, type User, useService } from '../harness/index.ts';

const service = useService({ env: { SZ_WORKERS: '1' } });
const random = (bytes: number) => randomBytes(bytes).toString('hex');

/** Rows as the API makes them, without their price. */
function insert(text: string, rows: (string | number)[][]): void {
  const database = new DatabaseSync(join(service.data, 'szafa.db'), { timeout: 20_000 });
  try {
    const statement = database.prepare(text);
    database.exec('BEGIN IMMEDIATE');
    for (const row of rows) statement.run(...row);
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}

function insertDirs({ username }: User, count: number): void {
  const rows = Array.from({ length: count }, () => [username, random(24), 1]);
  insert('INSERT INTO dirs (owner, name, created_at) VALUES (?, ?, ?)', rows);
}

test('an account has a number of directories, however many it makes at once', async () => {
  const user = await register(service);
  insertDirs(user, limits.dirs - 3);
  const create = () => user.post(pathOf('createDir'), { name: random(8) });
  const answers = await Promise.all(Array.from({ length: 10 }, create));
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 7);
  for (const answer of refused) {
    assertError(answer, 409);
    assert.match(answer.text, /too many directories/);
  }
  const listed = await user.get(pathOf('listDirs'));
  const dirs = listed.json['dirs'] as { dir_id: number; name: string }[];
  assert.equal(new Set(dirs.map(({ dir_id }) => dir_id)).size, limits.dirs);
  assert.deepEqual(
    dirs.map(({ dir_id }) => dir_id),
    dirs.map(({ dir_id }) => dir_id).sort((a, b) => a - b),
  );
  const { dir_id } = dirs[0]!;
  assertOk(await user.delete(pathOf('deleteDir', { dir_id })));
  assertOk(await create());
});

test('while a long list is read, others are answered', async () => {
  const user = await register(service);
  insertDirs(user, 60_000);
  let done = false;
  const list = user.get(pathOf('listDirs')).finally(() => {
    done = true;
  });
  let meanwhile = 0;
  while (!done) {
    assertOk(await service.call({ method: 'GET', path: '/healthz' }));
    if (!done) meanwhile++;
  }
  assertOk(await list);
  // One synchronous read would let at most the first one through.
  assert.ok(meanwhile >= 5, `${meanwhile} were answered`);
});

test('a login too many ends the longest unused session', async () => {
  const user = await register(service);
  const before = await user.get(pathOf('listSessions'));
  const [own] = before.json['sessions'] as { id: string }[];
  const now = Date.now();
  const rows = Array.from({ length: 1200 }, (_, at) => [random(32), random(16), now - 10_000 - at, own!.id]);
  insert(
    `INSERT INTO sessions (token_hash, id, used_at, username, account_id, device, created_at, scope)
     SELECT ?, ?, ?, username, account_id, '', created_at, scope FROM sessions WHERE id = ?`,
    rows,
  );
  const { username, password } = user;
  const json = { username, password, device: 'latest' };
  const answer = await service.call({ method: 'POST', path: pathOf('login'), json });
  assertOk(answer);
  const after = await user.get(pathOf('listSessions'));
  const sessions = after.json['sessions'] as { id: string; device: string }[];
  assert.equal(sessions.length, limits.sessions);
  assert.equal(sessions.filter(({ device }) => device === 'latest').length, 1);
  const ids = new Set(sessions.map(({ id }) => id));
  assert.ok(ids.has(own!.id) && ids.has(String(rows[0]![1])) && !ids.has(String(rows.at(-1)![1])));
});
