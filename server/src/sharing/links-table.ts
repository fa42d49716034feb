import type { Ending } from '@szafa/protocol';
import { isUsable } from '../accounts/account-rows.ts';
import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { countUpToLimit, first, Queries, type Sql } from '../platform/sql/sql.ts';

/** Joins the owner (`c`) of a link (`l`), if the account can be used. */
export const JOIN_OWNER = `JOIN accounts c ON c.account_id = l.account_id AND ${isUsable('c')}`;
export const IS_OPEN = 'l.ended_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > ?)';

/** Columns that decide whether a link has ended. */
export interface LinkState {
  expires_at: number | null;
  end_reason: Ending | null;
}

export const endingAt = ({ end_reason, expires_at }: LinkState, now: number): Ending | null =>
  end_reason ?? (expires_at !== null && expires_at <= now ? 'expired' : null);

/** Shares or file requests: rows with an owner, the owner's note (`own`), an expiry and an end. */
export abstract class LinksTable<Row> extends Queries {
  protected abstract readonly table: 'shares' | 'file_requests';
  protected abstract readonly noun: 'share' | 'request';
  /** The columns of `Row`, where `l` is the link. */
  protected abstract readonly columns: string;

  /** Ends a link. The row is kept for a while to record why it ended. */
  protected abstract endRow(tx: Sql, id: string, now: number): Promise<void>;

  /** Lists open links of all accounts or of one, by id. */
  listOpen(after: string, limit: number, owner?: string): Promise<Row[]> {
    const ofOwner = owner === undefined ? '' : 'AND l.owner = ?';
    return this.sql.query<Row>(
      `SELECT ${this.columns} FROM ${this.table} l WHERE l.id > ? AND l.ended_at IS NULL ${ofOwner} ORDER BY l.id LIMIT ?`,
      ...[after, ...(owner === undefined ? [] : [owner]), limit],
    );
  }

  count(): Promise<number> {
    return countUpToLimit(this.sql, `${this.table} WHERE ended_at IS NULL`);
  }

  /**
   * Ends a link. With `owner`, only a link of that owner, which also disappears from the owner's list. False if there is
   * none.
   */
  end(id: string, now: number, actor: Actor, owner?: string): Promise<boolean> {
    const { table, noun } = this;
    return this.sql.transaction(async (tx) => {
      const text = `SELECT owner, ended_at, own FROM ${table} WHERE id = ? ${tx.dialect.forUpdate}`;
      const link = await first<{ owner: string; ended_at: number | null; own: string }>(tx, text, id);
      if (!link || link.own === '' || (owner !== undefined && link.owner !== owner)) return false;
      if (owner !== undefined) await tx.execute(`UPDATE ${table} SET own = '' WHERE id = ?`, id);
      if (link.ended_at !== null) return owner !== undefined;
      await this.endRow(tx, id, now);
      await recordAudit(tx, { at: now, actor, account: link.owner, action: `${noun} ended`, detail: id });
      return true;
    });
  }
}
