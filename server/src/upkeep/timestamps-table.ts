import { Queries } from '../platform/sql/sql.ts';

/** Records when something last happened. */
export class TimestampsTable extends Queries {
  async set(name: string, at: number): Promise<void> {
    const text =
      'INSERT INTO timestamps (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at';
    await this.sql.execute(text, name, at);
  }

  /** Returns 0 if it never happened. */
  async get(name: string): Promise<number> {
    const [row] = await this.sql.query<{ at: number }>('SELECT at FROM timestamps WHERE name = ?', name);
    return row?.at ?? 0;
  }
}
