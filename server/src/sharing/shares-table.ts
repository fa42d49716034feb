import { createHash } from 'node:crypto';
import { type Ending, limits } from '@szafa/protocol';
import { requireLiveAccount } from '../accounts/account-rows.ts';
import {
  isFileId,
  JOIN_BLOCK,
  READABLE,
  type ReadableFile,
  type ReadableRow,
  readableAt,
} from '../files/files-table.ts';
import { type Actor, limitAudit, recordAudit } from '../operator/audit-table.ts';
import { countSome, hold, insertInto, Queries, type Sql } from '../platform/sql/sql.ts';
import { IS_OPEN, IS_PRESENT, OF_AN_ACCOUNT, recipientOf, THERE, type Unfit } from './received-table.ts';
import { close, insertFiles, TICKET_COLUMNS } from './share-parts.ts';
import type { AddressCount } from './visits-table.ts';

export interface NewShare {
  id: string;
  owner: string;
  accountId: string;
  files: string[];
  header: string;
  /** Who may open it: whoever shows what this is the digest of, or one account. */
  for: { accessHash: string } | { username: string; letter: string };
  own: string;
  now: number;
  expiresAt: number | null;
  downloads: number | null;
}

export interface ShareRow {
  id: string;
  owner: string;
  recipient: string | null;
  files: number;
  created_at: number;
  expires_at: number | null;
  downloads: number | null;
  downloaded: number;
  end_reason: Ending | null;
}

export interface OwnShareRow extends ShareRow {
  own: string;
  /** How many of its files are there. */
  present: number;
}

/** What somebody shows who wants to open a share: that the link is known, or which account it is. */
export type Door = { accessHash: string } | { recipientId: string };

/** As whoever may open it finds it. */
export type FoundShare = Pick<ShareRow, 'expires_at' | 'downloads' | 'downloaded' | 'files'>;

/** A volume of a shared file, and whose rate it is sent at. */
export interface SharedVolume {
  fileId: string;
  file: ReadableFile;
  username: string;
  downloadRate: number | null;
}

export const SHARE_COLUMNS = [
  ...['id', 'owner', 'account_id', 'header', 'access_hash', 'own', 'files', 'created_at', 'expires_at'],
  ...['downloads', 'downloaded', 'used_at', 'ended_at', 'end_reason', 'recipient', 'recipient_id', 'letter'],
] as const;
const LISTED =
  's.id, s.owner, s.recipient, s.files, s.created_at, s.expires_at, s.downloads, s.downloaded, s.end_reason';

/** A share is for an account, or for whoever knows a link. */
const NOBODY = { accessHash: null, username: null, letter: null };

const THIS_TICKET = 'share_id = ? AND ticket_hash = ?';

/**
 * Shares: files that an owner gives to whoever knows a link, or to one account (see received.ts). A ticket is the right to one download: it is counted when it is taken, in
 * the transaction that sees whether there is one left, and then reads as often as its holder likes. Neither what shows that
 * somebody knows the link is kept, nor a ticket: only their digests.
 */
export class SharesTable extends Queries {
  create(
    share: NewShare,
    mostEntries?: number,
  ): Promise<'made' | 'taken' | 'too many' | Unfit | { unknown: string[] }> {
    const { id, owner, accountId, files, now } = share;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      await hold(tx, `shares ${accountId}`);
      const { accessHash, username, letter } = { ...NOBODY, ...share.for };
      const [same] = await tx.query<
        Record<'account_id' | 'header', string> &
          Record<'access_hash' | 'recipient' | 'letter', string | null>
      >('SELECT account_id, header, access_hash, recipient, letter FROM shares WHERE id = ?', id);
      if (same) {
        const own = same.account_id === accountId && same.header === share.header;
        const toSame =
          same.access_hash === accessHash && same.recipient === username && same.letter === letter;
        return own && toSame ? 'made' : 'taken';
      }
      if (await this.#isFull(tx, share)) return 'too many';
      await limitAudit(tx, owner, now, mostEntries);
      const there = await tx.query<{ file_id: string }>(
        `SELECT file_id FROM files WHERE file_id ${tx.dialect.amongListed} AND owner = ? AND trashed_at = 0`,
        JSON.stringify(files.filter(isFileId)),
        owner,
      );
      if (there.length < files.length) {
        const known = new Set(there.map(({ file_id }) => file_id));
        return { unknown: files.filter((file) => !known.has(file)) };
      }
      // Last: who has nothing to share learns of no names.
      const recipient = username === null ? { accountId: null } : await recipientOf(tx, accountId, username);
      if (typeof recipient === 'string') return recipient;
      await tx.execute(
        insertInto('shares', SHARE_COLUMNS),
        ...[id, owner, accountId, share.header, accessHash, share.own, files.length, now, share.expiresAt],
        ...[share.downloads, 0, null, null, null, username, recipient.accountId, letter],
      );
      await insertFiles(tx, id, files);
      const detail = username === null ? id : `${id} for ${username}`;
      await recordAudit(tx, { at: now, actor: 'account', account: owner, action: 'share made', detail });
      return 'made';
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

  /** All of an account that it has not ended itself. */
  list(owner: string): Promise<OwnShareRow[]> {
    return this.sql.query<OwnShareRow>(
      `SELECT ${LISTED}, s.own, (SELECT COUNT(*) FROM share_files g ${THERE} WHERE g.share_id = s.id) AS present
       FROM shares s WHERE s.owner = ? AND s.own <> ''`,
      owner,
    );
  }

  /** Those that are not over, of all accounts or of one, in the order of their ids. */
  listOpen(after: string, limit: number, owner?: string): Promise<ShareRow[]> {
    const of = owner === undefined ? '' : 'AND s.owner = ?';
    return this.sql.query<ShareRow>(
      `SELECT ${LISTED} FROM shares s WHERE s.id > ? AND s.ended_at IS NULL ${of} ORDER BY s.id LIMIT ?`,
      ...[after, ...(owner === undefined ? [] : [owner]), limit],
    );
  }

  count(): Promise<number> {
    return countSome(this.sql, 'shares WHERE ended_at IS NULL');
  }

  /** What the owner keeps beside it. `match`: the digest of what is there; false where there is no such share in the owner's list. */
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

  /** `owner`: only if it is theirs; they do not see it in their list any more. False where there is none. */
  end(id: string, now: number, actor: Actor, owner?: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<{ owner: string; ended_at: number | null; own: string }>(
        `SELECT owner, ended_at, own FROM shares WHERE id = ? ${tx.dialect.forUpdate}`,
        id,
      );
      if (!share || share.own === '' || (owner !== undefined && share.owner !== owner)) return false;
      if (share.ended_at !== null) {
        // The owner puts away what is over.
        if (owner !== undefined) await tx.execute("UPDATE shares SET own = '' WHERE id = ?", id);
        return owner !== undefined;
      }
      await close(tx, id, 'ended', now, owner === undefined);
      await recordAudit(tx, { at: now, actor, account: share.owner, action: 'share ended', detail: id });
      return true;
    });
  }

  /** For whoever may open it; undefined for all others. */
  async find(id: string, door: Door, now: number): Promise<FoundShare | { ending: Ending } | undefined> {
    const [row] = await this.sql.query<
      FoundShare & { access_hash: string | null; recipient_id: string | null; end_reason: Ending | null }
    >(
      `SELECT s.access_hash, s.recipient_id, s.files, s.expires_at, s.downloads, s.downloaded, s.end_reason
       FROM shares s ${OF_AN_ACCOUNT} WHERE s.id = ?`,
      id,
    );
    if (!row) return undefined;
    const { access_hash: accessHash, recipient_id: recipientId, end_reason: ending, ...found } = row;
    const opens = 'accessHash' in door ? door.accessHash === accessHash : door.recipientId === recipientId;
    if (!opens) return undefined;
    if (ending !== null) return { ending };
    return found.expires_at !== null && found.expires_at <= now ? { ending: 'expired' } : found;
  }

  /** As its owner gave it. */
  async header(id: string): Promise<string> {
    const [row] = await this.sql.query<{ header: string }>('SELECT header FROM shares WHERE id = ?', id);
    return row?.header ?? '';
  }

  /** The numbers of its files that are there. */
  async present(id: string): Promise<number[]> {
    const rows = await this.sql.query<{ number: number }>(
      `SELECT g.number FROM shares s JOIN share_files g ON g.share_id = s.id ${THERE} WHERE s.id = ? ORDER BY g.number`,
      id,
    );
    return rows.map(({ number }) => number);
  }

  async hasTicket(id: string, ticketHash: string, now: number): Promise<boolean> {
    const text = `SELECT 1 FROM share_tickets WHERE ${THIS_TICKET} AND expires_at > ?`;
    return (await this.sql.query(text, id, ticketHash, now)).length > 0;
  }

  /** Counts a download, once for a ticket; says until when the ticket reads. `new`: it was not there before. */
  takeTicket(
    id: string,
    ticketHash: string,
    now: number,
    { most = limits.ticketsOfShare, from }: { most?: number; from?: AddressCount | undefined } = {},
  ): Promise<{ expiresAt: number; isNew: boolean } | 'used up' | 'crowded' | 'over'> {
    return this.sql.transaction(async (tx) => {
      const [share] = await tx.query<Pick<ShareRow, 'expires_at' | 'downloads' | 'downloaded'>>(
        `SELECT expires_at, downloads, downloaded FROM shares s WHERE s.id = ? AND ${IS_OPEN} ${tx.dialect.forUpdate}`,
        id,
        now,
      );
      if (!share) return 'over';
      const [there] = await tx.query<{ expires_at: number }>(
        `SELECT expires_at FROM share_tickets WHERE ${THIS_TICKET}`,
        id,
        ticketHash,
      );
      if (there && there.expires_at > now) return { expiresAt: there.expires_at, isNew: false };
      if (share.downloads !== null && share.downloaded >= share.downloads) return 'used up';
      const [count] = await tx.query<{ count: number; own: number }>(
        `SELECT COUNT(*) AS count, COUNT(CASE WHEN address = ? THEN 1 END) AS own
         FROM share_tickets WHERE share_id = ?`,
        from?.address ?? null,
        id,
      );
      if (count!.count >= most || (from && count!.own >= from.most)) return 'crowded';
      const until = now + limits.ticketSeconds * 1000;
      const expiresAt = share.expires_at === null ? until : Math.min(until, share.expires_at);
      // One that has run out is as one that never was.
      if (there) await tx.execute(`DELETE FROM share_tickets WHERE ${THIS_TICKET}`, id, ticketHash);
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

  /** One volume of one file, for a ticket, in one look. */
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
       FROM share_tickets t JOIN shares s ON s.id = t.share_id ${OF_AN_ACCOUNT}
         JOIN share_files g ON g.share_id = s.id ${THERE} ${JOIN_BLOCK}
       WHERE t.share_id = ? AND t.ticket_hash = ? AND t.expires_at > ? AND g.number = ? AND ${IS_OPEN}
         AND (s.recipient_id IS NULL OR EXISTS (SELECT 1 FROM accounts r WHERE r.account_id = s.recipient_id AND ${IS_PRESENT('r')}))`,
      ...[start, block, id, ticketHash, now, number, now],
    );
    if (!row) return undefined;
    const { file_id: fileId, username, download_rate: downloadRate } = row;
    return { fileId, file: parse(row), username, downloadRate };
  }

  /** Ends what has expired, and what is used up once no ticket is left; forgets what ended before `endedBefore`. */
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
        if ((await tx.query(text, id)).length > 0) await close(tx, id, ending, now, true);
      });
    }
    await this.sql.execute('DELETE FROM shares WHERE ended_at < ?', endedBefore);
  }
}

/** The next round goes on. */
const EXPIRED_AT_ONCE = 100;
