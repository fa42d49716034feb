import { hold, Queries, Refused, refusal, type Sql } from '../../platform/sql/sql.ts';

export interface Puller {
  caller: string;
  node: string;
  /** The process. */
  runner: string;
}

/** `running`: another runner's lease holds. `account` and `node` have as many as they may. */
export type Claim = 'claimed' | 'running' | 'account' | 'node';

/** Which process runs the pull of a transfer, until when it may be believed, and what has landed. */
export class PullsTable extends Queries {
  async running(now: number): Promise<number> {
    const [row] = await this.sql.query<{ count: number }>(
      'SELECT COUNT(*) AS count FROM pulls WHERE lease_until > 0 AND lease_until > ?',
      now,
    );
    return row!.count;
  }

  /** `most`: how many an account without a limit of its own, and a node, may have at once, this one included. */
  claim(
    transferId: string,
    { caller, node, runner }: Puller,
    { now, leaseUntil }: { now: number; leaseUntil: number },
    most: { account: number; node: number },
  ): Promise<Claim> {
    return this.sql
      .transaction<Claim>(async (tx) => {
        await hold(tx, `account ${caller}`);
        await hold(tx, `node ${node}`);
        const rows = await tx.execute(
          `INSERT INTO pulls (transfer_id, username, node, runner, lease_until, received) VALUES (?, ?, ?, ?, ?, '')
           ON CONFLICT (transfer_id) DO UPDATE SET username = excluded.username, node = excluded.node,
             runner = excluded.runner, lease_until = excluded.lease_until
           WHERE pulls.lease_until < ? RETURNING transfer_id`,
          transferId,
          caller,
          node,
          runner,
          leaseUntil,
          now,
        );
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
        if (count!.account > (count!.own ?? most.account)) throw new Refused('account');
        if (count!.node > most.node) throw new Refused('node');
        return 'claimed';
      })
      .catch(refusal<Claim>);
  }

  async report(transferId: string, runner: string, landed: string, leaseUntil: number): Promise<void> {
    await this.sql.execute(
      'UPDATE pulls SET received = ?, lease_until = ? WHERE transfer_id = ? AND runner = ?',
      landed,
      leaseUntil,
      transferId,
      runner,
    );
  }

  /** The pull has ended. Nothing is kept for a transfer that is gone. */
  end(transferId: string, runner: string, landed: string): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.query(
        `SELECT 1 FROM transfers WHERE transfer_id = ? ${tx.dialect.forUpdate}`,
        transferId,
      );
      if (row) {
        await tx.execute(
          'UPDATE pulls SET received = ?, lease_until = 0 WHERE transfer_id = ? AND runner = ?',
          landed,
          transferId,
          runner,
        );
      } else {
        await tx.execute('DELETE FROM pulls WHERE transfer_id = ? AND runner = ?', transferId, runner);
      }
    });
  }

  /** Those that never ended, of transfers that are gone. */
  async expire(now: number): Promise<void> {
    await this.sql.execute(
      `DELETE FROM pulls WHERE lease_until > 0 AND lease_until < ?
         AND NOT EXISTS (SELECT 1 FROM transfers t WHERE t.transfer_id = pulls.transfer_id)`,
      now,
    );
  }

  async landed(transferId: string): Promise<string> {
    const [row] = await this.sql.query<{ received: string }>(
      'SELECT received FROM pulls WHERE transfer_id = ?',
      transferId,
    );
    return row?.received ?? '';
  }

  /** The runner is gone: its pulls may be started again at once. Without a name: all runners are. */
  async abandon(runner?: string): Promise<void> {
    if (runner === undefined) await this.sql.execute('UPDATE pulls SET lease_until = 0');
    else await this.sql.execute('UPDATE pulls SET lease_until = 0 WHERE runner = ?', runner);
  }
}

/** With its transfer. One that still runs counts until it has ended, else whoever cancels could begin any number of them. */
export async function forgetPull(tx: Sql, transferId: string): Promise<void> {
  await tx.execute('DELETE FROM pulls WHERE transfer_id = ? AND lease_until = 0', transferId);
}
