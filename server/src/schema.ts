import { randomBytes } from 'node:crypto';
import { ConfigError } from './platform/errors.ts';
import type { Dialect, Sql } from './platform/sql/sql.ts';
import { VERSION } from './version.ts';

/**
 * The migrations, applied in order in one transaction. Never change one that was released (`npm run check` compares
 * them with scripts/released-migrations.json): append a new one. The third renames much of what the first created.
 * Directory 0 is the root; owner '' means that there is none. Times are milliseconds since 1970.
 */
export const migrations: ((dialect: Pick<Dialect, 'serial' | 'clustered'>) => string[])[] = [
  ({ serial, clustered }) => [
    // The id distinguishes an account from an earlier one of the same name. Limits are NULL where the settings apply.
    `CREATE TABLE users (
      username TEXT PRIMARY KEY, account_id TEXT NOT NULL UNIQUE, password_hash TEXT NOT NULL,
      created_at BIGINT NOT NULL, keys TEXT, identity TEXT, recovery_hash TEXT, totp_secret TEXT, totp_step BIGINT,
      leaving_since BIGINT, disabled_at BIGINT,
      quota_bytes BIGINT, open_transfers BIGINT, open_volumes BIGINT, pulls BIGINT, login_attempts BIGINT,
      upload_rate BIGINT, download_rate BIGINT)`,
    'CREATE INDEX users_leaving ON users (account_id) WHERE leaving_since IS NOT NULL',
    // A row is deleted when the invitation is used or has expired.
    `CREATE TABLE invitations (
      id TEXT PRIMARY KEY, token_hash TEXT NOT NULL UNIQUE, note TEXT NOT NULL, quota_bytes BIGINT,
      created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)`,
    'CREATE INDEX invitations_expires ON invitations (expires_at)',
    // The revision of each account, and the revision of its document in the volume store; see upkeep/documents.ts.
    `CREATE TABLE account_documents (
      account_id TEXT PRIMARY KEY, rev BIGINT NOT NULL, written BIGINT NOT NULL)`,
    'CREATE INDEX account_documents_stale ON account_documents (account_id) WHERE rev > written',
    // Without expires_at, a session ends when it has not been used for long. dir_id: the only directory it may use.
    `CREATE TABLE sessions (
      token_hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, username TEXT NOT NULL, account_id TEXT NOT NULL,
      device TEXT NOT NULL, created_at BIGINT NOT NULL, used_at BIGINT NOT NULL, scope TEXT NOT NULL,
      dir_id BIGINT, expires_at BIGINT, passkey TEXT) ${clustered}`,
    'CREATE INDEX sessions_used ON sessions (used_at) WHERE expires_at IS NULL',
    'CREATE INDEX sessions_expires ON sessions (expires_at) WHERE expires_at IS NOT NULL',
    'CREATE INDEX sessions_user ON sessions (username)',
    // Challenges prove themselves (accounts/challenges.ts), so only answered ones are stored, to refuse a second answer.
    `CREATE TABLE passkeys (
      credential_id TEXT PRIMARY KEY, account_id TEXT NOT NULL, public_key TEXT NOT NULL, counter BIGINT NOT NULL,
      name TEXT NOT NULL, alone INTEGER NOT NULL, created_at BIGINT NOT NULL, used_at BIGINT)`,
    'CREATE INDEX passkeys_account ON passkeys (account_id)',
    `CREATE TABLE used_challenges (challenge TEXT PRIMARY KEY, expires_at BIGINT NOT NULL) ${clustered}`,
    'CREATE INDEX used_challenges_expires ON used_challenges (expires_at)',
    // Given to callers who have shown a recovery key; each sets a new password once.
    `CREATE TABLE recoveries (
      token_hash TEXT PRIMARY KEY, account_id TEXT NOT NULL, expires_at BIGINT NOT NULL) ${clustered}`,
    'CREATE INDEX recoveries_account ON recoveries (account_id)',
    'CREATE INDEX recoveries_expires ON recoveries (expires_at)',
    `CREATE TABLE audit (
      seq ${serial}, at BIGINT NOT NULL, actor TEXT NOT NULL, account TEXT NOT NULL, action TEXT NOT NULL,
      detail TEXT NOT NULL)`,
    'CREATE INDEX audit_at ON audit (at)',
    'CREATE INDEX audit_account ON audit (account, seq)',
    `CREATE TABLE login_failures (
      username TEXT NOT NULL, address TEXT NOT NULL, failures INTEGER NOT NULL, failed_at BIGINT NOT NULL,
      PRIMARY KEY (username, address))`,
    'CREATE INDEX login_failures_failed ON login_failures (failed_at)',
    `CREATE TABLE dirs (
      dir_id ${serial}, owner TEXT NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL,
      UNIQUE (owner, name))`,
    // trashed_at is 0 for files outside the trash; in the trash, dir_id says where the file was. thumbnail: the digest
    // (64 characters), then the size.
    `CREATE TABLE files (
      seq ${serial}, file_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, dir_id BIGINT NOT NULL,
      file_name TEXT NOT NULL, size BIGINT NOT NULL, stored_size BIGINT NOT NULL, sha256 TEXT NOT NULL,
      chunk_count INTEGER NOT NULL, created_at BIGINT NOT NULL, cloned_from TEXT, enc_params TEXT NOT NULL,
      rev BIGINT NOT NULL, trashed_at BIGINT NOT NULL, thumbnail TEXT)`,
    // Files whose manifest in the volume store may be out of date; see upkeep/documents.ts.
    'CREATE TABLE stale_manifests (file_id TEXT PRIMARY KEY, rev BIGINT NOT NULL)',
    // With trashed_at before seq, a list never scans files in the trash.
    'CREATE INDEX files_owner ON files (owner, trashed_at, seq)',
    'CREATE INDEX files_dir ON files (dir_id, owner, trashed_at, seq)',
    'CREATE INDEX files_trashed ON files (trashed_at) WHERE trashed_at > 0',
    'CREATE INDEX files_clones ON files (cloned_from) WHERE cloned_from IS NOT NULL',
    // Sizes and digests of a file's volumes, in blocks of entries; see transfers/volumes-table.ts.
    `CREATE TABLE volume_blocks (
      file_id TEXT NOT NULL, block INTEGER NOT NULL, entries TEXT NOT NULL, PRIMARY KEY (file_id, block))`,
    // Volumes of streamed transfers, until complete moves them to volume_blocks.
    `CREATE TABLE streamed_volumes (
      file_id TEXT NOT NULL, idx INTEGER NOT NULL, size BIGINT NOT NULL, sha256 TEXT NOT NULL,
      PRIMARY KEY (file_id, idx)) ${clustered}`,
    // Quota claimed for volumes of streamed transfers in flight, and the number of requests that send each.
    `CREATE TABLE streamed_claims (
      file_id TEXT NOT NULL, idx INTEGER NOT NULL, bytes BIGINT NOT NULL, holders INTEGER NOT NULL,
      PRIMARY KEY (file_id, idx)) ${clustered}`,
    // Volumes of open uploads that the volume store is known to have, as bitmaps.
    `CREATE TABLE arrivals (
      file_id TEXT NOT NULL, block INTEGER NOT NULL, bits BIGINT NOT NULL, PRIMARY KEY (file_id, block))`,
    // Sums by owner and directory, updated in the transactions that change files, so that quota checks never scan.
    // rev changes with every change to an owner's files and directories.
    `CREATE TABLE usage (
      owner TEXT NOT NULL, dir_id BIGINT NOT NULL, files BIGINT NOT NULL, bytes_high BIGINT NOT NULL,
      bytes_low BIGINT NOT NULL, counted_high BIGINT NOT NULL, counted_low BIGINT NOT NULL,
      rev BIGINT NOT NULL, PRIMARY KEY (owner, dir_id))`,
    'CREATE INDEX usage_dir ON usage (dir_id, owner)',
    // Sums over all accounts, in one row.
    `CREATE TABLE totals (
      accounts BIGINT NOT NULL, files BIGINT NOT NULL, bytes TEXT NOT NULL, trash_bytes TEXT NOT NULL)`,
    "INSERT INTO totals (accounts, files, bytes, trash_bytes) VALUES (0, 0, '0', '0')",
    `CREATE TABLE transfers (
      transfer_id TEXT PRIMARY KEY, file_id TEXT NOT NULL UNIQUE, creator TEXT NOT NULL, made_by TEXT, owner TEXT,
      dir_id BIGINT NOT NULL, status TEXT NOT NULL, file_name TEXT NOT NULL, file_size BIGINT NOT NULL,
      stored_size BIGINT NOT NULL, total_sha256 TEXT NOT NULL, chunk_count INTEGER NOT NULL,
      created_at BIGINT NOT NULL, touched_at BIGINT NOT NULL, enc_params TEXT NOT NULL, streamed TEXT NOT NULL, said TEXT)`,
    // Completed transfers live as long as their files; these indexes leave them out.
    "CREATE INDEX transfers_touched ON transfers (touched_at) WHERE status IN ('uploading', 'failed')",
    "CREATE INDEX transfers_dir ON transfers (dir_id) WHERE status <> 'done'",
    "CREATE INDEX transfers_open ON transfers (status) WHERE status <> 'done'",
    // Counted at each init: the open uploads of an account, and those it is about to own.
    "CREATE INDEX transfers_creator ON transfers (creator, chunk_count) WHERE status <> 'done'",
    "CREATE INDEX transfers_owner ON transfers (owner) WHERE status IN ('storing', 'failed')",
    // Volume groups to remove from the store once not_before has passed. A clone in progress is listed here, with the
    // owner whose quota it counts for, until its file exists.
    `CREATE TABLE garbage (
      file_id TEXT PRIMARY KEY, not_before BIGINT NOT NULL, claim TEXT UNIQUE, owner TEXT, counted BIGINT)`,
    'CREATE INDEX garbage_due ON garbage (not_before)',
    'CREATE INDEX garbage_claims ON garbage (owner) WHERE claim IS NOT NULL',
    `CREATE TABLE pulls (
      transfer_id TEXT PRIMARY KEY, caller TEXT NOT NULL, node TEXT NOT NULL, runner TEXT NOT NULL,
      lease_until BIGINT NOT NULL, landed TEXT NOT NULL)`,
    'CREATE INDEX pulls_running ON pulls (node) WHERE lease_until > 0',
    // Links (with access_hash) and shares for one account (with recipient). When a share ends, its files, tickets and
    // header are deleted; the row stays for a while. `own` is '' once the owner has removed it from the list.
    `CREATE TABLE shares (
      id TEXT PRIMARY KEY, owner TEXT NOT NULL, account_id TEXT NOT NULL, header TEXT NOT NULL, access_hash TEXT,
      own TEXT NOT NULL, files INTEGER NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, downloads BIGINT,
      downloaded BIGINT NOT NULL, used_at BIGINT, ended_at BIGINT, ending TEXT,
      recipient TEXT, recipient_id TEXT, letter TEXT)`,
    'CREATE INDEX shares_owner ON shares (owner, id)',
    'CREATE INDEX shares_recipient ON shares (recipient_id, id) WHERE ended_at IS NULL',
    'CREATE INDEX shares_open ON shares (id) WHERE ended_at IS NULL',
    'CREATE INDEX shares_expires ON shares (expires_at) WHERE ended_at IS NULL',
    'CREATE INDEX shares_used ON shares (used_at) WHERE ended_at IS NULL',
    'CREATE INDEX shares_ended ON shares (ended_at) WHERE ended_at IS NOT NULL',
    `CREATE TABLE share_files (
      share_id TEXT NOT NULL, number INTEGER NOT NULL, file_id TEXT NOT NULL, PRIMARY KEY (share_id, number)) ${clustered}`,
    // One ticket is the right to one download.
    `CREATE TABLE share_tickets (
      share_id TEXT NOT NULL, ticket_hash TEXT NOT NULL, expires_at BIGINT NOT NULL,
      PRIMARY KEY (share_id, ticket_hash)) ${clustered}`,
    'CREATE INDEX share_tickets_expires ON share_tickets (expires_at)',
    // File requests. `own` is '' once the owner has removed it from the list.
    `CREATE TABLE requests (
      id TEXT PRIMARY KEY, owner TEXT NOT NULL, account_id TEXT NOT NULL, header TEXT NOT NULL, access_hash TEXT NOT NULL,
      own TEXT NOT NULL, files INTEGER NOT NULL, bytes BIGINT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT,
      ended_at BIGINT, ending TEXT)`,
    'CREATE INDEX requests_owner ON requests (owner, id)',
    'CREATE INDEX requests_open ON requests (id) WHERE ended_at IS NULL',
    'CREATE INDEX requests_expires ON requests (expires_at) WHERE ended_at IS NULL',
    'CREATE INDEX requests_ended ON requests (ended_at) WHERE ended_at IS NOT NULL',
    // Uploads by visitors; token_hash is the digest of the token that authorizes one upload.
    `CREATE TABLE request_uploads (
      token_hash TEXT PRIMARY KEY, request_id TEXT NOT NULL, transfer_id TEXT NOT NULL UNIQUE, bytes BIGINT NOT NULL,
      begun_at BIGINT NOT NULL) ${clustered}`,
    'CREATE INDEX request_uploads_request ON request_uploads (request_id)',
    // When something last happened, such as the last fsck without problems.
    'CREATE TABLE marks (name TEXT PRIMARY KEY, at BIGINT NOT NULL)',
    // The volume store that this database belongs to, in one row; see upkeep/store-record.ts.
    `CREATE TABLE store (
      store_id TEXT NOT NULL, service_id TEXT NOT NULL, confirmed INTEGER NOT NULL, marks TEXT NOT NULL,
      contested_at BIGINT, read_only_at BIGINT, challenge_secret TEXT NOT NULL)`,
    // Volume groups without a file or transfer, and the progress of the search for them; see upkeep/orphans.ts.
    'CREATE TABLE orphans (file_id TEXT PRIMARY KEY, first_seen BIGINT NOT NULL)',
    `CREATE TABLE orphan_round (
      began_at BIGINT NOT NULL, after_id TEXT, groups_seen BIGINT NOT NULL, orphans_seen BIGINT NOT NULL)`,
    'INSERT INTO orphan_round (began_at, groups_seen, orphans_seen) VALUES (0, 0, 0)',
    // The progress of scrub and fsck, and the damaged volumes that the scrub has found.
    `CREATE TABLE checks (
      name TEXT PRIMARY KEY, began_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, at_seq BIGINT NOT NULL,
      at_idx INTEGER NOT NULL, until_seq BIGINT NOT NULL, files BIGINT NOT NULL, volumes BIGINT NOT NULL,
      bytes BIGINT NOT NULL, faults BIGINT NOT NULL)`,
    `CREATE TABLE volume_faults (
      file_id TEXT NOT NULL, idx INTEGER NOT NULL, fault TEXT NOT NULL, found_at BIGINT NOT NULL,
      PRIMARY KEY (file_id, idx))`,
  ],
  () => [
    // The session or token that created this token; NULL for logins. It may have ended since.
    'ALTER TABLE sessions ADD COLUMN made_by TEXT',
    'CREATE INDEX sessions_made_by ON sessions (made_by) WHERE made_by IS NOT NULL',
    // These lists are read page by page.
    'CREATE INDEX dirs_owner ON dirs (owner, dir_id)',
    'DROP INDEX sessions_user',
    'CREATE INDEX sessions_user ON sessions (username, id)',
    // A digest of the visitor's address, so that one address cannot use up a link. NULL: no limit by address.
    'ALTER TABLE request_uploads ADD COLUMN address TEXT',
    'ALTER TABLE share_tickets ADD COLUMN address TEXT',
    // The running nodes, with their settings as JSON.
    `CREATE TABLE nodes (
      node TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, version TEXT NOT NULL,
      started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL, settings TEXT NOT NULL)`,
    // Bytes of enc_params and thumbnails of all files of an owner, in the row for all directories.
    'ALTER TABLE usage ADD COLUMN extra BIGINT NOT NULL DEFAULT 0',
    `UPDATE usage SET extra = (
       SELECT COALESCE(SUM(OCTET_LENGTH(enc_params) + COALESCE(CAST(SUBSTR(thumbnail, 65) AS BIGINT), 0)), 0)
       FROM files WHERE files.owner = usage.owner) WHERE dir_id = -1`,
    // The same for a clone in progress.
    'ALTER TABLE garbage ADD COLUMN extra BIGINT',
  ],
  () => [
    // Names as in the HTTP interface, or plainer ones.
    'ALTER TABLE users RENAME TO accounts',
    'ALTER TABLE accounts RENAME COLUMN leaving_since TO deleting_since',
    'DROP INDEX users_leaving',
    'CREATE INDEX accounts_deleting ON accounts (account_id) WHERE deleting_since IS NOT NULL',
    'ALTER TABLE account_documents RENAME COLUMN written TO written_rev',
    'ALTER TABLE recoveries RENAME TO recovery_tokens',
    'DROP INDEX recoveries_account',
    'DROP INDEX recoveries_expires',
    'CREATE INDEX recovery_tokens_account ON recovery_tokens (account_id)',
    'CREATE INDEX recovery_tokens_expires ON recovery_tokens (expires_at)',
    'ALTER TABLE audit RENAME TO audit_log',
    'DROP INDEX audit_at',
    'DROP INDEX audit_account',
    'CREATE INDEX audit_log_at ON audit_log (at)',
    'CREATE INDEX audit_log_account ON audit_log (account, seq)',
    'ALTER TABLE usage RENAME COLUMN extra TO extra_bytes',
    // The session that started the upload; the digest of what complete declared for a streamed one.
    'ALTER TABLE transfers RENAME COLUMN made_by TO creator_session',
    'ALTER TABLE transfers RENAME COLUMN said TO completion_digest',
    'ALTER TABLE arrivals RENAME TO received_volumes',
    'ALTER TABLE received_volumes RENAME COLUMN bits TO bitmap',
    'ALTER TABLE pulls RENAME COLUMN caller TO username',
    'ALTER TABLE pulls RENAME COLUMN landed TO received',
    // NULL except for clones in progress.
    'ALTER TABLE garbage RENAME COLUMN claim TO clone_key',
    'ALTER TABLE garbage RENAME COLUMN counted TO clone_bytes',
    'ALTER TABLE garbage RENAME COLUMN extra TO clone_extra_bytes',
    'DROP INDEX garbage_claims',
    'CREATE INDEX garbage_clones ON garbage (owner) WHERE clone_key IS NOT NULL',
    'ALTER TABLE shares RENAME COLUMN ending TO end_reason',
    'ALTER TABLE requests RENAME TO file_requests',
    'ALTER TABLE file_requests RENAME COLUMN ending TO end_reason',
    'DROP INDEX requests_owner',
    'DROP INDEX requests_open',
    'DROP INDEX requests_expires',
    'DROP INDEX requests_ended',
    'CREATE INDEX file_requests_owner ON file_requests (owner, id)',
    'CREATE INDEX file_requests_open ON file_requests (id) WHERE ended_at IS NULL',
    'CREATE INDEX file_requests_expires ON file_requests (expires_at) WHERE ended_at IS NULL',
    'CREATE INDEX file_requests_ended ON file_requests (ended_at) WHERE ended_at IS NOT NULL',
    'ALTER TABLE request_uploads RENAME COLUMN begun_at TO created_at',
    'ALTER TABLE marks RENAME TO timestamps',
    'ALTER TABLE store RENAME COLUMN marks TO custody_marks',
    'ALTER TABLE orphan_round RENAME TO orphan_search',
    'ALTER TABLE orphan_search RENAME COLUMN began_at TO started_at',
    'ALTER TABLE checks RENAME TO volume_checks',
    'ALTER TABLE volume_checks RENAME COLUMN began_at TO started_at',
    'ALTER TABLE volume_checks RENAME COLUMN at_seq TO last_seq',
    'ALTER TABLE volume_checks RENAME COLUMN at_idx TO last_idx',
    'ALTER TABLE volume_checks RENAME COLUMN until_seq TO end_seq',
    // The release that upgraded the database last, for the message of an older one that refuses it.
    'ALTER TABLE schema_version ADD COLUMN szafa_version TEXT',
  ],
];

const CURRENT = migrations.length;

/** Creates the tables in an empty database, or upgrades those of an earlier version. */
export async function migrate(sql: Sql): Promise<void> {
  await sql.transaction(async (tx) => {
    await tx.execute(tx.dialect.migrationLock);
    await tx.execute('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)');
    const version = await storedVersion(tx);
    if (version > CURRENT) throw await newerDatabase(tx, version);
    // Without a write: a server must start on a full disk, too.
    if (version === CURRENT) return;
    for (const migration of migrations.slice(version)) {
      for (const statement of migration(tx.dialect)) await tx.execute(statement);
    }
    if (version === 0) {
      const random = [16, 16, 32].map((length) => randomBytes(length).toString('hex'));
      await tx.execute(
        "INSERT INTO store (store_id, service_id, challenge_secret, confirmed, custody_marks) VALUES (?, ?, ?, 0, '')",
        ...random,
      );
    }
    await tx.execute('DELETE FROM schema_version');
    await tx.execute('INSERT INTO schema_version (version, szafa_version) VALUES (?, ?)', CURRENT, VERSION);
  });
}

/** For commands, which upgrade nothing: refuses a database of any other version. */
export async function requireVersion(sql: Sql): Promise<void> {
  const tables = await sql.query<{ name: string }>(sql.dialect.tables);
  const version = tables.some(({ name }) => name === 'schema_version') ? await storedVersion(sql) : 0;
  if (version > CURRENT) throw await newerDatabase(sql, version);
  if (version === 0) throw new ConfigError('the database has no szafa tables; is it the right one?');
  if (version < CURRENT) {
    throw new ConfigError(
      `the database has version ${version}, and szafa ${VERSION} needs version ${CURRENT}: start the server once to upgrade it`,
    );
  }
}

async function storedVersion(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ version: number }>('SELECT version FROM schema_version');
  return row?.version ?? 0;
}

async function newerDatabase(sql: Sql, version: number): Promise<ConfigError> {
  const [row] = await sql.query<{ szafa_version: string | null }>('SELECT szafa_version FROM schema_version');
  const needed = row?.szafa_version ?? '(unknown release)';
  return new ConfigError(
    `the database has version ${version}, written by szafa ${needed}, but this szafa ${VERSION} knows versions up to ${CURRENT}: ` +
      'install the newer szafa, or restore a backup from before the upgrade',
  );
}
