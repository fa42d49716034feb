import { type AccountLimits, type LimitsChange, limitNames } from '@szafa/protocol';
import { endSessions } from '../accounts/sessions-table.ts';
import { ALL_DIRS, joinHalves } from '../files/quota.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE, OPEN_COUNTS, parseOpenCounts } from '../transfers/transfer-rows.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';
import { type Actor, recordAudit } from './audit-table.ts';

/** An account as an operator sees it. */
export interface AccountRow extends AccountLimits {
  username: string;
  account_id: string;
  created_at: number;
  disabled_at: number | null;
  /** 1 if logins need a code. */
  totp: number;
  files: number;
  bytes: bigint;
  /** Bytes of enc_params and thumbnails. */
  extra: number;
}

type Row = Omit<AccountRow, 'bytes' | 'files' | 'extra'> & {
  files: number | null;
  extra: number | null;
  high: string | null;
  low: string | null;
};

/** Accounts with limits and usage; omits accounts that are being deleted. */
const SELECT = `SELECT a.username, a.account_id, a.created_at, a.disabled_at,
    CASE WHEN a.totp_secret IS NULL THEN 0 ELSE 1 END AS totp,
    ${limitNames.map((name) => `a.${name}`).join(', ')},
    u.files, u.extra_bytes AS extra, CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low
  FROM accounts a LEFT JOIN usage u ON u.owner = a.username AND u.dir_id = ${ALL_DIRS}
  WHERE a.deleting_since IS NULL`;

const accountOf = ({ files, high, low, extra, ...row }: Row): AccountRow => ({
  ...row,
  files: files ?? 0,
  extra: extra ?? 0,
  bytes: joinHalves(high ?? '0', low ?? '0'),
});

/** Accounts as operators see them. */
export class AccountRecords extends Queries {
  async list(after: string, limit: number): Promise<AccountRow[]> {
    const text = `${SELECT} AND a.username > ? ORDER BY a.username LIMIT ?`;
    return (await this.sql.query<Row>(text, after, limit)).map(accountOf);
  }

  async get(username: string): Promise<AccountRow | undefined> {
    const [row] = await this.sql.query<Row>(`${SELECT} AND a.username = ?`, username);
    return row && accountOf(row);
  }

  /** Counts sessions, passkeys and unfinished uploads. */
  async activity(username: string) {
    const text = 'SELECT COUNT(*) AS count, MAX(used_at) AS used_at FROM sessions WHERE username = ?';
    const [sessions] = await this.sql.query<{ count: number; used_at: number | null }>(text, username);
    const select =
      'SELECT COUNT(*) AS count FROM passkeys p JOIN accounts u ON u.account_id = p.account_id WHERE u.username = ?';
    const [passkeys] = await this.sql.query<{ count: number }>(select, username);
    const [open] = await this.sql.query<{ open: string }>(
      `SELECT ${OPEN_COUNTS} AS open FROM transfers o WHERE o.creator = ? AND o.${NOT_DONE}`,
      username,
    );
    const { count, used_at } = sessions!;
    return { passkeys: passkeys!.count, sessions: count, usedAt: used_at, ...parseOpenCounts(open!.open) };
  }

  /** Changes only the limits in `change`. False if there is no such account. */
  setLimits(username: string, change: LimitsChange, now: number, actor: Actor): Promise<boolean> {
    const named = limitNames.filter((name) => change[name] !== undefined);
    return this.sql.transaction(async (tx) => {
      const text = `UPDATE accounts SET ${named.map((name) => `${name} = ?`).join(', ')}
        WHERE username = ? AND deleting_since IS NULL RETURNING username`;
      const changed = await tx.execute(text, ...named.map((name) => change[name]!), username);
      if (changed.length === 0) return false;
      await markAccountStale(tx, username);
      const detail = named.map((name) => `${name} ${change[name] ?? 'as the settings say'}`).join(', ');
      const action = named.join() === 'quota_bytes' ? 'quota changed' : 'limits changed';
      await recordAudit(tx, { at: now, actor, account: username, action, detail });
      return true;
    });
  }

  /** Returns whether there is such an account. */
  setDisabled(username: string, disabled: boolean, now: number, actor: Actor): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const row = await lockAccount(tx, username);
      if (!row || (row.disabled_at !== null) === disabled) return row !== undefined;
      const text = 'UPDATE accounts SET disabled_at = ? WHERE username = ?';
      await tx.execute(text, disabled ? now : null, username);
      await markAccountStale(tx, username);
      await recordAudit(tx, { at: now, actor, account: username, action: disabled ? 'disabled' : 'enabled' });
      return true;
    });
  }

  /** Returns how many sessions were ended; undefined if there is no such account. */
  logout(username: string, now: number, actor: Actor): Promise<number | undefined> {
    return this.sql.transaction(async (tx) => {
      if (!(await lockAccount(tx, username))) return undefined;
      const ended = await endSessions(tx, username);
      const detail = String(ended);
      await recordAudit(tx, { at: now, actor, account: username, action: 'sessions ended', detail });
      return ended;
    });
  }
}

/** Undefined also for an account that is being deleted. */
async function lockAccount(tx: Sql, username: string): Promise<{ disabled_at: number | null } | undefined> {
  const text = `SELECT disabled_at FROM accounts WHERE username = ? AND deleting_since IS NULL ${tx.dialect.forUpdate}`;
  const [row] = await tx.query<{ disabled_at: number | null }>(text, username);
  return row;
}
