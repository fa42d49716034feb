import { equalsNullable, type Sql, type Value } from '../platform/sql/sql.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';

/** The account as the request read it. An update applies only if none of these values has changed since. */
export interface AccountBefore {
  username: string;
  passwordHash: string;
  /** Undefined if the account had no keys. */
  keys: string | undefined;
}

/**
 * Updates an account and marks its document stale. Returns the account id; undefined if the account has changed since
 * `before`.
 */
export async function updateAccount(
  tx: Sql,
  { username, passwordHash, keys }: AccountBefore,
  set: string,
  ...values: Value[]
): Promise<string | undefined> {
  const [is, expected] = equalsNullable(keys);
  const [row] = await tx.execute<{ account_id: string }>(
    `UPDATE accounts SET ${set}
     WHERE username = ? AND deleting_since IS NULL AND password_hash = ? AND keys ${is} RETURNING account_id`,
    ...[...values, username, passwordHash, ...expected],
  );
  if (row) await markAccountStale(tx, username);
  return row?.account_id;
}
