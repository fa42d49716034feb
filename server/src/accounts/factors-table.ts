import { limits } from '@szafa/protocol';
import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { countUpToLimit, exists, first, insertInto, Queries, type Sql } from '../platform/sql/sql.ts';
import { type AccountBefore, updateAccount } from './account-changes.ts';
import { accountChanged, unusablePasskey } from './refusals.ts';
import { endLongestUnused, endSessionsOf, insertSession, type LoginSession } from './sessions-table.ts';

export interface PasskeyRow {
  credential_id: string;
  account_id: string;
  /** COSE key in base64url. */
  public_key: string;
  /** The last signature counter received. An authenticator that counts never sends the same value twice. */
  counter: number;
  name: string;
  /** 1 if the key bag has an entry for this passkey, so that it can sign in without the password. */
  alone: number;
  created_at: number;
  used_at: number | null;
}

/** A signed challenge. It is accepted only if it has not been answered before. */
export interface UsedChallenge {
  challenge: string;
  expiresAt: number;
}

/** A valid signature. It is accepted only if its challenge is new and its counter is higher than the last one. */
export interface UsedPasskey extends UsedChallenge {
  credentialId: string;
  counter: number;
}

/** A correct code for this secret. It is accepted only if no code of the same or a later step has been used. */
export interface UsedCode {
  secret: string;
  step: number;
}

export type UsedFactor = UsedCode | UsedPasskey;

export const PASSKEY_COLUMNS = [
  ...['credential_id', 'account_id', 'public_key', 'counter', 'name', 'alone', 'created_at', 'used_at'],
] as const;
const COLUMNS = PASSKEY_COLUMNS.join(', ');

/** The result stays true until the transaction ends, provided the caller has locked the account. */
export const hasPasskeys = (tx: Sql, accountId: string) =>
  exists(tx, 'SELECT 1 FROM passkeys WHERE account_id = ? LIMIT 1', accountId);

/** Returns the number of passkeys removed. */
export async function removePasskeys(tx: Sql, accountId: string): Promise<number> {
  const text = 'DELETE FROM passkeys WHERE account_id = ? RETURNING credential_id';
  return (await tx.execute(text, accountId)).length;
}

/** Makes all passkeys second factors only: the key bag has no entries for them any more. */
export async function endAlone(tx: Sql, accountId: string): Promise<void> {
  await tx.execute('UPDATE passkeys SET alone = 0 WHERE account_id = ?', accountId);
}

/** False if the challenge was answered before. */
async function useChallenge(tx: Sql, { challenge, expiresAt }: UsedChallenge): Promise<boolean> {
  const first = await tx.execute(
    `${insertInto('used_challenges', ['challenge', 'expires_at'])} ON CONFLICT (challenge) DO NOTHING RETURNING challenge`,
    ...[challenge, expiresAt],
  );
  return first.length === 1;
}

/** False if the challenge was answered before, the counter is not higher, or the passkey is not the account's. */
export async function usePasskey(
  tx: Sql,
  accountId: string,
  used: UsedPasskey,
  { now, alone = false }: { now: number; alone?: boolean },
): Promise<boolean> {
  if (!(await useChallenge(tx, used))) return false;
  const { credentialId, counter } = used;
  const rows = await tx.execute(
    `UPDATE passkeys SET counter = ?, used_at = ? WHERE credential_id = ? AND account_id = ?
     AND counter ${counter === 0 ? '=' : '<'} ? ${alone ? 'AND alone = 1' : ''} RETURNING credential_id`,
    ...[counter, now, credentialId, accountId, counter],
  );
  return rows.length === 1;
}

type ProvenAccount = AccountBefore & { now: number };

const CLEAR_TOTP = 'UPDATE accounts SET totp_secret = NULL, totp_step = NULL WHERE account_id = ?';

/** TOTP secrets. They are not part of the account's document: the volume store must not learn them. */
export class FactorsTable extends Queries {
  /** False if codes are on already, or the password has changed. */
  setTotp({ secret, step }: UsedCode, { username, passwordHash, now }: ProvenAccount): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute(
        `UPDATE accounts SET totp_secret = ?, totp_step = ? WHERE username = ? AND password_hash = ?
         AND deleting_since IS NULL AND totp_secret IS NULL RETURNING username`,
        ...[secret, step, username, passwordHash],
      );
      if (!row) return false;
      await recordAudit(tx, { at: now, account: username, action: 'factor on', detail: 'totp' });
      return true;
    });
  }

  /** False if the password or the secret has changed, or the factor was used before. */
  removeTotp(used: UsedFactor, { username, passwordHash, now }: ProvenAccount): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const isCode = 'step' in used;
      const [is, values] = isCode ? ['= ? AND totp_step < ?', [used.secret, used.step]] : ['IS NOT NULL', []];
      const where = `username = ? AND password_hash = ? AND deleting_since IS NULL AND totp_secret ${is}`;
      const text = `SELECT account_id FROM accounts WHERE ${where} ${tx.dialect.forUpdate}`;
      const row = await first<{ account_id: string }>(tx, text, username, passwordHash, ...values);
      if (!row) return false;
      if (!isCode && !(await usePasskey(tx, row.account_id, used, { now }))) return false;
      await tx.execute(CLEAR_TOTP, row.account_id);
      await recordAudit(tx, { at: now, account: username, action: 'factor off', detail: 'totp' });
      return true;
    });
  }

  /** Turns off codes and passkeys for an operator. Returns whether there were any; undefined if there is no such account. */
  clear(username: string, now: number, actor: Actor): Promise<boolean | undefined> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.query<{ account_id: string; totp_secret: string | null }>(
        `SELECT account_id, totp_secret FROM accounts WHERE username = ? AND deleting_since IS NULL ${tx.dialect.forUpdate}`,
        username,
      );
      if (!row) return undefined;
      const passkeys = await removePasskeys(tx, row.account_id);
      const hadTotp = row.totp_secret !== null;
      if (passkeys === 0 && !hadTotp) return false;
      await tx.execute(CLEAR_TOTP, row.account_id);
      const detail = [hadTotp && 'totp', passkeys > 0 && `passkeys: ${passkeys}`].filter(Boolean).join(', ');
      await recordAudit(tx, { at: now, actor, account: username, action: 'factor off', detail });
      return true;
    });
  }
}

export type NewPasskey = Omit<PasskeyRow, 'account_id' | 'used_at' | 'created_at'> & UsedChallenge;

/** Passkeys. Like TOTP secrets they are not part of the account's document: a rescue restores accounts without second factors. */
export class PasskeysTable extends Queries {
  find(credentialId: string): Promise<PasskeyRow | undefined> {
    return first<PasskeyRow>(
      this.sql,
      `SELECT ${COLUMNS} FROM passkeys WHERE credential_id = ?`,
      credentialId,
    );
  }

  /** Oldest first. */
  list(accountId: string): Promise<PasskeyRow[]> {
    const text = `SELECT ${COLUMNS} FROM passkeys WHERE account_id = ? ORDER BY created_at, credential_id`;
    return this.sql.query<PasskeyRow>(text, accountId);
  }

  /** Adds a passkey. `keys` replaces the key bag in the same transaction. */
  add(passkey: NewPasskey, by: ProvenAccount, keys?: string, most: number = limits.passkeys.most) {
    return this.sql.transaction(async (tx) => {
      const accountId = await lockWithKeys(tx, by, keys);
      if ((await countUpToLimit(tx, 'passkeys WHERE account_id = ?', accountId)) >= most)
        throw new ApiError(409, 'you have too many passkeys; remove some of them');
      const { credential_id, public_key, counter, name, alone } = passkey;
      const added = await tx.execute(
        `${insertInto('passkeys', PASSKEY_COLUMNS)} ON CONFLICT (credential_id) DO NOTHING RETURNING credential_id`,
        ...[credential_id, accountId, public_key, counter, name, alone, by.now, null],
      );
      if (added.length === 0) throw new ApiError(409, 'this passkey has been added already');
      // Another passkey has already used this challenge.
      if (!(await useChallenge(tx, passkey))) throw unusablePasskey();
      const detail = `passkey: ${name}`;
      await recordAudit(tx, { at: by.now, account: by.username, action: 'factor on', detail });
    });
  }

  /** Removes a passkey and ends the sessions opened with it, except the one with this token. */
  remove(credentialId: string, by: ProvenAccount & { tokenHash: string }, keys?: string) {
    return this.sql.transaction(async (tx) => {
      const accountId = await lockWithKeys(tx, by, keys);
      const text = 'DELETE FROM passkeys WHERE credential_id = ? AND account_id = ? RETURNING name';
      const [removed] = await tx.execute<{ name: string }>(text, credentialId, accountId);
      if (!removed) throw new ApiError(404, 'you have no such passkey');
      await endSessionsOf(tx, by.username, credentialId, by.tokenHash);
      const detail = `passkey: ${removed.name}`;
      await recordAudit(tx, { at: by.now, account: by.username, action: 'factor off', detail });
    });
  }

  /** Opens a session for a passkey used without a password; undefined if the passkey is not accepted or the account is gone. */
  openSession({ account_id: accountId }: PasskeyRow, used: UsedPasskey, session: LoginSession, now: number) {
    return this.sql.transaction(async (tx) => {
      // Locks the account before the passkey, as everywhere else: a removal of the passkey waiting for this lock will end
      // this session too.
      const [row] = await tx.query<{ username: string }>(
        `SELECT username FROM accounts WHERE account_id = ? AND deleting_since IS NULL ${tx.dialect.forShare}`,
        accountId,
      );
      if (!row || !(await usePasskey(tx, accountId, used, { now, alone: true }))) return undefined;
      const { username } = row;
      await endLongestUnused(tx, username);
      await insertSession(tx, { ...session, username, accountId, now, passkey: used.credentialId });
      return { username };
    });
  }

  /** Removes answered challenges that have expired. */
  async expire(now: number): Promise<void> {
    await this.sql.execute('DELETE FROM used_challenges WHERE expires_at <= ?', now);
  }
}

/** Locks the account and replaces its key bag if `keys` is given; throws if password or keys have changed. */
async function lockWithKeys(tx: Sql, by: ProvenAccount, keys: string | undefined): Promise<string> {
  const { username, passwordHash, now } = by;
  if (keys === undefined) {
    const row = await first<{ account_id: string }>(
      tx,
      `SELECT account_id FROM accounts WHERE username = ? AND deleting_since IS NULL AND password_hash = ? ${tx.dialect.forUpdate}`,
      ...[username, passwordHash],
    );
    if (!row) throw accountChanged();
    return row.account_id;
  }
  const accountId = await updateAccount(tx, by, 'keys = ?', keys);
  if (accountId === undefined) throw accountChanged();
  await recordAudit(tx, { at: now, account: username, action: 'keys replaced' });
  return accountId;
}
