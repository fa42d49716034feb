import { limits } from '@szafa/protocol';
import { TryLater } from '../platform/http/api-error.ts';
import { Queries, type Sql } from '../platform/sql/sql.ts';

/** The account itself, an operator (by command or with the system token), or the server. */
export type Actor = 'account' | 'operator' | 'system token' | 'service';

type AccountAction = 'registered' | 'recovered' | 'keys replaced' | 'deleted' | 'disabled' | 'enabled';
type LoginAction = 'password changed' | 'factor on' | 'factor off' | 'session ended' | 'sessions ended';
type GrantAction = `${'token' | 'invitation' | 'request' | 'share'} made`;
type EndAction = `${'invitation' | 'request' | 'share'} ended` | 'invitation used' | 'upload cancelled';
type OperatorAction = 'quota changed' | 'limits changed' | 'read-only on' | 'read-only off';

interface AuditEntry {
  at: number;
  /** 'account' by default. */
  actor?: Actor;
  /** The account concerned; empty if the entry is about the whole server. */
  account: string;
  action: AccountAction | LoginAction | GrantAction | EndAction | OperatorAction;
  /** More detail in a few words; never a secret or an address. */
  detail?: string;
}

type AuditRow = Required<AuditEntry> & { seq: number };

/** Writes an entry in the transaction of the change it describes. */
export async function recordAudit(
  tx: Sql,
  { at, actor = 'account', account, action, detail = '' }: AuditEntry,
): Promise<void> {
  const text = 'INSERT INTO audit_log (at, actor, account, action, detail) VALUES (?, ?, ?, ?, ?)';
  await tx.execute(text, at, actor, account, action, detail);
}

const DAY_MS = 86_400_000;
const RETRY_SECONDS = 3600;

/**
 * Throws 429 if the account has more than `most` entries from the last day. This bounds the audit log: creating and ending
 * tokens, shares and requests costs a client nothing, and each writes an entry.
 */
export async function limitAudit(
  tx: Sql,
  account: string,
  now: number,
  most: number = limits.auditEntriesPerDay,
): Promise<void> {
  const text = 'SELECT at FROM audit_log WHERE account = ? ORDER BY seq DESC LIMIT 1 OFFSET ?';
  const [row] = await tx.query<{ at: number }>(text, account, most);
  if (row !== undefined && row.at > now - DAY_MS)
    throw new TryLater(429, 'too many account changes today; try again tomorrow', RETRY_SECONDS);
}

const COLUMNS = 'seq, at, actor, account, action, detail';

export class AuditTable extends Queries {
  /** Lists entries of one account or of all, newest first; `before` is the sequence number to continue from. */
  list(limit: number, account?: string, before = Number.MAX_SAFE_INTEGER): Promise<AuditRow[]> {
    const [filter, values] = account === undefined ? ['', []] : ['account = ? AND', [account]];
    const text = `SELECT ${COLUMNS} FROM audit_log WHERE ${filter} seq < ? ORDER BY seq DESC LIMIT ?`;
    return this.sql.query<AuditRow>(text, ...values, before, limit);
  }

  async expire(before: number): Promise<void> {
    await this.sql.execute('DELETE FROM audit_log WHERE at < ?', before);
  }
}
