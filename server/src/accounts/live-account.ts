import { accountGone } from '../platform/errors.ts';
import type { Dialect, Sql } from '../platform/sql/sql.ts';
import { ADMIN_ACCOUNT } from '../upkeep/documents-table.ts';

/**
 * Finds an account that is there and is not being deleted; it stays so until the transaction ends. Whoever makes anything that
 * an account has asks this: a request may take an hour, and its account be gone by then, or its name another's.
 */
export const present = ({ forShare }: Dialect) =>
  `SELECT 1 FROM users WHERE account_id = ? AND leaving_since IS NULL ${forShare}`;

/** Where there is nobody to ask about: the administrator is no registered user. */
export const isAlwaysThere = (accountId: string) => accountId === ADMIN_ACCOUNT;

export async function holdAccount(tx: Sql, accountId: string): Promise<void> {
  if (isAlwaysThere(accountId)) return;
  if ((await tx.query(present(tx.dialect), accountId)).length === 0) throw accountGone();
}
