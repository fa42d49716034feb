import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { countUpToLimit, exists, Queries, type Sql } from '../platform/sql/sql.ts';
import { notInvited } from './refusals.ts';

export interface InvitationRow {
  id: string;
  note: string;
  quota_bytes: number | null;
  created_at: number;
  expires_at: number;
}

const COLUMNS = 'id, note, quota_bytes, created_at, expires_at';

/** Uses up an invitation in the transaction that creates the account; throws if another registration has used it. */
export async function useInvitation(tx: Sql, tokenHash: string, username: string, now: number) {
  const [row] = await tx.execute<InvitationRow>(
    `DELETE FROM invitations WHERE token_hash = ? AND expires_at > ? RETURNING ${COLUMNS}`,
    ...[tokenHash, now],
  );
  if (!row) throw notInvited();
  if (row.quota_bytes !== null)
    await tx.execute('UPDATE accounts SET quota_bytes = ? WHERE username = ?', row.quota_bytes, username);
  await recordAudit(tx, { at: now, account: username, action: 'invitation used', detail: row.id });
}

/** Invitations. Each one allows one registration; their tokens are stored only as hashes. */
export class InvitationsTable extends Queries {
  create(tokenHash: string, invitation: InvitationRow, actor: Actor): Promise<void> {
    const { id, note: text, quota_bytes, created_at, expires_at } = invitation;
    return this.sql.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO invitations (token_hash, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`,
        ...[tokenHash, id, text, quota_bytes, created_at, expires_at],
      );
      await recordAudit(tx, { at: created_at, actor, account: '', action: 'invitation made', detail: id });
    });
  }

  isValid(tokenHash: string, now: number): Promise<boolean> {
    const text = 'SELECT 1 FROM invitations WHERE token_hash = ? AND expires_at > ?';
    return exists(this.sql, text, tokenHash, now);
  }

  /** Invitations that can still be used, ordered by id. */
  list(after: string, now: number, limit: number): Promise<InvitationRow[]> {
    return this.sql.query<InvitationRow>(
      `SELECT ${COLUMNS} FROM invitations WHERE id > ? AND expires_at > ? ORDER BY id LIMIT ?`,
      ...[after, now, limit],
    );
  }

  /** Includes expired invitations that the sweeper has not removed yet. */
  count(): Promise<number> {
    return countUpToLimit(this.sql, 'invitations');
  }

  /** False if there is no such invitation. */
  end(id: string, now: number, actor: Actor): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const gone = await tx.execute('DELETE FROM invitations WHERE id = ? RETURNING id', id);
      if (gone.length === 0) return false;
      await recordAudit(tx, { at: now, actor, account: '', action: 'invitation ended', detail: id });
      return true;
    });
  }

  async expire(now: number): Promise<void> {
    await this.sql.execute('DELETE FROM invitations WHERE expires_at <= ?', now);
  }
}
