import { hash } from 'node:crypto';
import { type Ending, limits, type ShareBody } from '@szafa/protocol';
import { isUsable, requireLiveAccount } from '../accounts/account-rows.ts';
import { isFileId, JOIN_BLOCK, READABLE, type ReadableRow, readableAt } from '../files/files-table.ts';
import { limitAudit, recordAudit } from '../operator/audit-table.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { exists, first, insertInto, type Sql, takeNamedLock } from '../platform/sql/sql.ts';
import type { AddressLimit } from './links.ts';
import { endingAt, IS_OPEN, JOIN_OWNER, type LinkState, LinksTable } from './links-table.ts';
import { endShare, findRecipient, insertFiles, SHARE_COLUMNS, TICKET_COLUMNS } from './share-rows.ts';

export interface NewShare extends Omit<ShareBody, 'expires_at'> {
  owner: string;
  accountId: string;
  now: number;
  expiresAt: number | null;
}

export interface ShareRow extends LinkState {
  id: string;
  owner: string;
  recipient: string | null;
  files: number;
  created_at: number;
  downloads: number | null;
  downloaded: number;
}

/** A share as its recipient sees it. */
interface ReceivedRow extends Omit<ShareRow, 'recipient' | 'end_reason'> {
  identity: string;
  letter: string;
  present: number;
}

/** How a share is opened: by knowing the link, or by the account that receives it. */
type ShareAccess = { accessHash: string } | { recipientId: string };

export type ActiveShare = Pick<ShareRow, 'expires_at' | 'downloads' | 'downloaded' | 'files'>;

/** Joins the files (`f`) of a share (`l`) that still exist, where `g` is the row in share_files. */
const JOIN_FILES = 'JOIN files f ON f.file_id = g.file_id AND f.owner = l.owner AND f.trashed_at = 0';
const PRESENT = `(SELECT COUNT(*) FROM share_files g ${JOIN_FILES} WHERE g.share_id = l.id) AS present`;
const THIS_TICKET = 'share_id = ? AND ticket_hash = ?';
/** Per round of the sweeper; the next round ends the rest. */
const EXPIRED_AT_ONCE = 100;

/**
 * Shares: files that an owner gives to anyone who knows a link, or to one account. A ticket is the right to one download: the
 * transaction that creates it counts the download, and afterwards the ticket can be used for any number of reads. Tickets,
 * and the value that proves knowledge of a link, are stored only as digests.
 */
export class SharesTable extends LinksTable<ShareRow> {
  protected readonly table = 'shares';
  protected readonly noun = 'share';
  protected readonly columns =
    'l.id, l.owner, l.recipient, l.files, l.created_at, l.expires_at, l.downloads, l.downloaded, l.end_reason';

  /** Creates a share. Creating the same share again changes nothing. */
  create(share: NewShare, mostEntries?: number): Promise<void> {
    const { id, owner, accountId, files, header, now, access = null, downloads = null } = share;
    const { username = null, letter = null } = share.to ?? {};
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await takeNamedLock(tx, `shares ${accountId}`);
      const text = 'SELECT account_id, header, access_hash, recipient, letter FROM shares WHERE id = ?';
      const same = await first<Record<string, string | null>>(tx, text, id);
      if (same) {
        const own = same['account_id'] === accountId && same['header'] === header;
        const toSame = same['recipient'] === username && same['letter'] === letter;
        if (own && toSame && same['access_hash'] === access) return;
        throw new ApiError(409, 'a share with this id exists already');
      }
      await requireFewShares(tx, share);
      await limitAudit(tx, owner, now, mostEntries);
      const there = await tx.query<{ file_id: string }>(
        `SELECT file_id FROM files WHERE file_id ${tx.dialect.inJsonList} AND owner = ? AND trashed_at = 0`,
        ...[JSON.stringify(files.filter(isFileId)), owner],
      );
      if (there.length < files.length) {
        const known = new Set(there.map(({ file_id }) => file_id));
        const extra = { files: files.filter((file) => !known.has(file)) };
        throw new ApiError(404, 'some of these files are not yours, or do not exist', { extra });
      }
      // Checked last, so that a caller without files cannot use this to find out which names exist.
      const recipientId = username === null ? null : await findRecipient(tx, accountId, username);
      await tx.execute(
        insertInto('shares', SHARE_COLUMNS),
        ...[id, owner, accountId, header, access, share.own, files.length, now, share.expiresAt],
        ...[downloads, 0, null, null, null, username, recipientId, letter],
      );
      await insertFiles(tx, id, files);
      const detail = username === null ? id : `${id} for ${username}`;
      await recordAudit(tx, { at: now, account: owner, action: 'share made', detail });
    });
  }

  /** Lists the shares of an account, except those that the owner has ended. `present`: number of files that still exist. */
  list(owner: string): Promise<(ShareRow & { own: string; present: number })[]> {
    const text = `SELECT ${this.columns}, l.own, ${PRESENT} FROM shares l WHERE l.owner = ? AND l.own <> ''`;
    return this.sql.query(text, owner);
  }

  /** Replaces the owner's note if its digest is `match`; false if the owner has no such share. */
  writeOwn(id: string, owner: string, own: string, match: string): Promise<'written' | 'changed' | false> {
    return this.sql.transaction(async (tx) => {
      const text = `SELECT own FROM shares WHERE id = ? AND owner = ? AND own <> '' ${tx.dialect.forUpdate}`;
      const share = await first<{ own: string }>(tx, text, id, owner);
      if (!share) return false;
      if (hash('sha256', share.own, 'hex') !== match) return 'changed';
      await tx.execute('UPDATE shares SET own = ? WHERE id = ?', own, id);
      return 'written';
    });
  }

  protected endRow(tx: Sql, id: string, now: number): Promise<void> {
    return endShare(tx, id, 'ended', now);
  }

  /** Returns undefined if there is no such share, or `access` does not open it. */
  async find(id: string, access: ShareAccess, now: number) {
    type Row = ActiveShare & LinkState & { access_hash: string | null; recipient_id: string | null };
    const row = await first<Row>(
      this.sql,
      `SELECT l.access_hash, l.recipient_id, l.files, l.expires_at, l.downloads, l.downloaded, l.end_reason
       FROM shares l ${JOIN_OWNER} WHERE l.id = ?`,
      id,
    );
    if (!row) return undefined;
    const { access_hash: accessHash, recipient_id: recipientId, end_reason: _, ...share } = row;
    const opens =
      'accessHash' in access ? access.accessHash === accessHash : access.recipientId === recipientId;
    if (!opens) return undefined;
    const ending = endingAt(row, now);
    return ending === null ? share : { ending };
  }

  async header(id: string): Promise<string> {
    return (
      (await first<{ header: string }>(this.sql, 'SELECT header FROM shares WHERE id = ?', id))?.header ?? ''
    );
  }

  /** Lists the numbers of the share's files that still exist. */
  async present(id: string): Promise<number[]> {
    const rows = await this.sql.query<{ number: number }>(
      `SELECT g.number FROM shares l JOIN share_files g ON g.share_id = l.id ${JOIN_FILES} WHERE l.id = ? ORDER BY g.number`,
      id,
    );
    return rows.map(({ number }) => number);
  }

  hasTicket(id: string, ticketHash: string, now: number): Promise<boolean> {
    const text = `SELECT 1 FROM share_tickets WHERE ${THIS_TICKET} AND expires_at > ?`;
    return exists(this.sql, text, id, ticketHash, now);
  }

  /** Creates a ticket and counts its download, unless the ticket already exists. */
  takeTicket(
    id: string,
    ticketHash: string,
    now: number,
    { most = limits.ticketsOfShare, from }: { most?: number; from?: AddressLimit | undefined } = {},
  ): Promise<{ expiresAt: number; isNew: boolean } | 'used up' | 'busy' | 'ended'> {
    return this.sql.transaction(async (tx) => {
      const share = await first<Omit<ActiveShare, 'files'>>(
        tx,
        `SELECT expires_at, downloads, downloaded FROM shares l WHERE l.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
        ...[id, now],
      );
      if (!share) return 'ended';
      const text = `SELECT expires_at FROM share_tickets WHERE ${THIS_TICKET}`;
      const ticket = await first<{ expires_at: number }>(tx, text, id, ticketHash);
      if (ticket && ticket.expires_at > now) return { expiresAt: ticket.expires_at, isNew: false };
      if (share.downloads !== null && share.downloaded >= share.downloads) return 'used up';
      const [count] = await tx.query<{ count: number; own: number }>(
        `SELECT COUNT(*) AS count, COUNT(CASE WHEN address = ? THEN 1 END) AS own
         FROM share_tickets WHERE share_id = ?`,
        ...[from?.address ?? null, id],
      );
      if (count!.count >= most || (from && count!.own >= from.most)) return 'busy';
      const until = now + limits.ticketSeconds * 1000;
      const expiresAt = share.expires_at === null ? until : Math.min(until, share.expires_at);
      // An expired ticket is treated as if it did not exist.
      if (ticket) await tx.execute(`DELETE FROM share_tickets WHERE ${THIS_TICKET}`, id, ticketHash);
      await tx.execute(
        `UPDATE shares SET downloaded = downloaded + 1,
           used_at = CASE WHEN downloaded + 1 >= downloads THEN CAST(? AS BIGINT) END WHERE id = ?`,
        ...[now, id],
      );
      await tx.execute(
        insertInto('share_tickets', TICKET_COLUMNS),
        ...[id, ticketHash, expiresAt, from?.address ?? null],
      );
      return { expiresAt, isNew: true };
    });
  }

  /** Reads one volume of one file for a ticket, and the account whose download rate applies, in one query. */
  async readable(id: string, ticketHash: string, number: number, idx: number, now: number) {
    const { start, block, parse } = readableAt(idx);
    const row = await first<
      ReadableRow & { file_id: string; username: string; download_rate: number | null }
    >(
      this.sql,
      `SELECT f.file_id, c.username, c.download_rate, ${READABLE}
       FROM share_tickets t JOIN shares l ON l.id = t.share_id ${JOIN_OWNER}
         JOIN share_files g ON g.share_id = l.id ${JOIN_FILES} ${JOIN_BLOCK}
       WHERE t.share_id = ? AND t.ticket_hash = ? AND t.expires_at > ? AND g.number = ? AND ${IS_OPEN}
         AND (l.recipient_id IS NULL OR EXISTS (SELECT 1 FROM accounts r WHERE r.account_id = l.recipient_id AND ${isUsable('r')}))`,
      ...[start, block, id, ticketHash, now, number, now],
    );
    if (!row) return undefined;
    const { file_id: fileId, username, download_rate: downloadRate } = row;
    return { fileId, file: parse(row), paced: { username, downloadRate, uploadRate: null } };
  }

  /** Lists the open shares that an account has received. */
  listReceived(recipientId: string, now: number): Promise<ReceivedRow[]> {
    return this.sql.query<ReceivedRow>(
      `SELECT l.id, l.owner, COALESCE(c.identity, '') AS identity, l.letter, l.files, l.created_at, l.expires_at,
         l.downloads, l.downloaded, ${PRESENT}
       FROM shares l ${JOIN_OWNER} WHERE l.recipient_id = ? AND ${IS_OPEN}`,
      ...[recipientId, now],
    );
  }

  /** Ends a share declined by its recipient; the owner sees that it has ended. False if there is none. */
  endReceived(id: string, recipientId: string, now: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const share = await first<{ owner: string; recipient: string }>(
        tx,
        `SELECT owner, recipient FROM shares WHERE id = ? AND recipient_id = ? AND ended_at IS NULL ${tx.dialect.forUpdate}`,
        ...[id, recipientId],
      );
      if (!share) return false;
      await endShare(tx, id, 'ended', now);
      const detail = `${id} by ${share.recipient}`;
      await recordAudit(tx, { at: now, account: share.owner, action: 'share ended', detail });
      return true;
    });
  }

  /** Ends expired shares, and used-up shares once their tickets have expired. Deletes rows that ended before `endedBefore`. */
  async expire(now: number, endedBefore: number): Promise<void> {
    await this.sql.execute('DELETE FROM share_tickets WHERE expires_at <= ?', now);
    const over = await this.sql.query<{ id: string; ending: Ending }>(
      `SELECT id, 'expired' AS ending FROM shares WHERE ended_at IS NULL AND expires_at <= ?
       UNION ALL SELECT id, 'used up' AS ending FROM shares WHERE ended_at IS NULL AND used_at <= ?
       LIMIT ?`,
      ...[now, now - limits.ticketSeconds * 1000, EXPIRED_AT_ONCE],
    );
    for (const { id, ending } of over) {
      await this.sql.transaction(async (tx) => {
        const text = `SELECT 1 FROM shares WHERE id = ? AND ended_at IS NULL ${tx.dialect.forUpdate}`;
        if (await exists(tx, text, id)) await endShare(tx, id, ending, now);
      });
    }
    await this.sql.execute('DELETE FROM shares WHERE ended_at < ?', endedBefore);
  }
}

async function requireFewShares(tx: Sql, { owner, files, header }: NewShare): Promise<void> {
  const [sums] = await tx.query<{ shares: number; files: number | null; chars: number | null }>(
    `SELECT COUNT(*) AS shares, CAST(SUM(files) AS BIGINT) AS files, CAST(SUM(LENGTH(header)) AS BIGINT) AS chars
     FROM shares WHERE owner = ? AND own <> ''`,
    owner,
  );
  const most = limits.sharesOfAccount;
  if (
    sums!.shares >= most.shares ||
    (sums!.files ?? 0) + files.length > most.files ||
    (sums!.chars ?? 0) + header.length > most.headerChars
  )
    throw new ApiError(409, 'too many shares; end some of them');
}
