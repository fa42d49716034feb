import type { Sql } from './sql.ts';
import { NOT_DONE } from './transfer-rows.ts';

/** When something last happened, and how many there are of what: facts for whoever watches the service. */
export class Marks {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async set(name: string, at: number): Promise<void> {
    await this.#sql.execute(
      'INSERT INTO marks (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at',
      name,
      at,
    );
  }

  /** 0 when it never happened. */
  async get(name: string): Promise<number> {
    const [row] = await this.#sql.query<{ at: number }>('SELECT at FROM marks WHERE name = ?', name);
    return row?.at ?? 0;
  }

  /** Those that are not done: a done one is known for as long as its file, and to count them would take ever longer. */
  async openTransfers(): Promise<Record<string, number>> {
    const rows = await this.#sql.query<{ status: string; count: number }>(
      `SELECT status, COUNT(*) AS count FROM transfers WHERE ${NOT_DONE} GROUP BY status`,
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  async pullsRunning(now: number): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(
      'SELECT COUNT(*) AS count FROM pulls WHERE lease_until > 0 AND lease_until > ?',
      now,
    );
    return row!.count;
  }

  async orphanGroups(): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>('SELECT COUNT(*) AS count FROM orphans');
    return row!.count;
  }

  async garbageGroups(): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>('SELECT COUNT(*) AS count FROM garbage');
    return row!.count;
  }
}
