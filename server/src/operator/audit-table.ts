import { Queries, type Sql } from '../platform/sql/sql.ts';

/** The account itself, an operator with a command, one with the system token, or the service by itself. */
export type Actor = 'account' | 'operator' | 'system token' | 'service';

export type Action =
  | 'registered'
  | 'password changed'
  | 'recovered'
  | 'keys replaced'
  | 'factor on'
  | 'factor off'
  | 'session ended'
  | 'sessions ended'
  | 'token made'
  | 'deleted'
  | 'disabled'
  | 'enabled'
  | 'quota changed'
  | 'limits changed'
  | 'invitation made'
  | 'invitation used'
  | 'invitation ended'
  | 'upload cancelled'
  | 'request made'
  | 'request ended'
  | 'share made'
  | 'share ended'
  | 'read-only on'
  | 'read-only off';

export interface Noted {
  at: number;
  actor: Actor;
  /** The name of the account that it was done to; empty where it concerns the whole service. */
  account: string;
  action: Action;
  /** What else there is to know, in a few words; never a secret, never an address. */
  detail?: string;
}

export type AuditRow = Required<Noted> & { seq: number };

/** What operators and accounts did to accounts. Written in the transaction of what it tells. */
export async function note(tx: Sql, { at, actor, account, action, detail = '' }: Noted): Promise<void> {
  await tx.execute(
    'INSERT INTO audit (at, actor, account, action, detail) VALUES (?, ?, ?, ?, ?)',
    at,
    actor,
    account,
    action,
    detail,
  );
}

const DAY_MS = 86_400_000;

/** Whether more than so many entries of an account are from the last day. */
export async function isNotedOften(tx: Sql, account: string, now: number, most: number): Promise<boolean> {
  const text = 'SELECT at FROM audit WHERE account = ? ORDER BY seq DESC LIMIT 1 OFFSET ?';
  const [row] = await tx.query<{ at: number }>(text, account, most);
  return row !== undefined && row.at > now - DAY_MS;
}

const COLUMNS = 'seq, at, actor, account, action, detail';

export class AuditTable extends Queries {
  /** The latest first; `before`: only what is older than the entry of that number. `account`: only what concerns it. */
  list({
    account,
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: {
    account?: string | undefined;
    before?: number | undefined;
    limit: number;
  }): Promise<AuditRow[]> {
    return account === undefined
      ? this.sql.query<AuditRow>(
          `SELECT ${COLUMNS} FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
          before,
          limit,
        )
      : this.sql.query<AuditRow>(
          `SELECT ${COLUMNS} FROM audit WHERE account = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
          account,
          before,
          limit,
        );
  }

  async expire(before: number): Promise<void> {
    await this.sql.execute('DELETE FROM audit WHERE at < ?', before);
  }
}
