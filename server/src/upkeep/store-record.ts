import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';

/** The volume store that belongs to this database, and the state of the pair. */
export interface StoreFacts {
  /** Random id, created with the tables; the store holds the same id. */
  id: string;
  /** Identifies the server to its clients, wherever its stores move. Random, created with the tables. */
  serviceId: string;
  /** Whether the store has been seen with this id. From then on, a store without it is refused. */
  confirmed: boolean;
  /** Marks, newest first. The store holds one of these if this database used it last. */
  marks: string[];
  /** When it was found that another database had used the store. Until an operator resolves this, nothing is removed. */
  contestedAt: number | null;
  /** When an operator made the server read-only. */
  readOnlyAt: number | null;
}

/** More than two, because a late write to the store may restore an older mark. */
const MARKS = 8;

type Row = Omit<StoreFacts, 'confirmed' | 'marks'> & { confirmed: number; marks: string };

export class StoreRecord extends Queries {
  async get(): Promise<StoreFacts> {
    const text = `SELECT store_id AS id, service_id AS "serviceId", confirmed, custody_marks AS marks,
        contested_at AS "contestedAt", read_only_at AS "readOnlyAt" FROM store`;
    const row = (await this.sql.query<Row>(text))[0]!;
    return { ...row, confirmed: row.confirmed === 1, marks: row.marks.split(' ').filter(Boolean) };
  }

  /** Turns read-only mode on or off; false if nothing changed. Uploads do not expire while it is on. */
  setReadOnly(on: boolean, now: number, actor: Actor): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const text = `UPDATE store SET read_only_at = ? WHERE read_only_at IS ${on ? 'NULL' : 'NOT NULL'} RETURNING store_id`;
      const changed = await tx.execute(text, on ? now : null);
      if (changed.length === 0) return false;
      if (!on) {
        const open = "touched_at < ? AND status IN ('uploading', 'failed')";
        await tx.execute(`UPDATE transfers SET touched_at = ? WHERE ${open}`, now, now);
      }
      await recordAudit(tx, { at: now, actor, account: '', action: on ? 'read-only on' : 'read-only off' });
      return true;
    });
  }

  /** Sets the service id of a database that replaces another one: passwords depend on it. */
  async setServiceId(id: string): Promise<void> {
    await this.sql.execute('UPDATE store SET service_id = ?', id);
  }

  async confirm(): Promise<void> {
    await this.sql.execute('UPDATE store SET confirmed = 1 WHERE confirmed = 0');
  }

  /** The secret that authenticates challenges on all nodes. Random, created with the tables. */
  async challengeSecret(): Promise<string> {
    const [row] = await this.sql.query<{ challenge_secret: string }>('SELECT challenge_secret FROM store');
    return row!.challenge_secret;
  }

  /** Adds a mark. Also keeps `found`, the mark in the store, in case the new one never reaches the store. */
  addMark(mark: string, found: string | undefined): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = `SELECT custody_marks AS marks FROM store ${tx.dialect.forUpdate}`;
      const [row] = await tx.query<Pick<Row, 'marks'>>(text);
      const kept = new Set([mark, ...(found === undefined ? [] : [found]), ...row!.marks.split(' ')]);
      await tx.execute('UPDATE store SET custody_marks = ?', [...kept].slice(0, MARKS).join(' '));
    });
  }

  /** Records a contest. The other database may have removed volumes, so every open upload is checked again. */
  contest(now: number): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const text = 'UPDATE store SET contested_at = ? WHERE contested_at IS NULL RETURNING store_id';
      if ((await tx.execute(text, now)).length === 0) return;
      await tx.execute('DELETE FROM received_volumes');
      await tx.execute(`UPDATE transfers SET status = 'failed' WHERE status = 'storing' AND ${NOT_DONE}`);
    });
  }
}

/** Makes the store, as read by `identify`, belong to the database. */
export async function adoptStore(
  tx: Sql,
  { id, mark }: { id: string; mark: string | undefined },
): Promise<void> {
  const text = 'UPDATE store SET store_id = ?, confirmed = 1, custody_marks = ?, contested_at = NULL';
  await tx.execute(text, id, mark ?? '');
}

/** Prepares a database to take over the content and store of another one; the caller then writes the new id to the store. */
export async function takeOverStore(tx: Sql, id: string, { marks, contestedAt }: StoreFacts): Promise<void> {
  const text = 'UPDATE store SET store_id = ?, confirmed = 0, custody_marks = ?, contested_at = ?';
  await tx.execute(text, id, marks.join(' '), contestedAt);
}
