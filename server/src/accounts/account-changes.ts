import { equalsNullable, type Sql, type Value } from '../platform/sql/sql.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';

/** The account as the request saw it; the change is made only if it is still so. */
export interface AccountBefore {
  username: string;
  passwordHash: string;
  /** Undefined: it had none. */
  keys: string | undefined;
}

/** Makes a change that replaces keys. Returns the account id; undefined if the account has changed since `before`. */
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
