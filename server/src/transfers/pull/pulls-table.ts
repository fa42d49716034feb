import {
  countUpToLimit,
  Queries,
  Rollback,
  rollbackReason,
  type Sql,
  takeNamedLock,
} from '../../platform/sql/sql.ts';

/** `running`: another process has the lease. `account`, `node`: the account or the node has reached its limit. */
export type PullLease = 'leased' | 'running' | 'account' | 'node';

/** Running pulls: the process that runs the pull of a transfer, its lease, and the volumes it has received. */
export class PullsTable extends Queries {
  running(now: number): Promise<number> {
    return countUpToLimit(this.sql, 'pulls WHERE lease_until > 0 AND lease_until > ?', now);
  }

  /**
   * Leases a pull. `runner` is the name of the process. `limit`: maximum number of pulls, including this one, for an account
   * without its own limit and for a node.
   */
  lease(
    transferId: string,
    { caller, node, runner }: { caller: string; node: string; runner: string },
    { now, leaseUntil }: { now: number; leaseUntil: number },
    limit: { account: number; node: number },
  ): Promise<PullLease> {
    return this.sql
      .transaction<PullLease>(async (tx) => {
        await takeNamedLock(tx, `account ${caller}`);
        await takeNamedLock(tx, `node ${node}`);
        const insert = `INSERT INTO pulls (transfer_id, username, node, runner, lease_until, received)
          VALUES (?, ?, ?, ?, ?, '')
          ON CONFLICT (transfer_id) DO UPDATE SET username = excluded.username, node = excluded.node,
            runner = excluded.runner, lease_until = excluded.lease_until
          WHERE pulls.lease_until < ? RETURNING transfer_id`;
        const rows = await tx.execute(insert, transferId, caller, node, runner, leaseUntil, now);
        if (rows.length === 0) return 'running';
        const [count] = await tx.query<{ account: number; node: number; own: number | null }>(
          `SELECT SUM(CASE WHEN username = ? THEN 1 ELSE 0 END) AS account,
             SUM(CASE WHEN node = ? THEN 1 ELSE 0 END) AS node,
             (SELECT accounts.pulls FROM accounts WHERE username = ?) AS own
           FROM pulls WHERE lease_until > 0 AND lease_until >= ?`,
          caller,
          node,
          caller,
          now,
        );
        if (count!.account > (count!.own ?? limit.account)) throw new Rollback('account');
        if (count!.node > limit.node) throw new Rollback('node');
        return 'leased';
      })
      .catch(rollbackReason<PullLease>);
  }

  async report(transferId: string, runner: string, landed: string, leaseUntil: number): Promise<void> {
    const text = 'UPDATE pulls SET received = ?, lease_until = ? WHERE transfer_id = ? AND runner = ?';
    await this.sql.execute(text, landed, leaseUntil, transferId, runner);
  }

  /** Ends the lease, or deletes the row if the transfer no longer exists. */
  end(transferId: string, runner: string, landed: string): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = `SELECT 1 FROM transfers WHERE transfer_id = ? ${tx.dialect.forUpdate}`;
      const [row] = await tx.query(text, transferId);
      if (row) {
        const update = 'UPDATE pulls SET received = ?, lease_until = 0 WHERE transfer_id = ? AND runner = ?';
        await tx.execute(update, landed, transferId, runner);
      } else {
        await tx.execute('DELETE FROM pulls WHERE transfer_id = ? AND runner = ?', transferId, runner);
      }
    });
  }

  /** Deletes expired leases of transfers that no longer exist. */
  async expire(now: number): Promise<void> {
    const text = `DELETE FROM pulls WHERE lease_until > 0 AND lease_until < ?
        AND NOT EXISTS (SELECT 1 FROM transfers t WHERE t.transfer_id = pulls.transfer_id)`;
    await this.sql.execute(text, now);
  }

  async landed(transferId: string): Promise<string> {
    const text = 'SELECT received FROM pulls WHERE transfer_id = ?';
    const [row] = await this.sql.query<{ received: string }>(text, transferId);
    return row?.received ?? '';
  }

  /** Ends the leases of a process that has exited, or of all processes. */
  async endLeases(runner?: string): Promise<void> {
    if (runner === undefined) await this.sql.execute('UPDATE pulls SET lease_until = 0');
    else await this.sql.execute('UPDATE pulls SET lease_until = 0 WHERE runner = ?', runner);
  }
}

/** Called when a transfer is deleted. A running pull counts until it ends: otherwise cancelling would evade the limit. */
export async function forgetPull(tx: Sql, transferId: string): Promise<void> {
  await tx.execute('DELETE FROM pulls WHERE transfer_id = ? AND lease_until = 0', transferId);
}

/** Formats volume numbers as text such as `1-5,8`. */
export function formatRanges(numbers: Iterable<number>): string {
  const ranges: string[] = [];
  let start = 0;
  let end = 0;
  const close = () => {
    if (end > 0) ranges.push(start === end ? `${start}` : `${start}-${end}`);
  };
  for (const number of [...numbers].sort((a, b) => a - b)) {
    if (number !== end + 1 || end === 0) {
      close();
      start = number;
    }
    end = number;
  }
  close();
  return ranges.join(',');
}

export function* parseRanges(text: string): Generator<number> {
  if (text === '') return;
  for (const range of text.split(',')) {
    const [start, end = start] = range.split('-').map(Number);
    for (let number = start!; number <= end!; number++) yield number;
  }
}
