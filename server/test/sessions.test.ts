import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { routes } from '@szafa/protocol';
import { Accounts } from '../src/accounts/accounts.ts';
import { Sessions } from '../src/accounts/sessions.ts';
import { paths } from '../src/stores.ts';
import { InProcess } from './in-process.ts';

const TTL_MS = 1_600_000;
const ORIGIN = { network: '192.0.2.1', shared: false };

test('a token lives on while it is used and ends by itself, also where nobody sweeps', async (t) => {
  const { metadata, config } = (await InProcess.start(t)).services;
  let now = 1_000_000_000;
  const settings = { ...config, sessionTtlMs: TTL_MS };
  const accounts = new Accounts(metadata, settings, { now: () => now });
  const sessions = new Sessions(metadata, settings, 'system-token-of-a-test', () => now);
  const { token } = await accounts.register({ username: 'alice', password: 'correct horse battery' }, ORIGIN);
  const identify = () => sessions.identify(`Bearer ${token}`, routes.me, metadata.sessions.lookUp());
  for (let uses = 0; uses < 4; uses++) {
    now += TTL_MS * 0.9;
    assert.equal((await identify()).caller.username, 'alice');
  }
  // What is written down may be a sixteenth too old.
  now += TTL_MS * 1.07;
  await assert.rejects(identify(), { status: 401 });
});

test('a token with an end lives until then, used or not, and no longer', async (t) => {
  const { metadata, config } = (await InProcess.start(t)).services;
  let now = 1_000_000_000;
  const end = now + TTL_MS * 3;
  const settings = { ...config, sessionTtlMs: TTL_MS };
  const accounts = new Accounts(metadata, settings, { now: () => now });
  const sessions = new Sessions(metadata, settings, 'system-token-of-a-test', () => now);
  const { token } = await accounts.register({ username: 'alice', password: 'correct horse battery' }, ORIGIN);
  const identify = () => sessions.identify(`Bearer ${token}`, routes.me, metadata.sessions.lookUp());
  const { caller } = await identify();
  const database = new DatabaseSync(paths.database(config));
  database.prepare('UPDATE sessions SET expires_at = ?').run(end);
  database.close();
  now = end - 1;
  assert.equal((await identify()).caller.username, 'alice');
  assert.deepEqual(
    (await sessions.list(caller)).map(({ expires_at }) => expires_at),
    [new Date(end).toISOString()],
  );
  now = end;
  await assert.rejects(identify(), { status: 401 });
  assert.deepEqual(await sessions.list(caller), [], 'not listed either');
});
