import { type AccountLimits, ADMIN, limitNames, noLimits } from '@szafa/protocol';
import { ADMIN_ACCOUNT } from '../accounts/account-rows.ts';
import { readPages } from '../platform/sql/pages.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';

export interface AccountState extends AccountLimits {
  username: string;
  /** Null for the administrator. */
  password_hash: string | null;
  created_at: number;
  keys: string | null;
  identity: string | null;
  recovery_hash: string | null;
  disabled_at: number | null;
  dirs: { dir_id: number; name: string; created_at: number }[];
  rev: number;
}

const ADMINISTRATOR = {
  ...{ username: ADMIN, password_hash: null, created_at: 0, keys: null, identity: null },
  ...{ recovery_hash: null, disabled_at: null, ...noLimits },
};

/**
 * The documents in the volume store from which this database can be rebuilt: a manifest for each file and a document for each
 * account. A transaction that changes a record increments its `rev` and marks its document as stale here; the sweeper writes
 * the document later. So requests do not wait for the store, and no change is lost.
 */
export class DocumentsTable extends Queries {
  /** Lists files whose manifests may be stale, by id. */
  async staleManifests(after: string, limit: number): Promise<string[]> {
    const text = 'SELECT file_id FROM stale_manifests WHERE file_id > ? ORDER BY file_id LIMIT ?';
    const rows = await this.sql.query<{ file_id: string }>(text, after, limit);
    return rows.map((row) => row.file_id);
  }

  markStale(fileId: string): Promise<void> {
    return this.sql.transaction((tx) => markFileStale(tx, fileId));
  }

  /**
   * Records that the manifest of revision `rev` is in the store. The file stays marked if it has changed or was deleted in
   * the meantime. If it is no longer marked, another process wrote a manifest at the same time; the file is then marked
   * again, because either manifest may have been written last.
   */
  manifestWritten(fileId: string, rev: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = `DELETE FROM stale_manifests WHERE file_id = ? AND rev <= ?
        AND EXISTS (SELECT 1 FROM files WHERE file_id = ?) RETURNING file_id`;
      const settled = await tx.execute(text, fileId, rev, fileId);
      if (settled.length > 0) return;
      const insert =
        'INSERT INTO stale_manifests (file_id, rev) VALUES (?, ?) ON CONFLICT (file_id) DO NOTHING';
      await tx.execute(insert, fileId, rev);
    });
  }

  async manifestRemoved(fileId: string): Promise<void> {
    await this.sql.execute('DELETE FROM stale_manifests WHERE file_id = ?', fileId);
  }

  /** Lists accounts whose documents are stale, by id. */
  async staleAccounts(after: string, limit: number): Promise<string[]> {
    const text = `SELECT account_id FROM account_documents WHERE rev > written_rev AND account_id > ?
      ORDER BY account_id LIMIT ?`;
    const rows = await this.sql.query<{ account_id: string }>(text, after, limit);
    return rows.map((row) => row.account_id);
  }

  async isStaleAccount(accountId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM account_documents WHERE account_id = ? AND rev > written_rev';
    return (await this.sql.query(text, accountId)).length > 0;
  }

  /**
   * Reads the content of an account's document; undefined if the account is deleted or being deleted. A change during the
   * read increments `rev` again, so it is not lost.
   */
  async account(accountId: string): Promise<AccountState | undefined> {
    const text = 'SELECT rev FROM account_documents WHERE account_id = ?';
    const [state] = await this.sql.query<{ rev: number }>(text, accountId);
    const [user] =
      accountId === ADMIN_ACCOUNT
        ? [ADMINISTRATOR]
        : await this.sql.query<Omit<AccountState, 'rev' | 'dirs'>>(
            `SELECT username, password_hash, created_at, keys, identity, recovery_hash, disabled_at,
               ${limitNames.join(', ')} FROM accounts
             WHERE account_id = ? AND deleting_since IS NULL`,
            accountId,
          );
    if (!state || !user) return undefined;
    const page = (after: number, limit: number) =>
      this.sql.query<AccountState['dirs'][number]>(
        'SELECT dir_id, name, created_at FROM dirs WHERE owner = ? AND dir_id > ? ORDER BY dir_id LIMIT ?',
        ...[user.username, after, limit],
      );
    const dirs = await readPages(page, 0, ({ dir_id }) => dir_id);
    return { ...user, dirs, rev: state.rev };
  }

  /** Records that a document was written. False if the account is gone and another process has removed its document. */
  async accountWritten(accountId: string, rev: number): Promise<boolean> {
    const text = `UPDATE account_documents SET written_rev = CASE WHEN written_rev < ? THEN ? ELSE written_rev END
      WHERE account_id = ? RETURNING account_id`;
    const rows = await this.sql.execute(text, rev, rev, accountId);
    return rows.length === 1;
  }

  async accountRemoved(accountId: string): Promise<void> {
    await this.sql.execute('DELETE FROM account_documents WHERE account_id = ?', accountId);
  }
}

/** Marks the manifest of a file as stale, in the transaction that incremented its `rev`. */
export async function markStale(tx: Sql, fileId: string, rev: number): Promise<void> {
  const text = `INSERT INTO stale_manifests (file_id, rev) VALUES (?, ?)
    ON CONFLICT (file_id) DO UPDATE SET rev = excluded.rev`;
  await tx.execute(text, fileId, rev);
}

/** Marks the manifests of the files in a JSON list of ids as stale. */
export async function markManifestsStale(tx: Sql, list: string): Promise<void> {
  const text = `INSERT INTO stale_manifests (file_id, rev)
    SELECT file_id, rev FROM files WHERE file_id ${tx.dialect.inJsonList}
    ON CONFLICT (file_id) DO UPDATE SET rev = excluded.rev`;
  await tx.execute(text, list);
}

/** Marks the manifest of a file as stale although the file, which may be gone, has not changed. */
export async function markFileStale(tx: Sql, fileId: string): Promise<void> {
  const text = 'UPDATE files SET rev = rev + 1 WHERE file_id = ? RETURNING rev';
  const [row] = await tx.execute<{ rev: number }>(text, fileId);
  await markStale(tx, fileId, row?.rev ?? 0);
}

/**
 * Marks the manifests of all files of a directory as stale, before their `rev` is incremented. Locks the files first, as
 * every change of a file does before it marks the manifest: this order prevents deadlocks.
 */
export async function markDirStale(tx: Sql, dirId: number): Promise<void> {
  const text = `SELECT COUNT(*) AS held FROM (SELECT file_id FROM files WHERE dir_id = ? ${tx.dialect.forUpdate}) AS inside`;
  await tx.query(text, dirId);
  const insert = `INSERT INTO stale_manifests (file_id, rev) SELECT file_id, rev + 1 FROM files WHERE dir_id = ?
    ON CONFLICT (file_id) DO UPDATE SET rev = excluded.rev`;
  await tx.execute(insert, dirId);
}

/** Marks the document of an account as stale, in the transaction that changed the account. */
export async function markAccountStale(tx: Sql, username: string): Promise<void> {
  const raise = 'ON CONFLICT (account_id) DO UPDATE SET rev = account_documents.rev + 1';
  if (username === ADMIN) {
    await tx.execute(
      `INSERT INTO account_documents (account_id, rev, written_rev) VALUES ('${ADMIN_ACCOUNT}', 1, 0) ${raise}`,
    );
  } else {
    const text = `INSERT INTO account_documents (account_id, rev, written_rev)
      SELECT account_id, 1, 0 FROM accounts WHERE username = ? ${raise}`;
    await tx.execute(text, username);
  }
}
