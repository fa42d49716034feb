import { limits } from '@szafa/protocol';
import { recordAudit } from '../operator/audit-table.ts';
import { hold, Queries, type Sql } from '../platform/sql/sql.ts';
import { close } from './share-parts.ts';

/** An account that may do anything at all. */
export const IS_PRESENT = (user: string) => `${user}.deleting_since IS NULL AND ${user}.disabled_at IS NULL`;
/** Whose account is one; with `s` for the share. */
export const OF_AN_ACCOUNT = `JOIN accounts u ON u.account_id = s.account_id AND ${IS_PRESENT('u')}`;
export const IS_OPEN = 's.ended_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > ?)';
/** The files of a share that are there, with `g` for their place in it. */
export const THERE = 'JOIN files f ON f.file_id = g.file_id AND f.owner = s.owner AND f.trashed_at = 0';

export interface ReceivedRow {
  id: string;
  owner: string;
  identity: string;
  letter: string;
  files: number;
  /** How many of them are there. */
  present: number;
  created_at: number;
  expires_at: number | null;
  downloads: number | null;
  downloaded: number;
}

/** Why nothing can be shared with an account: it is not there, it has been given too much, or the owner has no keys to sign with. */
export type Unfit = 'nobody' | 'overfilled' | 'no identity';

/** Whom a share is for, who stays there until the transaction ends; that transaction holds the owner. */
export async function recipientOf(
  tx: Sql,
  ownerId: string,
  username: string,
): Promise<Unfit | { accountId: string }> {
  const text = `SELECT u.account_id FROM accounts u WHERE u.username = ? AND ${IS_PRESENT('u')} AND u.identity IS NOT NULL ${tx.dialect.forShare}`;
  const [recipient] = await tx.query<{ account_id: string }>(text, username);
  if (!recipient) return 'nobody';
  const accountId = recipient.account_id;
  const signs = 'SELECT 1 FROM accounts WHERE account_id = ? AND identity IS NOT NULL';
  if ((await tx.query(signs, ownerId)).length === 0) return 'no identity';
  // Of two that give at the same time, the second counts what the first one gave.
  await hold(tx, `shares for ${accountId}`);
  const [count] = await tx.query<{ of_all: number; of_one: number | null }>(
    `SELECT COUNT(*) AS of_all, CAST(SUM(CASE WHEN account_id = ? THEN 1 ELSE 0 END) AS BIGINT) AS of_one
     FROM shares WHERE recipient_id = ? AND ended_at IS NULL`,
    ownerId,
    accountId,
  );
  const { ofAll, ofOne } = limits.sharesForAccount;
  return count!.of_all >= ofAll || (count!.of_one ?? 0) >= ofOne ? 'overfilled' : { accountId };
}

/** Ends shares that were for an account that is leaving; how many there were. Part of a transaction that holds it. */
export async function endShares(tx: Sql, recipientId: string, now: number, limit: number): Promise<number> {
  const shares = await tx.query<{ id: string }>(
    `SELECT id FROM shares WHERE recipient_id = ? AND ended_at IS NULL ORDER BY id LIMIT ? ${tx.dialect.forUpdate}`,
    recipientId,
    limit,
  );
  for (const { id } of shares) await close(tx, id, 'ended', now, true);
  return shares.length;
}

/** What other accounts share with one: the same shares, as the account sees them that they are for. */
export class ReceivedTable extends Queries {
  /** Those that are not over. */
  list(recipientId: string, now: number): Promise<ReceivedRow[]> {
    return this.sql.query<ReceivedRow>(
      `SELECT s.id, s.owner, COALESCE(u.identity, '') AS identity, s.letter, s.files, s.created_at, s.expires_at,
         s.downloads, s.downloaded,
         (SELECT COUNT(*) FROM share_files g ${THERE} WHERE g.share_id = s.id) AS present
       FROM shares s ${OF_AN_ACCOUNT} WHERE s.recipient_id = ? AND ${IS_OPEN}`,
      recipientId,
      now,
    );
  }

  /** The account wants it no more; its owner sees that it has ended. False where there is none. */
  end(id: string, recipientId: string, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<{ owner: string; recipient: string }>(
        `SELECT owner, recipient FROM shares WHERE id = ? AND recipient_id = ? AND ended_at IS NULL ${tx.dialect.forUpdate}`,
        id,
        recipientId,
      );
      if (!share) return false;
      await close(tx, id, 'ended', now, true);
      const detail = `${id} by ${share.recipient}`;
      await recordAudit(tx, {
        at: now,
        actor: 'account',
        account: share.owner,
        action: 'share ended',
        detail,
      });
      return true;
    });
  }
}
