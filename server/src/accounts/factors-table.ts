import { type Actor, recordAudit } from '../operator/audit-table.ts';
import { Queries, Refused, refusal } from '../platform/sql/sql.ts';
import type { UsedCode, UsedFactor } from './accounts-table.ts';
import { removePasskeys, usePasskey } from './passkeys-table.ts';

/** Who turns a factor on or off: whoever has proven the password with this hash. */
interface By {
  username: string;
  proven: string;
  now: number;
}

/** The second factors of accounts. None is in the account's document: the volume store is not told what codes are made from. */
export class FactorsTable extends Queries {
  /** False where there is one already, or the password is another one by now. */
  setTotp({ secret, step }: UsedCode, { username, proven, now }: By): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const set = await tx.execute(
        `UPDATE accounts SET totp_secret = ?, totp_step = ? WHERE username = ? AND password_hash = ?
         AND deleting_since IS NULL AND totp_secret IS NULL RETURNING username`,
        ...[secret, step, username, proven],
      );
      if (set.length === 0) return false;
      await recordAudit(tx, {
        at: now,
        actor: 'account',
        account: username,
        action: 'factor on',
        detail: 'totp',
      });
      return true;
    });
  }

  /** False where it is another one by now, or what was shown was used. */
  removeTotp(used: UsedFactor, { username, proven, now }: By): Promise<boolean> {
    return this.sql
      .transaction(async (tx) => {
        const isCode = 'step' in used;
        const [is, values] = isCode
          ? ['= ? AND totp_step < ?', [used.secret, used.step]]
          : ['IS NOT NULL', []];
        const [removed] = await tx.execute<{ account_id: string }>(
          `UPDATE accounts SET totp_secret = NULL, totp_step = NULL WHERE username = ? AND password_hash = ?
           AND deleting_since IS NULL AND totp_secret ${is} RETURNING account_id`,
          ...[username, proven, ...values],
        );
        if (!removed) return false;
        if (!isCode && !(await usePasskey(tx, removed.account_id, used, { now }))) throw new Refused('used');
        await recordAudit(tx, {
          at: now,
          actor: 'account',
          account: username,
          action: 'factor off',
          detail: 'totp',
        });
        return true;
      })
      .catch((error: unknown) => refusal<'used'>(error) !== 'used');
  }

  /** All of them, by an operator, for somebody who has lost the device. Whether one was on; undefined where there is no such account. */
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
      await tx.execute(
        'UPDATE accounts SET totp_secret = NULL, totp_step = NULL WHERE username = ?',
        username,
      );
      const detail = [hadTotp && 'totp', passkeys > 0 && `passkeys: ${passkeys}`].filter(Boolean).join(', ');
      await recordAudit(tx, { at: now, actor, account: username, action: 'factor off', detail });
      return true;
    });
  }
}
