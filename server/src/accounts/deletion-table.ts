import { removeDir } from '../files/directories-table.ts';
import { HELD, type HeldFile, removeFiles } from '../files/removal.ts';
import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { endShares } from '../sharing/received-table.ts';
import { removeRequests } from '../sharing/requests-table.ts';
import { removeShares } from '../sharing/share-parts.ts';
import { forgetArrivals } from '../transfers/arrivals-table.ts';
import { forgetPull } from '../transfers/pull/pulls-table.ts';
import { lockTransfer, NOT_DONE, type TransferRow } from '../transfers/transfer-rows.ts';
import { forgetVolumes } from '../transfers/volumes-table.ts';
import { outdateAccount } from '../upkeep/documents-table.ts';
import { endRecoveries } from './accounts-table.ts';
import { removePasskeys } from './passkeys-table.ts';
import { endSessions } from './sessions-table.ts';

/** An account that is being deleted. */
export interface Leaving {
  username: string;
  account_id: string;
}

type OpenTransfer = Pick<TransferRow, 'transfer_id' | 'file_id' | 'status'>;

/**
 * Accounts that are being deleted. One may have a million files, so this takes many transactions: the first one ends every use
 * of the account, and from then on nothing new comes (`present`); the last one gives its name free. Whoever finds it between
 * the two goes on, several at once if need be: each step makes sure that the account is still leaving, since afterwards its
 * name may be another's.
 */
export class DeparturesTable extends Queries {
  /** `proven`: only while that is the hash of the password. Undefined where there is no such account. */
  begin(
    username: string,
    { actor, now, proven }: { actor: Actor; now: number; proven?: string },
  ): Promise<Leaving | undefined> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<Leaving>(
        `UPDATE users SET leaving_since = ? WHERE username = ? AND leaving_since IS NULL
         ${proven === undefined ? '' : 'AND password_hash = ?'} RETURNING username, account_id`,
        ...[now, username, ...(proven === undefined ? [] : [proven])],
      );
      if (!row) return undefined;
      await endSessions(tx, username);
      await endRecoveries(tx, row.account_id);
      await removePasskeys(tx, row.account_id);
      // Its document goes.
      await outdateAccount(tx, username);
      await recordAudit(tx, { at: now, actor, account: username, action: 'deleted', detail: row.account_id });
      return row;
    });
  }

  /** Accounts whose deletion has begun. */
  leaving(limit: number): Promise<Leaving[]> {
    return this.sql.query<Leaving>(
      'SELECT username, account_id FROM users WHERE leaving_since IS NOT NULL ORDER BY account_id LIMIT ?',
      limit,
    );
  }

  /** Uploads that are no files yet: those that the account began, unless another one completes them, and those it completes. */
  openTransfers({ username, account_id }: Leaving, limit: number): Promise<OpenTransfer[]> {
    const columns = 'transfer_id, file_id, status';
    return this.sql.transaction(async (tx) => {
      if (!(await holdLeaving(tx, account_id))) return [];
      return tx.query<OpenTransfer>(
        `SELECT ${columns} FROM transfers WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL
         UNION ALL SELECT ${columns} FROM transfers WHERE owner = ? AND status IN ('storing', 'failed')
         LIMIT ?`,
        username,
        username,
        limit,
      );
    });
  }

  /** One of these, if it still is one. `keepVolumes`: they are a file's by another database. */
  removeTransfer(
    { username, account_id }: Leaving,
    transferId: string,
    now: number,
    keepVolumes: boolean,
  ): Promise<void> {
    return this.sql.transaction(async (tx) => {
      if (!(await holdLeaving(tx, account_id))) return;
      const row = await lockTransfer(tx, transferId);
      if (!row || row.status === 'done' || (row.owner ?? row.creator) !== username) return;
      await tx.execute('DELETE FROM transfers WHERE transfer_id = ?', transferId);
      await forgetPull(tx, transferId);
      if (keepVolumes) {
        await forgetVolumes(tx, row.file_id);
        await forgetArrivals(tx, row.file_id);
      } else await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, ?)', row.file_id, now);
    });
  }

  /** Copies under way become garbage, as they are until they are done; uploads that another account completes are all its own. */
  release({ username, account_id }: Leaving): Promise<void> {
    return this.sql.transaction(async (tx) => {
      if (!(await holdLeaving(tx, account_id))) return;
      await tx.execute(
        'UPDATE garbage SET claim = NULL, owner = NULL, counted = NULL WHERE owner = ? AND claim IS NOT NULL',
        username,
      );
      await tx.execute(
        `UPDATE transfers SET creator = owner
         WHERE creator = ? AND ${NOT_DONE} AND owner IS NOT NULL AND owner <> creator`,
        username,
      );
    });
  }

  /** Up to `limit` files, as one is deleted: the records go, and the volumes are left to the sweeper. How many there were. */
  removeFiles({ username, account_id }: Leaving, now: number, limit: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      if (!(await holdLeaving(tx, account_id))) return 0;
      const files = await tx.query<HeldFile>(
        `SELECT ${HELD} FROM files WHERE owner = ? ORDER BY trashed_at, seq LIMIT ? ${tx.dialect.forUpdate}`,
        username,
        limit,
      );
      await removeFiles(tx, files, now);
      return files.length;
    });
  }

  /** Up to `limit` of what it shares; how many there were. Others get nothing of it since the deletion began. */
  removeShares({ username, account_id }: Leaving, limit: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      return (await holdLeaving(tx, account_id)) ? removeShares(tx, username, limit) : 0;
    });
  }

  /** The same of what it asked for. */
  removeRequests({ username, account_id }: Leaving, limit: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      return (await holdLeaving(tx, account_id)) ? removeRequests(tx, username, limit) : 0;
    });
  }

  /** Up to `limit` of what others share with it, who then see that it has ended; how many there were. */
  endReceived({ account_id }: Leaving, now: number, limit: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      return (await holdLeaving(tx, account_id)) ? endShares(tx, account_id, now, limit) : 0;
    });
  }

  /** One directory, as one is deleted: files of others that are in it move to the root. False when there is none. */
  removeDir({ username, account_id }: Leaving): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      if (!(await holdLeaving(tx, account_id))) return false;
      const text = 'SELECT dir_id FROM dirs WHERE owner = ? ORDER BY dir_id LIMIT 1';
      const [dir] = await tx.query<{ dir_id: number }>(text, username);
      return dir !== undefined && removeDir(tx, username, dir.dir_id);
    });
  }

  /** Gives the name free. False while the account still has something. */
  finish({ username, account_id }: Leaving): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      // Another one has done so.
      if (!(await holdLeaving(tx, account_id))) return true;
      const left = await tx.query(
        `SELECT 1 FROM files WHERE owner = ? UNION ALL SELECT 1 FROM dirs WHERE owner = ?
         UNION ALL SELECT 1 FROM transfers WHERE creator = ? AND ${NOT_DONE}
         UNION ALL SELECT 1 FROM transfers WHERE owner = ? AND status IN ('storing', 'failed')
         UNION ALL SELECT 1 FROM garbage WHERE owner = ? AND claim IS NOT NULL
         UNION ALL SELECT 1 FROM shares WHERE owner = ?
         UNION ALL SELECT 1 FROM requests WHERE owner = ?
         UNION ALL SELECT 1 FROM shares WHERE recipient_id = ? AND ended_at IS NULL LIMIT 1`,
        ...Array<string>(7).fill(username),
        account_id,
      );
      if (left.length > 0) return false;
      await tx.execute('DELETE FROM usage WHERE owner = ?', username);
      await tx.execute('DELETE FROM login_failures WHERE username = ?', username);
      await tx.execute('DELETE FROM sessions WHERE username = ?', username);
      await outdateAccount(tx, username);
      await tx.execute('DELETE FROM users WHERE account_id = ?', account_id);
      return true;
    });
  }
}

/** Whether the account is still being deleted. Nobody else passes this until the transaction ends. */
async function holdLeaving(tx: Sql, accountId: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT 1 FROM users WHERE account_id = ? AND leaving_since IS NOT NULL ${tx.dialect.forUpdate}`,
    accountId,
  );
  return rows.length === 1;
}
