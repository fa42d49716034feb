import { recordAudit } from '../operator/audit-table.ts';
import { insertInto, isSame, Queries, Refused, refusal, type Sql } from '../platform/sql/sql.ts';
import { outdateAccount } from '../upkeep/documents-table.ts';
import { endLongestUnused, endSessionsOf, insertSession, type Opening } from './sessions-table.ts';

/** A passkey by which an account is known. */
export interface PasskeyRow {
  credential_id: string;
  account_id: string;
  /** COSE, in base64url. */
  public_key: string;
  /** That its authenticator said last; one that counts never says the same again. */
  counter: number;
  name: string;
  /** 1: the key bag has an entry for it, so that it signs in without the password. */
  alone: number;
  created_at: number;
  used_at: number | null;
}

/** A signature of a passkey that was right; it counts if its challenge has not been answered before, nor that counter been reached. */
export interface UsedPasskey {
  credentialId: string;
  counter: number;
  challenge: string;
  /** When the challenge could not be answered any more anyhow. */
  until: number;
}

export const PASSKEY_COLUMNS = [
  ...['credential_id', 'account_id', 'public_key', 'counter', 'name', 'alone', 'created_at', 'used_at'],
] as const;
const COLUMNS = PASSKEY_COLUMNS.join(', ');

/** Whoever asks holds the account, so that the answer stays the same. */
export async function hasPasskeys(tx: Sql, accountId: string): Promise<boolean> {
  const text = 'SELECT 1 FROM passkeys WHERE account_id = ? LIMIT 1';
  return (await tx.query(text, accountId)).length > 0;
}

/** How many there were. */
export async function removePasskeys(tx: Sql, accountId: string): Promise<number> {
  const text = 'DELETE FROM passkeys WHERE account_id = ? RETURNING credential_id';
  return (await tx.execute(text, accountId)).length;
}

/** Their entries in the key bag are no more: from now on they only stand beside a password. */
export async function endAlone(tx: Sql, accountId: string): Promise<void> {
  await tx.execute('UPDATE passkeys SET alone = 0 WHERE account_id = ?', accountId);
}

/** False where it was answered before. */
async function useChallenge(
  tx: Sql,
  { challenge, until }: Pick<UsedPasskey, 'challenge' | 'until'>,
): Promise<boolean> {
  const first = await tx.execute(
    `${insertInto('used_challenges', ['challenge', 'expires_at'])} ON CONFLICT (challenge) DO NOTHING RETURNING challenge`,
    challenge,
    until,
  );
  return first.length === 1;
}

/** False where the challenge was answered before, the counter has been reached, or the passkey is not the account's. */
export async function usePasskey(
  tx: Sql,
  accountId: string,
  { credentialId, counter, challenge, until }: UsedPasskey,
  { now, alone = false }: { now: number; alone?: boolean },
): Promise<boolean> {
  if (!(await useChallenge(tx, { challenge, until }))) return false;
  const used = await tx.execute(
    `UPDATE passkeys SET counter = ?, used_at = ? WHERE credential_id = ? AND account_id = ?
     AND counter ${counter === 0 ? '=' : '<'} ? ${alone ? 'AND alone = 1' : ''} RETURNING credential_id`,
    ...[counter, now, credentialId, accountId, counter],
  );
  return used.length === 1;
}

/** Who changes the passkeys of an account: whoever has proven the password with this hash. */
interface By {
  username: string;
  proven: string;
  now: number;
}

/** The key bag that comes with a change, and the one that it takes the place of. */
export interface KeysChange {
  /** Undefined: it stays. */
  keys: string | undefined;
  expected: string | undefined;
}

export type NewPasskey = Omit<PasskeyRow, 'account_id' | 'used_at' | 'created_at'> &
  Pick<UsedPasskey, 'challenge' | 'until'>;

type NotAdded = 'taken' | 'too many' | 'answered';

/** Like codes they are in no account's document: a rescue brings accounts back without second factors. */
export class PasskeysTable extends Queries {
  async find(credentialId: string): Promise<PasskeyRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM passkeys WHERE credential_id = ?`;
    const [row] = await this.sql.query<PasskeyRow>(text, credentialId);
    return row;
  }

  /** All of an account, in the order in which they were added. */
  list(accountId: string): Promise<PasskeyRow[]> {
    const text = `SELECT ${COLUMNS} FROM passkeys WHERE account_id = ? ORDER BY created_at, credential_id`;
    return this.sql.query<PasskeyRow>(text, accountId);
  }

  /** `changed`: the password or the keys are others by now; `answered`: it was made for a challenge that another one was made for. */
  add(
    passkey: NewPasskey,
    { username, proven, now }: By,
    keys: KeysChange,
    most: number,
  ): Promise<'done' | 'changed' | NotAdded> {
    return this.sql
      .transaction<'done' | 'changed' | NotAdded>(async (tx) => {
        const accountId = await change(tx, { username, proven, now }, keys);
        if (accountId === undefined) return 'changed';
        const counted = 'SELECT COUNT(*) AS count FROM passkeys WHERE account_id = ?';
        const [row] = await tx.query<{ count: number }>(counted, accountId);
        if (row!.count >= most) throw new Refused('too many');
        const { credential_id, public_key, counter, name, alone } = passkey;
        const added = await tx.execute(
          `${insertInto('passkeys', PASSKEY_COLUMNS)} ON CONFLICT (credential_id) DO NOTHING RETURNING credential_id`,
          ...[credential_id, accountId, public_key, counter, name, alone, now, null],
        );
        if (added.length === 0) throw new Refused('taken');
        if (!(await useChallenge(tx, passkey))) throw new Refused('answered');
        const detail = `passkey: ${name}`;
        await recordAudit(tx, { at: now, actor: 'account', account: username, action: 'factor on', detail });
        return 'done';
      })
      .catch(refusal<NotAdded>);
  }

  /** Sessions that were opened with it end, but the one with that token. */
  remove(
    credentialId: string,
    { username, proven, now, tokenHash }: By & { tokenHash: string },
    keys: KeysChange,
  ): Promise<'done' | 'changed' | 'no passkey'> {
    return this.sql
      .transaction<'done' | 'changed' | 'no passkey'>(async (tx) => {
        const accountId = await change(tx, { username, proven, now }, keys);
        if (accountId === undefined) return 'changed';
        const [removed] = await tx.execute<{ name: string }>(
          'DELETE FROM passkeys WHERE credential_id = ? AND account_id = ? RETURNING name',
          credentialId,
          accountId,
        );
        if (!removed) throw new Refused('no passkey');
        await endSessionsOf(tx, username, credentialId, tokenHash);
        const detail = `passkey: ${removed.name}`;
        await recordAudit(tx, { at: now, actor: 'account', account: username, action: 'factor off', detail });
        return 'done';
      })
      .catch(refusal<'no passkey'>);
  }

  /** A session for whoever has answered with a passkey alone; undefined where it does not count, or the account is gone. */
  openSession(
    { account_id: accountId }: PasskeyRow,
    used: UsedPasskey,
    session: Opening,
    now: number,
  ): Promise<{ username: string } | undefined> {
    return this.sql.transaction(async (tx) => {
      // Held before the passkey, as everybody does: whoever removes it now ends this session as well.
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

  /** Challenges that were answered, once nobody can answer them any more. */
  async expire(now: number): Promise<void> {
    await this.sql.execute('DELETE FROM used_challenges WHERE expires_at <= ?', now);
  }
}

/** Holds the account, with another key bag where one comes along; undefined where it is not as it was proven any more. */
async function change(
  tx: Sql,
  { username, proven, now }: By,
  { keys, expected }: KeysChange,
): Promise<string | undefined> {
  const own = 'username = ? AND deleting_since IS NULL AND password_hash = ?';
  if (keys === undefined) {
    const text = `SELECT account_id FROM accounts WHERE ${own} ${tx.dialect.forUpdate}`;
    const [row] = await tx.query<{ account_id: string }>(text, username, proven);
    return row?.account_id;
  }
  const [is, values] = isSame(expected);
  const [row] = await tx.execute<{ account_id: string }>(
    `UPDATE accounts SET keys = ? WHERE ${own} AND keys ${is} RETURNING account_id`,
    ...[keys, username, proven, ...values],
  );
  if (!row) return undefined;
  await outdateAccount(tx, username);
  await recordAudit(tx, { at: now, actor: 'account', account: username, action: 'keys replaced' });
  return row.account_id;
}
