import { removeDir } from '../files/directories-table.ts';
import { LOCKED_COLUMNS, type LockedFile, removeFiles } from '../files/file-changes-table.ts';
import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { deleteRequests } from '../sharing/requests-table.ts';
import { deleteShares, endReceivedShares } from '../sharing/share-rows.ts';
import { forgetPull } from '../transfers/pull/pulls-table.ts';
import { forgetReceived } from '../transfers/received-volumes-table.ts';
import { lockTransfer, NOT_DONE, type TransferRow } from '../transfers/transfer-rows.ts';
import { forgetVolumes } from '../transfers/volumes-table.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';
import { endRecoveries } from './accounts-table.ts';
import { removePasskeys } from './factors-table.ts';
import { endSessions } from './sessions-table.ts';

/** An account that is being deleted. */
export interface PendingDeletion {
  username: string;
  account_id: string;
}

type OpenTransfer = Pick<TransferRow, 'transfer_id' | 'file_id' | 'status'>;

/**
 * Accounts that are being deleted. An account may have a million files, so deletion takes many transactions: the first one
 * ends every use of the account, and from then on nothing can be added (`requireLiveAccount`); the last one frees its name.
 * Any node can continue in between, even several at once. Each step checks that the account is still being deleted, because
 * afterwards its name may belong to somebody else.
 */
export class DeletionsTable extends Queries {
  /** Returns undefined if there is no such account, or if `passwordHash` is given and no longer current. */
  begin(
    username: string,
    { actor, now, passwordHash }: { actor: Actor; now: number; passwordHash?: string },
  ): Promise<PendingDeletion | undefined> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<PendingDeletion>(
        `UPDATE accounts SET deleting_since = ? WHERE username = ? AND deleting_since IS NULL
         ${passwordHash === undefined ? '' : 'AND password_hash = ?'} RETURNING username, account_id`,
        ...[now, username, ...(passwordHash === undefined ? [] : [passwordHash])],
      );
      if (!row) return undefined;
      await endSessions(tx, username);
      await endRecoveries(tx, row.account_id);
      await removePasskeys(tx, row.account_id);
      // Makes the sweeper remove the account's document.
      await markAccountStale(tx, username);
      await recordAudit(tx, { at: now, actor, account: username, action: 'deleted', detail: row.account_id });
      return row;
    });
  }

  listPending(limit: number): Promise<PendingDeletion[]> {
    return this.sql.query<PendingDeletion>(
      'SELECT username, account_id FROM accounts WHERE deleting_since IS NOT NULL ORDER BY account_id LIMIT ?',
      limit,
    );
  }

  /**
   * Lists unfinished uploads: those the account created, unless another account completes them, and those the account
   * completes.
   */
  openTransfers(account: PendingDeletion, limit: number): Promise<OpenTransfer[]> {
    const { username } = account;
    const columns = 'transfer_id, file_id, status';
    return this.#step(account, [], (tx) =>
      tx.query<OpenTransfer>(
        `SELECT ${columns} FROM transfers WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL
         UNION ALL SELECT ${columns} FROM transfers WHERE owner = ? AND status IN ('storing', 'failed')
         LIMIT ?`,
        ...[username, username, limit],
      ),
    );
  }

  /** Removes an unfinished upload. `keepVolumes`: the volumes belong to a file of another database. */
  removeTransfer(account: PendingDeletion, transferId: string, now: number, keepVolumes: boolean) {
    return this.#step(account, undefined, async (tx) => {
      const row = await lockTransfer(tx, transferId);
      if (!row || row.status === 'done' || (row.owner ?? row.creator) !== account.username) return;
      await tx.execute('DELETE FROM transfers WHERE transfer_id = ?', transferId);
      await forgetPull(tx, transferId);
      if (keepVolumes) {
        await forgetVolumes(tx, row.file_id);
        await forgetReceived(tx, row.file_id);
      } else await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', row.file_id, now);
    });
  }

  /** Turns unfinished copies into garbage, and makes an account that completes an upload its creator. */
  release(account: PendingDeletion): Promise<void> {
    const { username } = account;
    return this.#step(account, undefined, async (tx) => {
      await tx.execute(
        'UPDATE garbage SET clone_key = NULL, owner = NULL, clone_bytes = NULL WHERE owner = ? AND clone_key IS NOT NULL',
        username,
      );
      await tx.execute(
        `UPDATE transfers SET creator = owner
         WHERE creator = ? AND ${NOT_DONE} AND owner IS NOT NULL AND owner <> creator`,
        username,
      );
    });
  }

  /** Removes the records of up to `limit` files and returns their number; the sweeper removes the volumes. */
  removeFiles(account: PendingDeletion, now: number, limit: number): Promise<number> {
    return this.#step(account, 0, async (tx) => {
      const files = await tx.query<LockedFile>(
        `SELECT ${LOCKED_COLUMNS} FROM files WHERE owner = ? ORDER BY trashed_at, seq LIMIT ? ${tx.dialect.forUpdate}`,
        ...[account.username, limit],
      );
      await removeFiles(tx, files, now);
      return files.length;
    });
  }

  /** Removes up to `limit` shares of the account and returns their number. Nobody can use them once the deletion has begun. */
  removeShares(account: PendingDeletion, limit: number): Promise<number> {
    return this.#step(account, 0, (tx) => deleteShares(tx, account.username, limit));
  }

  removeRequests(account: PendingDeletion, limit: number): Promise<number> {
    return this.#step(account, 0, (tx) => deleteRequests(tx, account.username, limit));
  }

  /** Ends up to `limit` shares that the account has received and returns their number. */
  endReceived(account: PendingDeletion, now: number, limit: number): Promise<number> {
    return this.#step(account, 0, (tx) => endReceivedShares(tx, account.account_id, now, limit));
  }

  /** Removes one directory; files of other accounts in it move to the root. False if no directory is left. */
  removeDir(account: PendingDeletion): Promise<boolean> {
    const { username } = account;
    return this.#step(account, false, async (tx) => {
      const text = 'SELECT dir_id FROM dirs WHERE owner = ? ORDER BY dir_id LIMIT 1';
      const [dir] = await tx.query<{ dir_id: number }>(text, username);
      return dir !== undefined && removeDir(tx, username, dir.dir_id);
    });
  }

  /** Frees the name. False while anything of the account is left; true also if another node has finished. */
  finish(account: PendingDeletion): Promise<boolean> {
    const { username, account_id } = account;
    return this.#step(account, true, async (tx) => {
      const left = await tx.query(
        `SELECT 1 FROM files WHERE owner = ? UNION ALL SELECT 1 FROM dirs WHERE owner = ?
         UNION ALL SELECT 1 FROM transfers WHERE creator = ? AND ${NOT_DONE}
         UNION ALL SELECT 1 FROM transfers WHERE owner = ? AND status IN ('storing', 'failed')
         UNION ALL SELECT 1 FROM garbage WHERE owner = ? AND clone_key IS NOT NULL
         UNION ALL SELECT 1 FROM shares WHERE owner = ?
         UNION ALL SELECT 1 FROM file_requests WHERE owner = ?
         UNION ALL SELECT 1 FROM shares WHERE recipient_id = ? AND ended_at IS NULL LIMIT 1`,
        ...Array<string>(7).fill(username),
        account_id,
      );
      if (left.length > 0) return false;
      await tx.execute('DELETE FROM usage WHERE owner = ?', username);
      await tx.execute('DELETE FROM login_failures WHERE username = ?', username);
      await tx.execute('DELETE FROM sessions WHERE username = ?', username);
      await markAccountStale(tx, username);
      await tx.execute('DELETE FROM accounts WHERE account_id = ?', account_id);
      return true;
    });
  }

  /** Runs `work` with the account locked; returns `otherwise` if the account is no longer being deleted. */
  #step<T>({ account_id }: PendingDeletion, otherwise: T, work: (tx: Sql) => Promise<T>): Promise<T> {
    return this.sql.transaction(async (tx) => {
      const rows = await tx.query(
        `SELECT 1 FROM accounts WHERE account_id = ? AND deleting_since IS NOT NULL ${tx.dialect.forUpdate}`,
        account_id,
      );
      return rows.length === 1 ? work(tx) : otherwise;
    });
  }
}
