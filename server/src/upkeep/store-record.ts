import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';

/** The volume store that this database belongs to. */
export interface StoreFacts {
  /** Random, made with the tables; the store has the same. */
  id: string;
  /** Which service this is to its clients, wherever its stores move; random, made with the tables. */
  serviceId: string;
  /** The store was seen with that id. From then on one without it is another store. */
  confirmed: boolean;
  /** The newest first. The store shows one of these if this database was the last that had it. */
  marks: string[];
  /** Since when another database is known to have had the store; nothing may be removed from it meanwhile. */
  contestedAt: number | null;
  /** Since when an operator lets nothing be written. */
  readOnlyAt: number | null;
}

/** Two would do, were it not for a write to the store that is late: another node may have renewed it meanwhile. */
const MARKS = 8;

interface Row {
  store_id: string;
  service_id: string;
  confirmed: number;
  custody_marks: string;
  contested_at: number | null;
  read_only_at: number | null;
}

export class StoreRecord extends Queries {
  async get(): Promise<StoreFacts> {
    const [row] = await this.sql.query<Row>(
      'SELECT store_id, service_id, confirmed, custody_marks, contested_at, read_only_at FROM store',
    );
    const { store_id, service_id, confirmed, custody_marks, contested_at, read_only_at } = row!;
    return {
      id: store_id,
      serviceId: service_id,
      confirmed: confirmed === 1,
      marks: custody_marks.split(' ').filter(Boolean),
      contestedAt: contested_at,
      readOnlyAt: read_only_at,
    };
  }

  /**
   * Nothing more is written from now on, or everything as ever; false where it was so already. Uploads that could not go on
   * meanwhile have not grown older.
   */
  setReadOnly(on: boolean, now: number, actor: Actor): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const changed = await tx.execute(
        `UPDATE store SET read_only_at = ? WHERE read_only_at IS ${on ? 'NULL' : 'NOT NULL'} RETURNING store_id`,
        on ? now : null,
      );
      if (changed.length === 0) return false;
      if (!on) {
        const open = "touched_at < ? AND status IN ('uploading', 'failed')";
        await tx.execute(`UPDATE transfers SET touched_at = ? WHERE ${open}`, now, now);
      }
      await recordAudit(tx, { at: now, actor, account: '', action: on ? 'read-only on' : 'read-only off' });
      return true;
    });
  }

  /** For a database that takes over what another one had: its users' passwords are of that service. */
  async setServiceId(id: string): Promise<void> {
    await this.sql.execute('UPDATE store SET service_id = ?', id);
  }

  async confirm(): Promise<void> {
    await this.sql.execute('UPDATE store SET confirmed = 1 WHERE confirmed = 0');
  }

  /** By which the challenges of all nodes are told from others; made with the tables, known to this database alone. */
  async challengeSecret(): Promise<string> {
    const [row] = await this.sql.query<{ challenge_secret: string }>('SELECT challenge_secret FROM store');
    return row!.challenge_secret;
  }

  /** `found` is what the store shows and may go on showing if the new one never gets there. */
  addMark(mark: string, found: string | undefined): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.query<Pick<Row, 'custody_marks'>>(
        `SELECT custody_marks FROM store ${tx.dialect.forUpdate}`,
      );
      const kept = new Set([mark, ...(found === undefined ? [] : [found]), ...row!.custody_marks.split(' ')]);
      await tx.execute('UPDATE store SET custody_marks = ?', [...kept].slice(0, MARKS).join(' '));
    });
  }

  /** What the store was known to have may have been removed by the other one: each upload is looked at once more. */
  contest(now: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = 'UPDATE store SET contested_at = ? WHERE contested_at IS NULL RETURNING store_id';
      if ((await tx.execute(text, now)).length === 0) return;
      await tx.execute('DELETE FROM received_volumes');
      await tx.execute(`UPDATE transfers SET status = 'failed' WHERE status = 'storing' AND ${NOT_DONE}`);
    });
  }
}

/** From now on the database belongs to that store, as `identify` found it, which is its own, whoever had it before. */
export async function takeStore(
  tx: Sql,
  { id, mark }: { id: string; mark: string | undefined },
): Promise<void> {
  const text = 'UPDATE store SET store_id = ?, confirmed = 1, custody_marks = ?, contested_at = NULL';
  await tx.execute(text, id, mark ?? '');
}

/** For a database that takes over all that another one has, the store with it: the store is given the new id next. */
export async function handOver(tx: Sql, id: string, { marks, contestedAt }: StoreFacts): Promise<void> {
  const text = 'UPDATE store SET store_id = ?, confirmed = 0, custody_marks = ?, contested_at = ?';
  await tx.execute(text, id, marks.join(' '), contestedAt);
}
