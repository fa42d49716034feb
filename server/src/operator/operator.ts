import { randomBytes } from 'node:crypto';
import {
  type AccountDetails,
  type AccountLimits,
  type AccountRecord,
  type AuditRecord,
  type Invitation,
  type InvitationBody,
  type LimitsChange,
  limitNames,
  limits,
  type NewInvitation,
  type PageQuery,
  type RequestRecord,
  RuleError,
  type ServerStatus,
  type ShareRecord,
  type TransferRecord,
} from '@szafa/protocol';
import { AccountDeletion } from '../accounts/deletion.ts';
import type { InvitationRow } from '../accounts/invitations-table.ts';
import type { Uses } from '../parts.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { hashToken, newToken } from '../platform/ids.ts';
import { Service } from '../platform/service.ts';
import { iso, isoOrNull } from '../platform/time.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { TransferRow } from '../transfers/transfer-rows.ts';
import { cancelTransfer } from '../transfers/transfers.ts';
import { scrubState } from '../upkeep/scrub.ts';
import { VERSION } from '../version.ts';
import type { AccountRow } from './accounts-table.ts';
import { type Actor, recordAudit } from './audit-table.ts';
import { requireWritable } from './mode.ts';

/** A page of a list; `next_cursor` requests the next one. */
export type Page<Name extends string, T> = Record<Name, T[]> & { next_cursor?: string };

type Dependencies = Uses<'metadata' | 'config'> & {
  volumes: Pick<VolumeStore, 'hasManifest'>;
  /** Recorded in the audit log as the actor. */
  actor: Actor;
};

/** Throws 404 for undefined. */
function requireFound<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new ApiError(404, `no such ${what}`);
  return found;
}

/** Everything operators can see and do. Both the /api/admin routes and the commands of szafa-server call this. */
export class Operator extends Service<Dependencies> {
  listAccounts({ cursor = '', limit }: PageQuery): Promise<Page<'accounts', AccountRecord>> {
    const read = (most: number) => this.deps.metadata.accountRecords.list(cursor, most);
    const show = (row: AccountRow) => this.#toRecord(row);
    return readPage('accounts', limit, read, show, ({ username }) => username);
  }

  async showAccount(username: string): Promise<AccountDetails> {
    const { accountRecords } = this.deps.metadata;
    const row = requireFound(await accountRecords.get(username), 'account');
    const { passkeys, sessions, usedAt, transfers, volumes } = await accountRecords.activity(username);
    return {
      ...this.#toRecord(row),
      totp: row.totp === 1,
      passkeys,
      sessions,
      used_at: isoOrNull(usedAt),
      open_transfers: transfers,
      open_volumes: volumes,
    };
  }

  async limitAccount(username: string, change: LimitsChange): Promise<AccountDetails> {
    const { metadata, actor } = this.deps;
    await metadata.accountRecords.setLimits(username, change, this.now(), actor);
    return this.showAccount(username);
  }

  /** Refuses or allows the account's requests, starting with the next one, even in the middle of an upload. Deletes nothing. */
  async setDisabled(username: string, disabled: boolean): Promise<void> {
    const { metadata, actor } = this.deps;
    const isKnown = await metadata.accountRecords.setDisabled(username, disabled, this.now(), actor);
    requireFound(isKnown || undefined, 'account');
  }

  /** Deletes the account and everything that belongs to it. */
  async deleteAccount(username: string): Promise<void> {
    const { metadata, volumes, actor } = this.deps;
    await requireWritable(metadata);
    const pending = await metadata.deletions.begin(username, { actor, now: this.now() });
    await new AccountDeletion(metadata, volumes, this.now).finish(requireFound(pending, 'account'));
  }

  /** Returns how many sessions and tokens were ended. */
  async logoutAccount(username: string): Promise<number> {
    const { metadata, actor } = this.deps;
    return requireFound(await metadata.accountRecords.logout(username, this.now(), actor), 'account');
  }

  /** Turns codes and passkeys off: a login then needs only the password. Returns whether any were on. */
  async endAccountFactor(username: string): Promise<boolean> {
    const { metadata, actor } = this.deps;
    return requireFound(await metadata.factors.clear(username, this.now(), actor), 'account');
  }

  async invite({ note = '', expires_in, quota_bytes }: InvitationBody): Promise<NewInvitation> {
    const created_at = this.now();
    const row: InvitationRow = {
      id: randomBytes(8).toString('hex'),
      note: note.toWellFormed().replace(/\p{Cc}/gu, ' '),
      quota_bytes: quota_bytes ?? null,
      created_at,
      expires_at: created_at + (expires_in ?? limits.inviteSeconds.usual) * 1000,
    };
    const invite = newToken();
    await this.deps.metadata.invitations.create(hashToken(invite), row, this.deps.actor);
    return { ...withTimes(row), invite };
  }

  listInvitations({ cursor = '', limit }: PageQuery): Promise<Page<'invitations', Invitation>> {
    const read = (most: number) => this.deps.metadata.invitations.list(cursor, this.now(), most);
    return readPage('invitations', limit, read, withTimes, byId);
  }

  listTransfers({ cursor, limit, account }: PageQuery): Promise<Page<'transfers', TransferRecord>> {
    const [touched = '0', fileId = ''] = cursor?.split('_') ?? [];
    const after = { touchedAt: parseCursor(touched), fileId };
    const read = (most: number) => this.deps.metadata.transfers.listOpen(after, most, account);
    const show = ({ file_id, creator, status, stored_size, chunk_count, ...row }: TransferRow) => ({
      ...{ file_id, creator, status, stored_size, chunk_count },
      created_at: iso(row.created_at),
      touched_at: iso(row.touched_at),
    });
    return readPage('transfers', limit, read, show, (row) => `${row.touched_at}_${row.file_id}`);
  }

  async cancelTransfer(fileId: string): Promise<void> {
    const { metadata, volumes, actor } = this.deps;
    await requireWritable(metadata);
    const transfer = requireFound(await metadata.transfers.getByFile(fileId), 'upload');
    const [at, account] = [this.now(), transfer.creator];
    await cancelTransfer(metadata, volumes, transfer, at, (tx) =>
      recordAudit(tx, { at, actor, account, action: 'upload cancelled', detail: fileId }),
    );
  }

  listAllShares({ cursor = '', limit, account }: PageQuery): Promise<Page<'shares', ShareRecord>> {
    const read = (most: number) => this.deps.metadata.shares.listOpen(cursor, most, account);
    type Row = Awaited<ReturnType<typeof read>>[number];
    const show = ({ id, owner, recipient, files, downloads, downloaded, ...row }: Row) => ({
      ...{ id, owner, to: recipient, files, downloads, downloaded },
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
    });
    return readPage('shares', limit, read, show, byId);
  }

  listAllRequests({ cursor = '', limit, account }: PageQuery): Promise<Page<'requests', RequestRecord>> {
    const read = (most: number) => this.deps.metadata.requests.listOpen(cursor, most, account);
    type Row = Awaited<ReturnType<typeof read>>[number];
    const show = ({ id, owner, files, bytes, uploading, ...row }: Row) => ({
      ...{ id, owner, max_files: files, max_bytes: bytes, uploading },
      delivered: row.begun - uploading,
      delivered_bytes: row.begun_bytes - row.uploading_bytes,
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
    });
    return readPage('requests', limit, read, show, byId);
  }

  /** Ends an invitation, share or request. The sweeper then cancels unfinished uploads to the request. */
  async end(what: 'invitation' | 'share' | 'request', id: string): Promise<void> {
    const { metadata, actor } = this.deps;
    const isEnded = await metadata[`${what}s`].end(id, this.now(), actor);
    requireFound(isEnded || undefined, what);
  }

  async status(): Promise<ServerStatus> {
    const { metadata, config } = this.deps;
    const { store, transfers, pulls, garbage, orphans, invitations, shares, requests, totals } = metadata;
    const facts = await store.get();
    const { accounts, files, bytes } = await totals.get();
    const { running, startedAt, endedAt, progress, faults } = await scrubState(metadata);
    const at = (ms: number) => isoOrNull(ms === 0 ? null : ms);
    return {
      version: VERSION,
      service_id: facts.serviceId,
      store_id: facts.id,
      database: config.database === undefined ? 'sqlite' : 'postgres',
      volumes: config.s3 === undefined ? 'folder' : 's3',
      registration: config.registration,
      quota_enforced: config.quotaEnforced,
      read_only_since: isoOrNull(facts.readOnlyAt),
      contested_since: isoOrNull(facts.contestedAt),
      transfers: {
        uploading: await transfers.openCount('uploading'),
        storing: await transfers.openCount('storing'),
        failed: await transfers.openCount('failed'),
      },
      pulls: await pulls.running(this.now()),
      garbage: await garbage.count(),
      orphans: await orphans.count(),
      invitations: await invitations.count(),
      sharing: config.shares,
      shares: await shares.count(),
      requests: await requests.count(),
      accounts,
      files,
      stored_bytes: Number(bytes),
      scrub: { running, began_at: at(startedAt), ended_at: at(endedAt), progress, faults },
    };
  }

  /** Takes effect on all nodes within `MODE_MS`. */
  async setReadOnly(on: boolean): Promise<void> {
    await this.deps.metadata.store.setReadOnly(on, this.now(), this.deps.actor);
  }

  audit({ cursor, limit, account }: PageQuery): Promise<Page<'entries', AuditRecord>> {
    const before = cursor === undefined ? undefined : parseCursor(cursor);
    const read = (most: number) => this.deps.metadata.audit.list(most, account, before);
    return readPage(
      'entries',
      limit,
      read,
      (row) => ({ ...row, at: iso(row.at) }),
      ({ seq }) => String(seq),
    );
  }

  #toRecord(row: AccountRow): AccountRecord {
    const own = Object.fromEntries(limitNames.map((name) => [name, row[name]])) as AccountLimits;
    return {
      username: row.username,
      account_id: row.account_id,
      created_at: iso(row.created_at),
      disabled_at: isoOrNull(row.disabled_at),
      files: row.files,
      // Inexact beyond 2^53 bytes, which does not matter here.
      used_bytes: Number(row.bytes),
      extra_bytes: row.extra,
      quota_bytes: row.quota_bytes ?? this.deps.config.quotaBytes,
      limits: own,
    };
  }
}

const withTimes = (row: InvitationRow): Invitation => ({
  ...row,
  created_at: iso(row.created_at),
  expires_at: iso(row.expires_at),
});

const byId = ({ id }: { id: string }) => id;

/** Reads one more row than the page has, to know whether a next page exists. `cursorOf` gives the cursor that follows a row. */
async function readPage<Name extends string, Row, T>(
  name: Name,
  limit: string | undefined,
  read: (most: number) => Promise<Row[]>,
  show: (row: Row) => T,
  cursorOf: (row: Row) => string,
): Promise<Page<Name, T>> {
  const most = Math.min(limit === undefined ? limits.adminPage : Number(limit), limits.listPage);
  const rows = await read(most + 1);
  const page = rows.slice(0, most);
  const next = rows.length > most ? { next_cursor: cursorOf(page.at(-1)!) } : {};
  return { [name]: page.map(show), ...next } as Page<Name, T>;
}

/** Rejects text that is not a cursor of such a list. */
function parseCursor(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new RuleError('cursor: not one that this list returned');
  return value;
}
