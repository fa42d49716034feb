import type { Sql } from './sql.ts';

/** Which process runs the pull of a transfer, until when it may be believed, and what has landed. */
export class Pulls {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** False while another runner's lease holds. */
  async claim(transferId: string, runner: string, now: number, leaseUntil: number): Promise<boolean> {
    const rows = await this.#sql.execute(
      `INSERT INTO pulls (transfer_id, runner, lease_until, landed) VALUES (?, ?, ?, '')
       ON CONFLICT (transfer_id) DO UPDATE SET runner = excluded.runner, lease_until = excluded.lease_until
       WHERE pulls.lease_until < ? RETURNING transfer_id`,
      transferId,
      runner,
      leaseUntil,
      now,
    );
    return rows.length === 1;
  }

  async report(transferId: string, runner: string, landed: string, leaseUntil: number): Promise<void> {
    await this.#sql.execute(
      'UPDATE pulls SET landed = ?, lease_until = ? WHERE transfer_id = ? AND runner = ?',
      landed,
      leaseUntil,
      transferId,
      runner,
    );
  }

  async landed(transferId: string): Promise<string> {
    const [row] = await this.#sql.query<{ landed: string }>(
      'SELECT landed FROM pulls WHERE transfer_id = ?',
      transferId,
    );
    return row?.landed ?? '';
  }

  /** The runner is gone: its pulls may be started again at once. Without a name: all runners are. */
  async abandon(runner?: string): Promise<void> {
    if (runner === undefined) await this.#sql.execute('UPDATE pulls SET lease_until = 0');
    else await this.#sql.execute('UPDATE pulls SET lease_until = 0 WHERE runner = ?', runner);
  }
}
