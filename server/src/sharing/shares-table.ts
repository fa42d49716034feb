import { createHash } from 'node:crypto';
import { type Ending, limits } from '@szafa/protocol';
import { requireLiveAccount } from '../accounts/account-rows.ts';
import { isFileId, JOIN_BLOCK, READABLE, type ReadableRow, readableAt } from '../files/files-table.ts';
import { type Actor, limitAudit, recordAudit } from '../operator/audit-table.ts';
import { countUpToLimit, insertInto, Queries, type Sql, takeNamedLock } from '../platform/sql/sql.ts';
import {
  type ActiveShare,
  endShare,
  findRecipient,
  IS_OPEN,
  insertFiles,
  isUsable,
  JOIN_FILES,
  JOIN_OWNER,
  LISTED,
  type NewShare,
  type OwnShareRow,
  type ReceivedRow,
  type RecipientProblem,
  SHARE_COLUMNS,
  type ShareAccess,
  type SharedVolume,
  type ShareRow,
  TICKET_COLUMNS,
} from './share-rows.ts';
import type { AddressLimit } from './visitors.ts';

const NO_RECIPIENT = { accessHash: null, username: null, letter: null };

const THIS_TICKET = 'share_id = ? AND ticket_hash = ?';

/**
 * Shares: files that an owner gives to anyone who knows a link, or to one account. A ticket is the right to one download:
 * the transaction that creates it counts the download, and the ticket then reads as often as needed. Of tickets, and of
 * the value that proves knowledge of a link, only digests are stored.
 */
export class SharesTable extends Queries {
  create(
    share: NewShare,
    mostEntries?: number,
  ): Promise<'created' | 'taken' | 'too many' | RecipientProblem | { unknown: string[] }> {
    const { id, owner, accountId, files, now } = share;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await takeNamedLock(tx, `shares ${accountId}`);
      const { accessHash, username, letter } = { ...NO_RECIPIENT, ...share.for };
      const [same] = await tx.query<
        Record<'account_id' | 'header', string> &
          Record<'access_hash' | 'recipient' | 'letter', string | null>
      >('SELECT account_id, header, access_hash, recipient, letter FROM shares WHERE id = ?', id);
      if (same) {
        const own = same.account_id === accountId && same.header === share.header;
        const toSame =
          same.access_hash === accessHash && same.recipient === username && same.letter === letter;
        return own && toSame ? 'created' : 'taken';
      }
      if (await this.#isFull(tx, share)) return 'too many';
      await limitAudit(tx, owner, now, mostEntries);
      const there = await tx.query<{ file_id: string }>(
        `SELECT file_id FROM files WHERE file_id ${tx.dialect.inJsonList} AND owner = ? AND trashed_at = 0`,
        JSON.stringify(files.filter(isFileId)),
        owner,
      );
      if (there.length < files.length) {
        const known = new Set(there.map(({ file_id }) => file_id));
        return { unknown: files.filter((file) => !known.has(file)) };
      }
      // Last, so that a caller without files cannot use it to test names.
      const recipient =
        username === null ? { accountId: null } : await findRecipient(tx, accountId, username);
      if (typeof recipient === 'string') return recipient;
      await tx.execute(
        insertInto('shares', SHARE_COLUMNS),
        ...[id, owner, accountId, share.header, accessHash, share.own, files.length, now, share.expiresAt],
        ...[share.downloads, 0, null, null, null, username, recipient.accountId, letter],
      );
      await insertFiles(tx, id, files);
      const detail = username === null ? id : `${id} for ${username}`;
      await recordAudit(tx, { at: now, actor: 'account', account: owner, action: 'share made', detail });
      return 'created';
    });
  }

  async #isFull(tx: Sql, { owner, files, header }: NewShare): Promise<boolean> {
    const [sums] = await tx.query<{ shares: number; files: number | null; chars: number | null }>(
      `SELECT COUNT(*) AS shares, CAST(SUM(files) AS BIGINT) AS files, CAST(SUM(LENGTH(header)) AS BIGINT) AS chars
       FROM shares WHERE owner = ? AND own <> ''`,
      owner,
    );
    const most = limits.sharesOfAccount;
    return (
      sums!.shares >= most.shares ||
      (sums!.files ?? 0) + files.length > most.files ||
      (sums!.chars ?? 0) + header.length > most.headerChars
    );
  }

  /** Lists the shares of an account, without those that the owner ended. */
  list(owner: string): Promise<OwnShareRow[]> {
    return this.sql.query<OwnShareRow>(
      `SELECT ${LISTED}, s.own, (SELECT COUNT(*) FROM share_files g ${JOIN_FILES} WHERE g.share_id = s.id) AS present
       FROM shares s WHERE s.owner = ? AND s.own <> ''`,
      owner,
    );
  }

  /** Lists open shares of all accounts or of one, by id. */
  listOpen(after: string, limit: number, owner?: string): Promise<ShareRow[]> {
    const ofOwner = owner === undefined ? '' : 'AND s.owner = ?';
    return this.sql.query<ShareRow>(
      `SELECT ${LISTED} FROM shares s WHERE s.id > ? AND s.ended_at IS NULL ${ofOwner} ORDER BY s.id LIMIT ?`,
      ...[after, ...(owner === undefined ? [] : [owner]), limit],
    );
  }

  count(): Promise<number> {
    return countUpToLimit(this.sql, 'shares WHERE ended_at IS NULL');
  }

  /** Replaces the owner's note if it has the digest `match`; false if the owner has no such share. */
  writeOwn(id: string, owner: string, own: string, match: string): Promise<'written' | 'changed' | false> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<{ own: string }>(
        `SELECT own FROM shares WHERE id = ? AND owner = ? AND own <> '' ${tx.dialect.forUpdate}`,
        id,
        owner,
      );
      if (!share) return false;
      if (createHash('sha256').update(share.own).digest('hex') !== match) return 'changed';
      await tx.execute('UPDATE shares SET own = ? WHERE id = ?', own, id);
      return 'written';
    });
  }

  /** With `owner`, ends only a share of that owner, and removes it from the list. False if there is none. */
  end(id: string, now: number, actor: Actor, owner?: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<{ owner: string; ended_at: number | null; own: string }>(
        `SELECT owner, ended_at, own FROM shares WHERE id = ? ${tx.dialect.forUpdate}`,
        id,
      );
      if (!share || share.own === '' || (owner !== undefined && share.owner !== owner)) return false;
      if (share.ended_at !== null) {
        // It has ended before; the owner removes it from the list.
        if (owner !== undefined) await tx.execute("UPDATE shares SET own = '' WHERE id = ?", id);
        return owner !== undefined;
      }
      await endShare(tx, id, 'ended', now, owner === undefined);
      await recordAudit(tx, { at: now, actor, account: share.owner, action: 'share ended', detail: id });
      return true;
    });
  }

  /** Undefined if there is no such share, or `access` does not open it. */
  async find(
    id: string,
    access: ShareAccess,
    now: number,
  ): Promise<ActiveShare | { ending: Ending } | undefined> {
    const [row] = await this.sql.query<
      ActiveShare & { access_hash: string | null; recipient_id: string | null; end_reason: Ending | null }
    >(
      `SELECT s.access_hash, s.recipient_id, s.files, s.expires_at, s.downloads, s.downloaded, s.end_reason
       FROM shares s ${JOIN_OWNER} WHERE s.id = ?`,
      id,
    );
    if (!row) return undefined;
    const { access_hash: accessHash, recipient_id: recipientId, end_reason: ending, ...share } = row;
    const opens =
      'accessHash' in access ? access.accessHash === accessHash : access.recipientId === recipientId;
    if (!opens) return undefined;
    if (ending !== null) return { ending };
    return share.expires_at !== null && share.expires_at <= now ? { ending: 'expired' } : share;
  }

  async header(id: string): Promise<string> {
    const [row] = await this.sql.query<{ header: string }>('SELECT header FROM shares WHERE id = ?', id);
    return row?.header ?? '';
  }

  /** The numbers of its files that still exist. */
  async present(id: string): Promise<number[]> {
    const rows = await this.sql.query<{ number: number }>(
      `SELECT g.number FROM shares s JOIN share_files g ON g.share_id = s.id ${JOIN_FILES} WHERE s.id = ? ORDER BY g.number`,
      id,
    );
    return rows.map(({ number }) => number);
  }

  async hasTicket(id: string, ticketHash: string, now: number): Promise<boolean> {
    const text = `SELECT 1 FROM share_tickets WHERE ${THIS_TICKET} AND expires_at > ?`;
    return (await this.sql.query(text, id, ticketHash, now)).length > 0;
  }

  /** Creates a ticket and counts its download, unless the ticket exists already. */
  takeTicket(
    id: string,
    ticketHash: string,
    now: number,
    { most = limits.ticketsOfShare, from }: { most?: number; from?: AddressLimit | undefined } = {},
  ): Promise<{ expiresAt: number; isNew: boolean } | 'used up' | 'busy' | 'ended'> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<Pick<ShareRow, 'expires_at' | 'downloads' | 'downloaded'>>(
        `SELECT expires_at, downloads, downloaded FROM shares s WHERE s.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
        id,
        now,
      );
      if (!share) return 'ended';
      const [ticket] = await tx.query<{ expires_at: number }>(
        `SELECT expires_at FROM share_tickets WHERE ${THIS_TICKET}`,
        id,
        ticketHash,
      );
      if (ticket && ticket.expires_at > now) return { expiresAt: ticket.expires_at, isNew: false };
      if (share.downloads !== null && share.downloaded >= share.downloads) return 'used up';
      const [count] = await tx.query<{ count: number; own: number }>(
        `SELECT COUNT(*) AS count, COUNT(CASE WHEN address = ? THEN 1 END) AS own
         FROM share_tickets WHERE share_id = ?`,
        from?.address ?? null,
        id,
      );
      if (count!.count >= most || (from && count!.own >= from.most)) return 'busy';
      const until = now + limits.ticketSeconds * 1000;
      const expiresAt = share.expires_at === null ? until : Math.min(until, share.expires_at);
      // An expired ticket counts as none.
      if (ticket) await tx.execute(`DELETE FROM share_tickets WHERE ${THIS_TICKET}`, id, ticketHash);
      await tx.execute(
        `UPDATE shares SET downloaded = downloaded + 1,
           used_at = CASE WHEN downloaded + 1 >= downloads THEN CAST(? AS BIGINT) END WHERE id = ?`,
        now,
        id,
      );
      await tx.execute(
        insertInto('share_tickets', TICKET_COLUMNS),
        ...[id, ticketHash, expiresAt, from?.address ?? null],
      );
      return { expiresAt, isNew: true };
    });
  }

  /** Reads one volume of one file for a ticket, in one query. */
  async readable(
    id: string,
    ticketHash: string,
    number: number,
    idx: number,
    now: number,
  ): Promise<SharedVolume | undefined> {
    const { start, block, parse } = readableAt(idx);
    const [row] = await this.sql.query<
      ReadableRow & { file_id: string; username: string; download_rate: number | null }
    >(
      `SELECT f.file_id, u.username, u.download_rate, ${READABLE}
       FROM share_tickets t JOIN shares s ON s.id = t.share_id ${JOIN_OWNER}
         JOIN share_files g ON g.share_id = s.id ${JOIN_FILES} ${JOIN_BLOCK}
       WHERE t.share_id = ? AND t.ticket_hash = ? AND t.expires_at > ? AND g.number = ? AND ${IS_OPEN}
         AND (s.recipient_id IS NULL OR EXISTS (SELECT 1 FROM accounts r WHERE r.account_id = s.recipient_id AND ${isUsable('r')}))`,
      ...[start, block, id, ticketHash, now, number, now],
    );
    if (!row) return undefined;
    const { file_id: fileId, username, download_rate: downloadRate } = row;
    return { fileId, file: parse(row), username, downloadRate };
  }

  /** Lists the open shares for an account. */
  listReceived(recipientId: string, now: number): Promise<ReceivedRow[]> {
    return this.sql.query<ReceivedRow>(
      `SELECT s.id, s.owner, COALESCE(u.identity, '') AS identity, s.letter, s.files, s.created_at, s.expires_at,
         s.downloads, s.downloaded,
         (SELECT COUNT(*) FROM share_files g ${JOIN_FILES} WHERE g.share_id = s.id) AS present
       FROM shares s ${JOIN_OWNER} WHERE s.recipient_id = ? AND ${IS_OPEN}`,
      recipientId,
      now,
    );
  }

  /** Ends a share that the recipient declines; its owner sees that it has ended. False if there is none. */
  endReceived(id: string, recipientId: string, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<{ owner: string; recipient: string }>(
        `SELECT owner, recipient FROM shares WHERE id = ? AND recipient_id = ? AND ended_at IS NULL ${tx.dialect.forUpdate}`,
        id,
        recipientId,
      );
      if (!share) return false;
      await endShare(tx, id, 'ended', now, true);
      const detail = `${id} by ${share.recipient}`;
      await recordAudit(tx, {
        at: now,
        actor: 'account',
        account: share.owner,
        action: 'share ended',
        detail,
      });
      return true;
    });
  }

  /** Ends expired shares, and used-up ones once no ticket is left. Deletes rows that ended before `endedBefore`. */
  async expire(now: number, endedBefore: number): Promise<void> {
    await this.sql.execute('DELETE FROM share_tickets WHERE expires_at <= ?', now);
    const over = await this.sql.query<{ id: string; ending: Ending }>(
      `SELECT id, 'expired' AS ending FROM shares WHERE ended_at IS NULL AND expires_at <= ?
       UNION ALL SELECT id, 'used up' AS ending FROM shares WHERE ended_at IS NULL AND used_at <= ?
       LIMIT ?`,
      now,
      now - limits.ticketSeconds * 1000,
      EXPIRED_AT_ONCE,
    );
    for (const { id, ending } of over) {
      await this.sql.transaction(async (tx) => {
        const text = `SELECT 1 FROM shares WHERE id = ? AND ended_at IS NULL ${tx.dialect.forUpdate}`;
        if ((await tx.query(text, id)).length > 0) await endShare(tx, id, ending, now, true);
      });
    }
    await this.sql.execute('DELETE FROM shares WHERE ended_at < ?', endedBefore);
  }
}

/** The sweeper's next round ends the rest. */
const EXPIRED_AT_ONCE = 100;
