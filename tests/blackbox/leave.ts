/** Accounts that are deleted, and what is left of them in both stores. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { readConfig } from '../../server/src/config.ts';
import type { SqlStore } from '../../server/src/platform/sql/sql.ts';
import type { VolumeStore } from '../../server/src/platform/volumes/store.ts';
import { newProcessName, openDatabase, openVolumes } from '../../server/src/stores.ts';
import { eventually, storeEnvironment, type User, useService } from '../harness/index.ts';

export const service = useService({ env: { SZ_SWEEP_INTERVAL: '1' } });
export const leave = (user: User, password: unknown = user.password) =>
  user.call('DELETE', pathOf('leave'), { json: { password } });
export const logIn = ({ username, password }: User) =>
  service.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
export const me = (user: User) => user.get(pathOf('me'));

export let sql: SqlStore;
export let volumes: VolumeStore;
/** Both stores beside the service, for the tests of one describe. */
export function useStores(): void {
  before(async () => {
    const config = readConfig({ SZ_DATA: service.data, ...process.env, ...storeEnvironment(service.id) });
    sql = await openDatabase(config);
    volumes = openVolumes(config, newProcessName());
  });
  after(() => sql.close());
}

export const idOf = async ({ username }: User) => {
  const text = 'SELECT account_id FROM accounts WHERE username = ?';
  return String((await sql.query<{ account_id: string }>(text, username))[0]!.account_id);
};
export const groupsOf = async ({ username }: User) => {
  const text = `SELECT file_id FROM files WHERE owner = ?
    UNION SELECT file_id FROM transfers WHERE creator = ? OR owner = ?
    UNION SELECT file_id FROM garbage WHERE owner = ?`;
  const rows = await sql.query<{ file_id: string }>(text, ...Array<string>(4).fill(username));
  return rows.map(({ file_id }) => file_id);
};

/** Nothing of it is left in the database but what happened to it; a while later nothing in the store either. */
export async function assertGone(user: User, accountId: string, groups: string[]): Promise<void> {
  const { username } = user;
  for (const [table, column] of [
    ...[
      ['accounts', 'username'],
      ['sessions', 'username'],
      ['login_failures', 'username'],
      ['dirs', 'owner'],
    ],
    ...[
      ['files', 'owner'],
      ['usage', 'owner'],
      ['transfers', 'creator'],
      ['transfers', 'owner'],
    ],
    ...[['garbage', 'owner']],
  ]) {
    // One that is done is its file's, whoever began it.
    const only = table === 'transfers' ? "AND NOT (status = 'done' AND owner <> creator)" : '';
    const text = `SELECT COUNT(*) AS count FROM ${table} WHERE ${column} = ? ${only}`;
    const [row] = await sql.query<{ count: number }>(text, username);
    assert.equal(Number(row!.count), 0, `${table}.${column}`);
  }
  for (const table of ['accounts', 'sessions', 'recovery_tokens']) {
    assert.deepEqual(await sql.query(`SELECT 1 FROM ${table} WHERE account_id = ?`, accountId), [], table);
  }
  await eventually(async () => {
    assert.equal(await volumes.account(accountId), undefined, 'its document');
    const text = 'SELECT 1 FROM account_documents WHERE account_id = ?';
    assert.deepEqual(await sql.query(text, accountId), []);
    for (const id of groups) {
      assert.deepEqual(await volumes.list(id), [], `the volumes of ${id}`);
      assert.equal(await volumes.hasManifest(id), false, `the manifest of ${id}`);
      for (const table of ['garbage', 'files', 'transfers', 'volume_blocks', 'streamed_volumes'])
        assert.deepEqual(await sql.query(`SELECT 1 FROM ${table} WHERE file_id = ?`, id), [], table);
    }
  }, 40_000);
}

export async function actions(username: string): Promise<string[]> {
  const text = 'SELECT action FROM audit_log WHERE account = ? ORDER BY seq';
  return (await sql.query<{ action: string }>(text, username)).map(({ action }) => action);
}
