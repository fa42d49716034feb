import { recordAudit } from '../operator/audit-table.ts';
import { equalsNullable, first, Queries } from '../platform/sql/sql.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';
import { endRecoveries, type NewSecrets } from './accounts-table.ts';
import { removePasskeys } from './factors-table.ts';
import { keysChanged } from './key-bag.ts';
import { unknownRecovery } from './refusals.ts';
import { endSessions, insertSession, type LoginSession } from './sessions-table.ts';

/** Tokens that connect the two steps of a recovery; each can be used once. */
export class RecoveriesTable extends Queries {
  /** Replaces earlier tokens of the account. False if its recovery key has changed. */
  begin(username: string, recoveryHash: string, tokenHash: string, expiresAt: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const row = await first<{ account_id: string }>(
        tx,
        `SELECT account_id FROM accounts WHERE username = ? AND recovery_hash = ? AND deleting_since IS NULL AND disabled_at IS NULL
         ${tx.dialect.forUpdate}`,
        ...[username, recoveryHash],
      );
      if (!row) return false;
      await endRecoveries(tx, row.account_id);
      const text = 'INSERT INTO recovery_tokens (token_hash, account_id, expires_at) VALUES (?, ?, ?)';
      await tx.execute(text, tokenHash, row.account_id, expiresAt);
      return true;
    });
  }

  /** The account that a token belongs to. */
  find(tokenHash: string, now: number) {
    return first<{ username: string; keys: string | null; disabled_at: number | null }>(
      this.sql,
      `SELECT u.username, u.keys, u.disabled_at FROM recovery_tokens r JOIN accounts u ON u.account_id = r.account_id
       WHERE r.token_hash = ? AND r.expires_at > ? AND u.deleting_since IS NULL`,
      ...[tokenHash, now],
    );
  }

  /**
   * Uses up the token: sets all secrets, ends all sessions and opens a new one. If the keys have changed, the token stays
   * valid.
   */
  finish(
    tokenHash: string,
    expectedKeys: string | undefined,
    secrets: NewSecrets,
    session: LoginSession,
    now: number,
  ): Promise<void> {
    const { passwordHash, keys = null, recoveryHash = null } = secrets;
    return this.sql.transaction(async (tx) => {
      const unexpired = 'SELECT account_id FROM recovery_tokens WHERE token_hash = ? AND expires_at > ?';
      const token = await first<{ account_id: string }>(tx, unexpired, tokenHash, now);
      if (!token) throw unknownRecovery();
      const { account_id: accountId } = token;
      // Locks the account first, as everywhere else. Of two concurrent requests, the second no longer finds the token.
      const [is, values] = equalsNullable(expectedKeys);
      const [user] = await tx.execute<{ username: string }>(
        `UPDATE accounts SET password_hash = ?, keys = ?, recovery_hash = ?, totp_secret = NULL, totp_step = NULL
         WHERE account_id = ? AND deleting_since IS NULL AND disabled_at IS NULL AND keys ${is} RETURNING username`,
        ...[passwordHash, keys, recoveryHash, accountId, ...values],
      );
      if (!user) throw keysChanged(expectedKeys);
      const { username } = user;
      const used = 'DELETE FROM recovery_tokens WHERE token_hash = ? RETURNING token_hash';
      if ((await tx.execute(used, tokenHash)).length === 0) throw unknownRecovery();
      await endSessions(tx, username);
      await removePasskeys(tx, accountId);
      await markAccountStale(tx, username);
      await recordAudit(tx, { at: now, account: username, action: 'recovered' });
      await insertSession(tx, { ...session, username, accountId, now });
    });
  }

  async expire(now: number): Promise<void> {
    await this.sql.execute('DELETE FROM recovery_tokens WHERE expires_at <= ?', now);
  }
}
