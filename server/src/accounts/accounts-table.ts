import { randomBytes } from 'node:crypto';
import { type AccountLimits, ADMIN, limitNames } from '@szafa/protocol';
import { recordAudit } from '../operator/audit-table.ts';
import { exists, first, insertInto, Queries, type Sql } from '../platform/sql/sql.ts';
import { markAccountStale } from '../upkeep/documents-table.ts';
import { type AccountBefore, updateAccount } from './account-changes.ts';
import { ADMIN_ACCOUNT, isUsable, NO_ACCOUNT } from './account-rows.ts';
import { endAlone, hasPasskeys, type UsedFactor, usePasskey } from './factors-table.ts';
import { useInvitation } from './invitations-table.ts';
import { endLongestUnused, endSessions, insertSession, type LoginSession } from './sessions-table.ts';

/** Failed logins and the time of the last one. For an address as a whole, `failed_at` is the first failure in its window. */
export interface Failures {
  failures: number;
  failed_at: number;
}

/** In place of a username: counts failures of all names from an address. No account can have this name. */
const ANY_NAME = '';

const NEW_COLUMNS = [
  ...['username', 'account_id', 'password_hash', 'created_at', 'keys', 'identity', 'recovery_hash'],
  'disabled_at',
] as const;

export interface NewAccount {
  username: string;
  accountId: string;
  passwordHash: string;
  createdAt: number;
  keys?: string | undefined;
  identity?: string | undefined;
  recoveryHash?: string | undefined;
  disabledAt?: number | undefined;
  limits?: Partial<AccountLimits> | undefined;
}

/** False if the name is taken. */
export async function insertAccount(tx: Sql, account: NewAccount): Promise<boolean> {
  const { username, accountId, passwordHash, createdAt, keys = null, identity = null } = account;
  const { recoveryHash = null, disabledAt = null, limits = {} } = account;
  const rows = await tx.execute(
    `${insertInto('accounts', [...NEW_COLUMNS, ...limitNames])} ON CONFLICT (username) DO NOTHING RETURNING username`,
    ...[username, accountId, passwordHash, createdAt, keys, identity, recoveryHash, disabledAt],
    ...limitNames.map((name) => limits[name] ?? null),
  );
  return rows.length === 1;
}

/** The columns that logins are checked against. */
export interface Credentials {
  account_id: string;
  password_hash: string;
  recovery_hash: string | null;
  keys: string | null;
  disabled_at: number | null;
  /** The TOTP secret and the step of the last accepted code; null if codes are off. */
  totp_secret: string | null;
  totp_step: number | null;
  /** This account's limit of failed logins in a row, if an operator has set one. */
  login_attempts: number | null;
}

/** A password and the key bag that it opens; the two always change together. */
export interface NewSecrets {
  passwordHash: string;
  keys: string | undefined;
  /** Undefined keeps the current recovery key. */
  recoveryHash: string | undefined;
}

/** Null keeps the current recovery key. */
const SET_RECOVERY = 'recovery_hash = COALESCE(?, recovery_hash)';

export class AccountsTable extends Queries {
  /** Creates an account, with a session if one is given. False if the name is taken. */
  create(
    username: string,
    passwordHash: string,
    now: number,
    options: Pick<NewAccount, 'keys' | 'identity' | 'recoveryHash'> & {
      accountId?: string;
      session?: LoginSession;
      /** The hash of the invitation to use up. */
      invite?: string | undefined;
    } = {},
  ): Promise<boolean> {
    const { accountId = randomBytes(16).toString('hex'), session, invite, ...secrets } = options;
    return this.sql.transaction(async (tx) => {
      const account = { username, accountId, passwordHash, createdAt: now, ...secrets };
      if (!(await insertAccount(tx, account))) return false;
      await markAccountStale(tx, username);
      await recordAudit(tx, { at: now, account: username, action: 'registered', detail: accountId });
      if (session) await insertSession(tx, { ...session, username, accountId, now });
      if (invite !== undefined) await useInvitation(tx, invite, username, now);
      return true;
    });
  }

  /** Undefined if nobody has that name, or the account is being deleted. */
  credentials(username: string): Promise<Credentials | undefined> {
    return first<Credentials>(
      this.sql,
      `SELECT account_id, password_hash, recovery_hash, keys, disabled_at, totp_secret, totp_step, login_attempts
       FROM accounts WHERE username = ? AND deleting_since IS NULL`,
      username,
    );
  }

  isDisabled(accountId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM accounts WHERE account_id = ? AND disabled_at IS NOT NULL';
    return exists(this.sql, text, accountId);
  }

  /** The account id; undefined if nobody has that name. */
  async idOf(username: string): Promise<string | undefined> {
    if (username === ADMIN) return ADMIN_ACCOUNT;
    if (username === '') return NO_ACCOUNT;
    const text = 'SELECT account_id FROM accounts WHERE username = ?';
    return (await first<{ account_id: string }>(this.sql, text, username))?.account_id;
  }

  /** The key bag; undefined if there is none. */
  async keys(username: string): Promise<string | undefined> {
    const text = 'SELECT keys FROM accounts WHERE username = ?';
    return (await first<{ keys: string | null }>(this.sql, text, username))?.keys ?? undefined;
  }

  /** Returns the public keys; undefined also for accounts that are disabled or being deleted. */
  async identity(username: string): Promise<string | undefined> {
    const text = `SELECT u.identity FROM accounts u WHERE u.username = ? AND ${isUsable('u')}`;
    return (await first<{ identity: string | null }>(this.sql, text, username))?.identity ?? undefined;
  }

  /** Replaces the key bag. False if the account has changed since `before`. */
  replaceKeys(
    before: AccountBefore,
    next: Omit<NewSecrets, 'passwordHash'> & { identity?: string | undefined },
    now: number,
  ): Promise<boolean> {
    const { keys = null, identity = null, recoveryHash = null } = next;
    return this.sql.transaction(async (tx) => {
      const set = `keys = ?, identity = COALESCE(?, identity), ${SET_RECOVERY}`;
      const accountId = await updateAccount(tx, before, set, keys, identity, recoveryHash);
      if (accountId === undefined) return false;
      // A recovery started with the old recovery key must not finish.
      if (recoveryHash !== null) await endRecoveries(tx, accountId);
      await recordAudit(tx, { at: now, account: before.username, action: 'keys replaced' });
      return true;
    });
  }

  /** Sets password and keys and ends all other sessions. False if the account has changed since `before`. */
  changePassword(
    before: AccountBefore,
    secrets: NewSecrets,
    { tokenHash, now, noneAlone = false }: { tokenHash: string; now: number; noneAlone?: boolean },
  ): Promise<boolean> {
    const { username } = before;
    const { passwordHash, keys = null, recoveryHash = null } = secrets;
    return this.sql.transaction(async (tx) => {
      const set = `password_hash = ?, keys = ?, ${SET_RECOVERY}`;
      const accountId = await updateAccount(tx, before, set, passwordHash, keys, recoveryHash);
      if (accountId === undefined) return false;
      await endSessions(tx, username, tokenHash);
      await endRecoveries(tx, accountId);
      if (noneAlone) await endAlone(tx, accountId);
      await recordAudit(tx, { at: now, account: username, action: 'password changed' });
      return true;
    });
  }

  /**
   * Opens a session after the login check. False if password or factors have changed since, the code or the challenge has
   * been used, or the account is gone.
   */
  openSession(username: string, passwordHash: string, session: LoginSession, now: number, used?: UsedFactor) {
    return this.sql.transaction(async (tx) => {
      const [code, passkey] = used && 'step' in used ? [used, undefined] : [undefined, used];
      const own = 'username = ? AND password_hash = ? AND deleting_since IS NULL';
      // Locks the account: a password change waiting for this lock will end this session too, and no passkey can be added in
      // between.
      const [row] = code
        ? await tx.execute<{ account_id: string }>(
            `UPDATE accounts SET totp_step = ? WHERE ${own}
             AND totp_secret = ? AND totp_step < ? RETURNING account_id`,
            ...[code.step, username, passwordHash, code.secret, code.step],
          )
        : await tx.query<{ account_id: string }>(
            `SELECT account_id FROM accounts WHERE ${own}
             ${passkey ? '' : 'AND totp_secret IS NULL'} ${tx.dialect.forShare}`,
            ...[username, passwordHash],
          );
      if (!row) return false;
      const { account_id: accountId } = row;
      if (!used && (await hasPasskeys(tx, accountId))) return false;
      if (passkey && !(await usePasskey(tx, accountId, passkey, { now }))) return false;
      const by = passkey?.credentialId ?? null;
      await endLongestUnused(tx, username);
      await insertSession(tx, { ...session, username, accountId, now, passkey: by });
      return true;
    });
  }

  /** Returns the failed logins in a row for this name from this address, and the failed logins of all names from this address. */
  async failures(username: string, address: string): Promise<{ ofName: Failures; ofAddress: Failures }> {
    const rows = await this.sql.query<Failures & { username: string }>(
      `SELECT username, failures, failed_at FROM login_failures
       WHERE username IN (?, '${ANY_NAME}') AND address = ?`,
      ...[username, address],
    );
    const of = (name: string): Failures => {
      const { failures = 0, failed_at = 0 } = rows.find((row) => row.username === name) ?? {};
      return { failures, failed_at };
    };
    return { ofName: of(username), ofAddress: of(ANY_NAME) };
  }

  /** Counts a failed login. The count of the address as a whole starts again after `windowMs`. */
  async countFailure(username: string, address: string, now: number, windowMs: number): Promise<void> {
    const old = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at <= ?`;
    const recent = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at > ?`;
    await this.sql.execute(
      `INSERT INTO login_failures (username, address, failures, failed_at)
       VALUES (?, ?, 1, ?), ('${ANY_NAME}', ?, 1, ?)
       ON CONFLICT (username, address) DO UPDATE
       SET failures = CASE WHEN ${old} THEN 1 ELSE login_failures.failures + 1 END,
         failed_at = CASE WHEN ${recent} THEN login_failures.failed_at ELSE excluded.failed_at END`,
      ...[username, address, now, address, now, now - windowMs, now - windowMs],
    );
  }

  async clearFailures(username: string, address: string): Promise<void> {
    const text = 'DELETE FROM login_failures WHERE username = ? AND address = ?';
    await this.sql.execute(text, username, address);
  }

  async expire(failuresBefore: number): Promise<void> {
    await this.sql.execute('DELETE FROM login_failures WHERE failed_at < ?', failuresBefore);
  }
}

/** Invalidates the tokens of recoveries in progress. */
export async function endRecoveries(tx: Sql, accountId: string): Promise<void> {
  await tx.execute('DELETE FROM recovery_tokens WHERE account_id = ?', accountId);
}
